#!/bin/sh
# Fails unless key and configuration are root's alone and the private key stands in its own file only.
set -eu
cd /etc/wireguard
stat -c '%a %U %G %n' wg0.key wg0.conf
[ "$(stat -c '%a %U %G' wg0.key wg0.conf | sort -u)" = '600 root root' ]
! grep -rlF -f wg0.key --exclude=wg0.key /etc /usr/local /var/lib/edgectl /var/log
