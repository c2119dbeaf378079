#!/bin/sh
# Says when the tunnel was started, and which process runs it.
systemctl show -P ActiveEnterTimestampMonotonic wg-quick@wg0
pgrep -x wireguard-go
