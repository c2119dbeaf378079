"""Fingerprints of OpenPGP public keys, without gpg: a minimal Debian has only gpgv, which can't tell them."""

from __future__ import annotations

import base64
import hashlib
import re
import struct

PUBLIC_KEY = 6


def dearmor(data: bytes) -> bytes:
    """The packets of a key file, whether it is armoured text or binary already. ValueError when it is neither."""
    if data[:1] and data[0] & 0x80:
        return data
    blocks = re.findall(
        rb"-----BEGIN PGP PUBLIC KEY BLOCK-----\r?\n(?:[^\r\n]+\r?\n)*\r?\n(.*?)-----END PGP PUBLIC KEY BLOCK-----",
        data,
        re.S,
    )
    if not blocks:
        raise ValueError("no OpenPGP public key in it")
    # A line that begins with '=' holds the checksum of the armour; the packets have signatures of their own.
    bodies = [b"".join(line for line in block.split() if not line.startswith(b"=")) for block in blocks]
    return b"".join(base64.b64decode(body, validate=True) for body in bodies)


def packets(data: bytes):
    """Pairs of (tag, body) of the packets in binary OpenPGP data (RFC 9580, section 4)."""
    position = 0
    while position < len(data):
        header = data[position]
        if not header & 0x80:
            raise ValueError("not OpenPGP data")
        position += 1
        if header & 0x40:
            tag, (length, position) = header & 0x3F, _new_length(data, position)
        else:
            tag = (header >> 2) & 0x0F
            size = {0: 1, 1: 2, 2: 4}.get(header & 3)
            if size is None:
                raise ValueError("packet of unknown length")
            length = int.from_bytes(data[position : position + size], "big")
            position += size
        if position + length > len(data):
            raise ValueError("the key is cut off")
        yield tag, data[position : position + length]
        position += length


def _new_length(data: bytes, position: int):
    first = data[position]
    if first < 192:
        return first, position + 1
    if first < 224:
        return ((first - 192) << 8) + data[position + 1] + 192, position + 2
    if first == 255:
        return struct.unpack(">I", data[position + 1 : position + 5])[0], position + 5
    raise ValueError("packet of unknown length")


def fingerprints(data: bytes):
    """Fingerprints of all primary keys in the data, upper-case hexadecimal; ValueError unless of version 4."""
    found = []
    for tag, body in packets(data):
        if tag != PUBLIC_KEY:
            continue
        if body[0] != 4:
            raise ValueError("a key of version %d" % body[0])
        # SHA-1 is what the version 4 format defines a fingerprint to be.
        found.append(hashlib.sha1(b"\x99" + struct.pack(">H", len(body)) + body).hexdigest().upper())  # noqa: S324
    return found
