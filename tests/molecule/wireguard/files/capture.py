"""capture.py INTERFACE ADDRESS: sends a marker to ADDRESS and prints whether it was seen in clear on INTERFACE."""

import select
import socket
import sys
import time

MARKER = b"edgectl-molecule-marker-51f3"

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
link.bind((sys.argv[1], 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
seen = False
end = time.monotonic() + 2
while time.monotonic() < end and not seen:
    sender.sendto(MARKER * 10, (sys.argv[2], 9))
    while select.select([link], [], [], 0.1)[0] and not seen:
        seen = MARKER in link.recv(65535)
        if time.monotonic() > end:
            break
print(seen)
