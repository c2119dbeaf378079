"""A repository is trusted by the fingerprint of its key, told without gpg."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.unit.kubeadm.conftest import plugin

KEY = (Path(__file__).parents[1] / "data/keys/ed25519.asc").read_bytes()
FINGERPRINT = "DD0450603D88050CB87880C66521A92735D1F854"  # as gpg told it when it made the key
ARMOUR = b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n%b\n-----END PGP PUBLIC KEY BLOCK-----"

openpgp = plugin("module_utils/edgectl_openpgp.py")
repository = plugin("modules/edgectl_apt_repository.py")


def test_fingerprint_of_an_armoured_key_is_the_one_that_gpg_tells() -> None:
    assert openpgp.fingerprints(openpgp.dearmor(KEY)) == [FINGERPRINT]


def test_binary_key_is_taken_as_it_is() -> None:
    binary = openpgp.dearmor(KEY)
    assert openpgp.dearmor(binary) == binary
    assert repository.key_problem(binary, FINGERPRINT) == ""


def test_expected_key_has_no_problem() -> None:
    assert repository.key_problem(KEY, FINGERPRINT) == ""


def test_other_key_is_refused_with_both_fingerprints() -> None:
    problem = repository.key_problem(KEY, "0" * 40)
    assert FINGERPRINT in problem
    assert "0" * 40 in problem


def test_second_key_beside_the_expected_one_is_refused() -> None:
    assert repository.key_problem(KEY + KEY, FINGERPRINT) != ""


def test_changed_byte_of_the_key_material_is_refused() -> None:
    binary = bytearray(openpgp.dearmor(KEY))
    binary[30] ^= 1
    assert "expected" in repository.key_problem(bytes(binary), FINGERPRINT)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html>not found</html>",
        openpgp.dearmor(KEY)[:40],
        b"\x98\x05abc",
        b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n"
        + base64.b64encode(b"text")
        + b"\n-----END PGP PUBLIC KEY BLOCK-----",
    ],
)
def test_what_is_no_key_is_refused(data: bytes) -> None:
    assert repository.key_problem(data, FINGERPRINT) != ""


def test_source_trusts_the_key_for_this_repository_alone() -> None:
    text = repository.source(
        {"url": "https://example.org/deb/", "suite": "/", "components": []}, "/etc/apt/keyrings/k.gpg"
    )
    assert "Suites: /\n" in text
    assert "Components" not in text
    assert text.endswith("Signed-By: /etc/apt/keyrings/k.gpg\n")
