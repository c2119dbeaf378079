"""Which names a certificate lacks."""

from __future__ import annotations

from tests.unit.kubeadm.conftest import plugin

missing = plugin("filter/edgectl_certificates.py").missing_names

# As openssl 3.0 prints it.
PRINTED = """X509v3 Subject Alternative Name:
    DNS:api.homelab.internal, DNS:kubernetes, DNS:Nuc1, IP Address:10.200.0.1, IP Address:FD00:0:0:0:0:0:0:1
"""


def test_names_and_addresses_of_any_spelling_are_found() -> None:
    assert missing(PRINTED, ["api.homelab.internal", "nuc1", "10.200.0.1", "fd00::1", "kubernetes."]) == []


def test_what_is_part_of_another_name_is_missing() -> None:
    assert missing(PRINTED, ["homelab.internal", "10.200.0.10", "nuc1"]) == ["homelab.internal", "10.200.0.10"]


def test_without_a_certificate_all_are_missing() -> None:
    assert missing("", ["nuc1"]) == ["nuc1"]
