"""Values whose form the roles' schema cannot say: ports, names, durations, addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.options import known_options
from edgectl.inventory.problem import Problem, Where
from edgectl.inventory.rules.hosts import DNS_LABEL, is_ip

_DOMAIN = re.compile(rf"{DNS_LABEL.pattern}(\.{DNS_LABEL.pattern})+")
# What Kubernetes itself listens on: API server, etcd, kubelet, kube-proxy, controller-manager, scheduler
# (kubernetes.io/docs/reference/networking/ports-and-protocols, and each program's health port).
_TAKEN_PORTS = {6443, 2379, 2380, 2381, 10248, 10249, 10250, 10256, 10257, 10259}


@dataclass(frozen=True)
class _Form:
    """What an option's value must look like. `example` stands in the fix."""

    fits: Callable[[str], bool]
    allowed: str
    example: str


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


def _within(least: int, most: int) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(r"-?\d+", text) is None or least <= int(text) <= most


def _is_lan_address(text: str) -> bool:
    return is_ip(text) and ":" not in text


def _is_name(text: str) -> bool:
    return is_ip(text) or re.fullmatch(rf"(\*\.)?{DNS_LABEL.pattern}(\.{DNS_LABEL.pattern})*", text) is not None


def _is_endpoint(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return _is_name(host.strip("[]")) and "*" not in host and port.isdecimal() and 1 <= int(port) <= 65535


_FORMS = {
    "cluster_domain": _Form(
        lambda text: DNS_LABEL.fullmatch(text) is not None or _DOMAIN.fullmatch(text) is not None,
        "a DNS domain in lower case",
        "cluster.local",
    ),
    "cluster_artifacts_dir": _Form(_matches(r"[/~].*"), "an absolute path on this machine", "/srv/edgectl/artifacts"),
    "cluster_artifacts_mirror": _Form(_matches(r"https?://\S+"), "a URL", "https://mirror.lan/artifacts"),
    # Goes into a unit of systemd and into containerd's configuration.
    "machine_data_directory": _Form(
        _matches(r"(/[A-Za-z0-9_@-][A-Za-z0-9._@-]*)+"),
        "an absolute path of letters, digits and any of ._@-",
        "/mnt/nvme/edgectl",
    ),
    "cluster_lan_address": _Form(_is_lan_address, "an IPv4 address", "192.168.1.21"),
    "wireguard_endpoint": _Form(_is_endpoint, "a public name or address, a colon and a port", "home.example.net:51871"),
    # wg-quick's own rule (wireguard-tools, src/wg-quick/linux.bash).
    "wireguard_interface": _Form(
        _matches(r"[a-zA-Z0-9_=+.-]{1,15}"), "at most 15 letters, digits and any of _=+.-", "wg0"
    ),
    "wireguard_mtu": _Form(_within(1280, 8920), "bytes, from 1280 to 8920", "1420"),
    "wireguard_keepalive": _Form(_within(0, 65535), "seconds, from 0 (off) to 65535", "25"),
    "kubeadm_repository": _Form(_matches(r"https?://\S+/"), "a URL that ends in a slash", "https://mirror.lan/deb/"),
    "kubeadm_repository_key_fingerprint": _Form(
        _matches(r"[0-9A-Fa-f]{40}"), "40 hexadecimal digits", "DE15B14486CD377B9E876E1A234654DA9A296436"
    ),
    "kubeadm_token_ttl": _Form(_matches(r"(\d+(\.\d+)?(h|m|s))+"), "a duration in hours, minutes and seconds", "15m"),
    "kubeadm_cri_socket": _Form(
        _matches(r"unix:///\S+"), "a socket's path after unix://", "unix:///run/containerd/containerd.sock"
    ),
}
_SECONDS = _Form(_within(0, 86400), "seconds, at most 86400 (a day)", "60")
_PORT = _Form(_within(1, 65535), "a port is a number from 1 to 65535", "")
_ITEMS = {
    "kubeadm_cert_sans": _Form(_is_name, "host names and addresses, without a scheme or a port", "api.example.net"),
    "containerd_cni_bin_dirs": _Form(_matches(r"/.*"), "absolute paths", "/opt/cni/bin"),
}


def problems(inventory: Inventory) -> Iterator[Problem]:
    """Every value that has the right type has the right form too."""
    for host in inventory.hosts:
        for option in host.variables:
            if option in known_options():
                yield from _misfits(inventory, host, option, host.option(option, None))
    if inventory.hosts:
        yield from _names(inventory)


def _misfits(inventory: Inventory, host: Host, option: str, value: object) -> Iterator[Problem]:
    place = host.place(option) or inventory.path
    default = known_options()[option].default
    if isinstance(value, list):
        form = _ITEMS.get(option)
        for item in value if form else ():
            if form and not form.fits(str(item)):
                yield Problem(
                    place,
                    f"{option} names {item!r}",
                    f"allowed: {form.allowed}",
                    f"for example {form.example}",
                    key=option,
                )
        return
    if value is None or isinstance(value, bool | dict) or value == "":
        return
    text = str(value)
    if option.endswith("_port") and not _PORT.fits(text):
        fix = f"leave it out, and it is {default}"
        yield Problem(place, f"{option} is {value}, which is no port", _PORT.allowed, fix, key=option)
    elif option == "cluster_endpoint_port" and text.isdecimal() and int(text) in _TAKEN_PORTS:
        yield Problem(
            place,
            f"{option} is {value}, which Kubernetes itself uses",
            f"taken on the control plane: {', '.join(str(port) for port in sorted(_TAKEN_PORTS))}",
            f"leave it out, and it is {default}",
            key=option,
        )
    elif option == "wireguard_endpoint" and re.search(r"\.local(:\d+)?$", text):
        yield _local_endpoint(place, text)
    else:
        form = _SECONDS if option.endswith(("_seconds", "_timeout")) else _FORMS.get(option)
        if form and not form.fits(text):
            example = form.example if option in _FORMS else default
            fix = f"for example {option}: {example}"
            yield Problem(place, f"{option} is {value!r}", f"allowed: {form.allowed}", fix, key=option)


def _local_endpoint(place: Where, text: str) -> Problem:
    return Problem(
        place,
        f"wireguard_endpoint {text} is a .local name",
        "that domain belongs to mDNS: beyond the LAN nobody can look it up, and on Ubuntu not everybody within it",
        "give the address instead, or leave it out and ansible_host is used",
        key="wireguard_endpoint",
    )


def _names(inventory: Inventory) -> Iterator[Problem]:
    name = inventory.option("cluster_name", None)
    if not isinstance(name, str):  # said already
        return
    if not DNS_LABEL.fullmatch(name):
        yield Problem(
            inventory.place("cluster_name"),
            f"cluster_name is {name!r}, which cannot be part of a host name",
            "allowed: lower-case letters, digits and hyphens, at most 63",
            f"did you mean {re.sub('[^a-z0-9]+', '-', name.lower()).strip('-') or 'edgectl'}?",
            key="cluster_name",
        )
        return
    endpoint = inventory.option("cluster_endpoint", None)
    if not isinstance(endpoint, str):
        return
    if endpoint.endswith(".local"):
        yield Problem(
            inventory.place("cluster_endpoint"),
            f"cluster_endpoint {endpoint} ends in .local",
            "that domain belongs to mDNS: Ubuntu and JetPack would ask the network for it, not /etc/hosts",
            f"did you mean {endpoint.removesuffix('.local')}.internal?",
            key="cluster_endpoint",
        )
    elif not _DOMAIN.fullmatch(endpoint) or re.fullmatch(r"[\d.]+", endpoint):
        yield Problem(
            inventory.place("cluster_endpoint"),
            f"cluster_endpoint is {endpoint!r}",
            "it must be a host name with a domain: it stands in the API's certificate and outlives every address",
            f"leave it out, and it is api.{name}.internal",
            key="cluster_endpoint",
        )
