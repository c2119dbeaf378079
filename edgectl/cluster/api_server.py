"""Is this address the cluster's API, seen from here? Asked by a TLS handshake against the cluster's own CA."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass

# roles/kubeadm/templates/init.yml.j2 sets it as bindPort.
PORT = 6443
_TIMEOUT = 3.0
# OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH.
_OTHER_NAME = (62, 64)


@dataclass(frozen=True)
class Address:
    """Where the API is called. `server_name` is what its certificate is checked for, empty for the address itself.

    `trouble` says why nobody answered there; the address is then the most likely one, not a proven one.
    """

    host: str
    port: int
    server_name: str = ""
    trouble: str = ""

    @property
    def url(self) -> str:
        return f"https://[{self.host}]:{self.port}" if ":" in self.host else f"https://{self.host}:{self.port}"


class NotTheApi(Exception):
    """Who answers there is not this cluster's API, or nobody does. `other_name`: it is, under another name."""

    def __init__(self, reason: str, *, other_name: bool = False) -> None:
        super().__init__(reason)
        self.other_name = other_name


def find(hosts: Iterable[str], server_name: str, ca_data: str) -> Address:
    """The first host that answers as this cluster's API.

    server_name: a name that the API's certificate is known to hold, for addresses that it does not hold.
    ca_data: the CA as in a kubeconfig, base64 of PEM.
    """
    troubles: list[str] = []
    wanted = list(dict.fromkeys(hosts))
    for host in wanted:
        for address in (Address(host, PORT), Address(host, PORT, server_name)):
            try:
                handshake(address, ca_data)
            except NotTheApi as error:
                if not error.other_name:
                    troubles.append(f"{address.url}: {error}")
                    break
            else:
                return address
    # The name is right whatever the address: the certificate holds it from the first day.
    return Address(wanted[0], PORT, server_name, trouble="; ".join(troubles))


def handshake(address: Address, ca_data: str) -> None:
    """Return when a TLS handshake has proved that this is the cluster's API; raises NotTheApi with the reason."""
    try:
        context = ssl.create_default_context(cadata=base64.b64decode(ca_data, validate=True).decode())
    except (ValueError, ssl.SSLError) as error:
        raise NotTheApi(f"the cluster's CA cannot be read ({error})") from error
    # Python 3.13 checks more than Kubernetes' own clients do.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    try:
        with (
            socket.create_connection((address.host, address.port), timeout=_TIMEOUT) as plain,
            context.wrap_socket(plain, server_hostname=address.server_name or address.host),
        ):
            return
    except ssl.SSLCertVerificationError as error:
        raise NotTheApi(error.verify_message, other_name=error.verify_code in _OTHER_NAME) from error
    except TimeoutError as error:
        raise NotTheApi(f"no answer within {_TIMEOUT:.0f} s") from error
    except OSError as error:
        raise NotTheApi(error.strerror or str(error)) from error
