"""Names and addresses of hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address

from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.problem import Problem

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
# Hosts behind different jump hosts may well have the same address.
_WAY = ("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args")


def problems(inventory: Inventory) -> Iterator[Problem]:
    """Each host has a name that Kubernetes accepts and an address of its own."""
    for host in inventory.hosts:
        if not DNS_LABEL.fullmatch(host.name):
            yield _bad_name(inventory, host)
        elif host.name in inventory.groups:
            yield Problem(
                host.place() or inventory.path,
                f"{host.name} is the name of a host and of a group",
                "Ansible cannot tell the two apart, and a play for one would run on the other",
                "give the host another name",
            )
        elif host.name in inventory.state.peers:
            yield Problem(
                host.place() or inventory.path,
                f"{host.name} is the name of a host and of a peer",
                f"{inventory.state_file} has a peer {host.name}, let in by `edgectl peer add`",
                f"give the host another name, or: edgectl peer remove {host.name} -i {inventory.path}",
            )
        yield from _bad_address(inventory, host)
        yield from _bad_port(inventory, host)
    yield from _duplicates(inventory)
    yield from _duplicate_lan_addresses(inventory)
    yield from _duplicate_endpoints(inventory)


def _bad_name(inventory: Inventory, host: Host) -> Problem:
    place = host.place() or inventory.path
    if is_ip(host.name):
        fix = f"name the machine and give its address: `nuc1: {{ansible_host: {host.name}}}`"
    elif "." in host.name and DNS_LABEL.fullmatch(first := host.name.split(".")[0].lower()):
        fix = f"call it {first} and give its address: `{first}: {{ansible_host: {host.name}}}`"
    else:
        label = re.sub(r"[^a-z0-9]+", "-", host.name.lower()).strip("-")[:63].strip("-")
        fix = f"did you mean {label}?" if label else "give it another name"
    return Problem(
        place,
        f"{host.name} cannot be the name of a node",
        "allowed: lower-case letters, digits and hyphens, at most 63, starting and ending with a letter or digit",
        fix,
    )


def _bad_address(inventory: Inventory, host: Host) -> Iterator[Problem]:
    address = host.option("ansible_host", None)
    if address is None:
        return
    place = host.place("ansible_host") or host.place() or inventory.path
    text = str(address)
    if "@" in text:
        user, _, rest = text.rpartition("@")
        yield Problem(
            place,
            f"ansible_host of {host.name} is {text!r}, which names a user too",
            "ansible_host holds the address alone",
            f"write `ansible_host: {rest}` and `ansible_user: {user}`",
            key="ansible_host",
        )
    elif re.fullmatch(r"[^:]+:\d+", text):
        rest, port = text.split(":")
        yield Problem(
            place,
            f"ansible_host of {host.name} is {text!r}, which names a port too",
            "ansible_host holds the address alone",
            f"write `ansible_host: {rest}` and `ansible_port: {port}`",
            key="ansible_host",
        )
    elif re.fullmatch(r"[\d.]+", text) and not is_ip(text):
        yield Problem(
            place,
            f"ansible_host of {host.name} is {text!r}, which is no IP address",
            "four numbers from 0 to 255 are wanted",
            "correct the address, for example 192.168.1.11",
            key="ansible_host",
        )


def _duplicates(inventory: Inventory) -> Iterator[Problem]:
    first: dict[tuple[str, ...], Host] = {}
    for host in inventory.hosts:
        address = str(host.option("ansible_host", None) or host.name)
        port = str(host.option("ansible_port", None) or 22)
        key = (address, port, *_way(host))
        other = first.setdefault(key, host)
        if other is not host:
            yield Problem(
                host.place("ansible_host") or inventory.path,
                f"{host.name} has the address of {other.name}: {address} port {port}",
                f"{other.name} is in {other.place('ansible_host') or other.place()}",
                f"correct ansible_host of {host.name}, or remove one of the two",
                key="ansible_host",
            )


def _bad_port(inventory: Inventory, host: Host) -> Iterator[Problem]:
    port = host.option("ansible_port", None)
    if port is not None and not (str(port).isdecimal() and 1 <= int(port) <= 65535):
        yield Problem(
            host.place("ansible_port") or inventory.path,
            f"ansible_port is {port!r}, which is no port",
            "a port is a number from 1 to 65535",
            "leave it out, and it is 22",
            key="ansible_port",
        )


def _duplicate_lan_addresses(inventory: Inventory) -> Iterator[Problem]:
    first: dict[tuple[str, ...], Host] = {}
    # Those that are written come after those that follow from ansible_host, which are compared already.
    written = [host for host in inventory.hosts if "cluster_lan_address" in host.variables]
    for host in [*(other for other in inventory.hosts if other not in written), *written]:
        address = str(host.option("cluster_lan_address", ""))
        other = first.setdefault((address, *_way(host)), host)
        if address and other is not host and host in written:
            yield Problem(
                host.place("cluster_lan_address") or inventory.path,
                f"cluster_lan_address of {host.name} is that of {other.name}: {address}",
                fix=f"set cluster_lan_address of {host.name} to its own address",
                key="cluster_lan_address",
            )


def _duplicate_endpoints(inventory: Inventory) -> Iterator[Problem]:
    first: dict[str, Host] = {}
    for host in inventory.hosts:
        endpoint = str(host.option("wireguard_endpoint", None) or "")
        other = first.setdefault(endpoint, host)
        if endpoint and other is not host:
            yield Problem(
                host.place("wireguard_endpoint") or inventory.path,
                f"wireguard_endpoint of {host.name} is that of {other.name}: {endpoint}",
                "a packet to it can reach only one of the two",
                f"forward another UDP port to {host.name}, or set its wireguard_endpoint to an empty text",
                key="wireguard_endpoint",
            )


def _way(host: Host) -> tuple[str, ...]:
    return tuple(str(host.option(name, "")) for name in _WAY)


def is_ip(text: str) -> bool:
    """Whether this is an address, of either kind, and not a name."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
