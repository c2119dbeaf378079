#!/bin/sh
# intrude.sh ADDRESS ROUTER: sends packets for ADDRESS by way of ROUTER, as any host of the LAN can.
ip route replace "$1/32" via "$2"
ping -n -q -c 3 -i 0.2 -W 1 "$1"
ip route del "$1/32" via "$2"
