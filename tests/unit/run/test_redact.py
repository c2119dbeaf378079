"""No secret gets into a log."""

from __future__ import annotations

import pytest

from edgectl.run.redact import MASK, Redactor

KEY = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"PrivateKey = {KEY}", KEY),
        (f"[{KEY!r}]", KEY),
        ("kubeadm join --token abcdef.0123456789abcdef", "0123456789abcdef"),
        (f"--certificate-key {'ab' * 32}", "ab" * 32),
        (f"K10{'0f' * 32}::server:abc", "server:abc"),
        ("Bearer eyJhbGciOiJSUzI1NiIs.eyJpc3MiOiJrdWJlcm5l.c2lnbmF0dXJl", "c2lnbmF0dXJl"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNza"),
        ("mysql://x?password=hunter22", "hunter22"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, secret: str) -> None:
    assert secret not in Redactor()(text)
    assert MASK in Redactor()(text)


@pytest.mark.parametrize(
    "text",
    [
        "SHA256:uNiVztksCsDhcc0u9e8BrJQXVUpKZIDTMczCvj3tD2s",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "registry.k8s.io/kube-apiserver:v1.35.4",
        "/etc/systemd/system/edgectl-wireguard-watch@wg0.service",
    ],
)
def test_what_is_no_secret_stays_readable(text: str) -> None:
    assert Redactor()(text) == text


def test_the_secrets_of_the_run_are_masked_by_value_wherever_they_stand() -> None:
    redact = Redactor(["correct horse", "horse"])
    assert redact.document({"a": ["sudo: correct horse!", 3, None]}) == {"a": [f"sudo: {MASK}!", 3, None]}
    assert redact("horses") == f"{MASK}s"


def test_a_value_too_short_to_be_told_from_ordinary_words_masks_nothing() -> None:
    assert Redactor(["a"])("a word") == "a word"
