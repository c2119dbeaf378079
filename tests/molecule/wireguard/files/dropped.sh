#!/bin/sh
# Prints how many packets the guard has dropped.
iptables -w 10 -t mangle -nvxL EDGECTL-GUARD | awk '$3 == "DROP" {sum += $1} END {print sum + 0}'
