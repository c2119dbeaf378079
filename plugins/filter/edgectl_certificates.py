"""Filter over what openssl prints of a certificate."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

NAME = re.compile(r"(?:DNS|IP Address):([^,\s]+)")


def missing_names(text: str, wanted: list[str]) -> list[str]:
    """The names and addresses that a certificate lacks.

    text: what `openssl x509 -noout -ext subjectAltName` prints, such as `DNS:nuc1, IP Address:10.200.0.1`. IPv6
    addresses are compared as addresses: openssl writes `FD00:0:0:0:0:0:0:1`.
    """
    has = {_plain(name) for name in NAME.findall(text)}
    return [name for name in wanted if _plain(name) not in has]


def _plain(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.lower().rstrip(".")


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {"edgectl_missing_names": missing_names}
