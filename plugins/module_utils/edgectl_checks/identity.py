"""Is every host itself, and may we work on it? Copies of one disk image are the usual trouble."""

from __future__ import annotations

from typing import Optional

from .model import Finding, HostState, check

NEW_MACHINE_ID = "sudo rm -f /etc/machine-id /var/lib/dbus/machine-id && sudo systemd-machine-id-setup && sudo reboot"


@check(layer="identity", id="I-NOT-ROOT")
def acts_as_root(host: HostState) -> Optional[Finding]:
    if host.identity.root is not False:
        return None
    return Finding(
        what="edgectl has no root rights on this host",
        evidence="the probe ran as an ordinary user",
        fix=f"set ansible_become: true for {host.name}, and give its user sudo rights",
    )


@check(layer="identity", id="I-MACHINE-ID-MISSING")
def has_machine_id(host: HostState) -> Optional[Finding]:
    if host.identity.machine_id not in (None, "", "uninitialized") or not host.identity:
        return None
    return Finding(
        what="the host has no machine-id",
        evidence=f"/etc/machine-id: {host.identity.machine_id or 'empty'}",
        fix="sudo systemd-machine-id-setup",
    )


@check(layer="identity", id="I-MACHINE-ID-DUPLICATE")
def machine_id_is_unique(host: HostState) -> Optional[Finding]:
    """Kubernetes and WireGuard state are bound to the machine-id; a cloned disk carries the original's."""
    twins = [other for other in host.others if host.machine_id and other.machine_id == host.machine_id]
    # Told once: to the clone, not to the host that the state file has known by this machine-id.
    original = min([host, *twins], key=lambda one: (one.known_machine_id != host.machine_id, one.name))
    if original is host:
        return None
    return Finding(
        what=f"{host.name} has the machine-id of {original.name}, as after copying a disk",
        evidence=f"/etc/machine-id: {host.machine_id}",
        fix=f"on {host.name}: {NEW_MACHINE_ID}",
    )


@check(layer="identity", id="I-HOSTNAME-DUPLICATE", nodes_only=True)
def hostname_is_unique(host: HostState) -> Optional[Finding]:
    """A kubelet registers under its hostname: a second one would take the first one's place."""
    hostname = host.identity.hostname
    twins = [other.name for other in host.others if hostname and other.identity.hostname == hostname]
    if not twins:
        return None
    return Finding(
        what=f"{host.name} has the same hostname as {', '.join(twins)}",
        evidence=f"hostname: {hostname}",
        fix=f"on {host.name}: sudo hostnamectl set-hostname {host.name}",
    )


@check(layer="identity", id="I-HOSTNAME-LOCALHOST", nodes_only=True)
def hostname_is_a_name(host: HostState) -> Optional[Finding]:
    if (host.identity.hostname or "").partition(".")[0] != "localhost":
        return None
    return Finding(
        what="the host has no name of its own",
        evidence=f"hostname: {host.identity.hostname}",
        fix=f"sudo hostnamectl set-hostname {host.name}",
    )


@check(layer="identity", id="I-ADDRESS-DUPLICATE")
def address_is_unique(host: HostState) -> Optional[Finding]:
    twins = [o.name for o in host.others if o.in_play and host.lan_address and o.lan_address == host.lan_address]
    # Spokes call their hub and nobody calls them; behind different routers many a host is 192.168.1.10.
    if not twins or host.option("wireguard_topology") == "hub":
        return None
    return Finding(
        what=f"{host.name} has the same address as {', '.join(twins)}",
        evidence=f"address: {host.lan_address}",
        fix=f"if {host.name} is another machine behind another router, set cluster_lan_address and "
        "wireguard_endpoint for it; if it is the same machine, keep one of the two names",
    )
