"""Keeps secrets out of logs: the ones of this run by their value, others by what they look like."""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "********"

_PATTERNS = (
    # A WireGuard key: 32 bytes in base64. Public keys look the same, and nobody misses them in a log.
    re.compile(r"(?<![A-Za-z0-9+/=:])[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])"),
    # kubeadm's bootstrap token and certificate key; k3s's token.
    re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b"),
    re.compile(r"(?<=certificate-key )[0-9a-f]{64}\b"),
    re.compile(r"\bK10[0-9a-f]{64}::\S+"),
    # A key of NVIDIA's registry.
    re.compile(r"\bnvapi-[A-Za-z0-9_-]{16,}"),
    # A service account's JSON web token.
    re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"(?i)(?<=password=)\S+|(?<=passwd=)\S+|(?<=secret=)\S+"),
)

# Shorter ones would mask ordinary words wherever they occur.
_SHORTEST_VALUE = 4


class Redactor:
    """Masks the given values, and anything that looks like a key or a token."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        wanted = sorted({value for value in values if len(value) >= _SHORTEST_VALUE}, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, wanted))) if wanted else None

    def __call__(self, text: str) -> str:
        if self._values is not None:
            text = self._values.sub(MASK, text)
        for pattern in _PATTERNS:
            text = pattern.sub(MASK, text)
        return text

    def document(self, value: object) -> object:
        """The same for every string inside a JSON-like value."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {key: self.document(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(item) for item in value]
        return value
