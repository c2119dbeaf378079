"""A cluster's CA, its API server on a loopback port and an administrator's kubeconfig, as kubeadm would make them."""

from __future__ import annotations

import base64
import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = datetime.timedelta(hours=1)


@dataclass
class Authority:
    """A CA that signs servers' certificates."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def data(self) -> str:
        """As a kubeconfig holds it."""
        return base64.b64encode(self.certificate.public_bytes(serialization.Encoding.PEM)).decode()

    def server_files(self, directory: Path, names: list[str]) -> tuple[Path, Path]:
        """A certificate for these names and addresses, and its key, in files."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _builder("kube-apiserver", self.certificate.subject, key).add_extension(
            x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False
        )
        signed = certificate.sign(self.key, hashes.SHA256())
        crt, pem = directory / "apiserver.crt", directory / "apiserver.key"
        crt.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        pem.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return crt, pem


def authority() -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    certificate = _builder("kubernetes", name, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    return Authority(key, certificate.sign(key, hashes.SHA256()))


def _builder(subject: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LIFETIME)
        .not_valid_after(now + LIFETIME)
    )


def _general_name(name: str) -> x509.GeneralName:
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(name))
    return x509.DNSName(name)


@contextlib.contextmanager
def api_server(ca: Authority, directory: Path, names: list[str]) -> Iterator[int]:
    """A TLS server on 127.0.0.1 whose certificate holds these names; gives its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*ca.server_files(directory, names))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    plain, _ = listener.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), plain, context.wrap_socket(plain, server_side=True) as client:
                    client.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        # A blocked accept() does not notice that its socket is closed.
        listener.shutdown(socket.SHUT_RDWR)


def admin_conf(ca: Authority) -> dict[str, Any]:
    """What `kubeadm init` leaves in /etc/kubernetes/admin.conf."""
    return yaml.safe_load(
        f"""
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {ca.data}
    server: https://api.attic.internal:6444
  name: attic
contexts:
- context:
    cluster: attic
    user: kubernetes-admin
  name: kubernetes-admin@attic
current-context: kubernetes-admin@attic
kind: Config
users:
- name: kubernetes-admin
  user:
    client-certificate-data: Y2VydA==
    client-key-data: a2V5
"""
    )
