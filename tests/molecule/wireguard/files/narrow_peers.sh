#!/bin/sh
# Fails when a peer may use more than its own tunnel address and one pod CIDR.
wg show wg0 allowed-ips
! wg show wg0 allowed-ips | cut -f 2 | grep -vE '^10\.200\.0\.[0-9]+/32 10\.244\.[0-9]+\.0/24$'
