#!/bin/sh
# What the host's network looks like: links, routes and firewall rules. Without iptables there can be no rules of its.
ip -o link show | sed 's/^[0-9]*: //; s/ qlen [0-9]*//'
ip route show
for table in raw mangle nat filter; do
  iptables -t $table -S 2>/dev/null | grep -v '^-P [A-Z]* ACCEPT$'
done
exit 0
