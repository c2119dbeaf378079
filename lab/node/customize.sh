#!/bin/sh
# mmdebstrap's last step: runs on the machine that builds the image, with the image's root directory as $1
# and the packages to lay into apt's cache as $2.
set -eu
root=$1
prefetch=${2:-}

# Translations of package descriptions are of no use here.
echo 'Acquire::Languages "none";' > "$root/etc/apt/apt.conf.d/90edgectl-lab"

chroot "$root" apt-get clean
if [ -n "$prefetch" ]; then
  # shellcheck disable=SC2086  # a list of words
  chroot "$root" apt-get install --yes --download-only --no-install-recommends $prefetch
fi

chmod 0755 "$root"/usr/local/lib/edgectl-lab/*
chroot "$root" update-ca-certificates
chroot "$root" useradd --create-home --shell /bin/bash --uid 1000 edge
echo 'edge ALL=(ALL) NOPASSWD:ALL' > "$root/etc/sudoers.d/edge"
chmod 0440 "$root/etc/sudoers.d/edge"
chroot "$root" passwd --lock root
printf 'PermitRootLogin no\nPasswordAuthentication no\n' > "$root/etc/ssh/sshd_config.d/edgectl-lab.conf"

# Devices, kernel modules and seats belong to the machine under the lab.
for unit in systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
  systemd-udev-trigger.service systemd-modules-load.service systemd-logind.service \
  sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount dev-hugepages.mount dev-mqueue.mount \
  systemd-remount-fs.service systemd-firstboot.service systemd-pstore.service systemd-binfmt.service \
  proc-sys-fs-binfmt_misc.automount getty.target console-getty.service \
  apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
chroot "$root" systemctl enable edgectl-lab-boot.service edgectl-lab-first-boot.service ssh.service
chroot "$root" systemctl set-default multi-user.target

# Debian's own kernel settings (pid_max, printk, protected links) have no namespace; edgectl's files stay in force.
rm -f "$root"/usr/lib/sysctl.d/*.conf "$root"/etc/sysctl.d/*.conf
: > "$root/etc/sysctl.conf"

# Each node makes its own at its first boot.
: > "$root/etc/machine-id"
rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id" "$root/etc/hostname" "$root"/var/cache/apt/*.bin
rm -rf "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/*
