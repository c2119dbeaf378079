"""The peers of `edgectl peer list`, for people and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgectl.cluster.peers import Peer
from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.output.summary import table
from edgectl.output.words import duration


def lines(peers: Sequence[Peer], silent: Mapping[str, str]) -> Iterator[str]:
    """A table with a column for each host that knows the peers and answers; the others follow with their reason."""
    if not peers:
        yield "no peers yet: edgectl peer add NAME lets your own machine in"
        return
    hosts = list(peers[0].handshakes)
    header = ("NAME", "ADDRESS", "PUBLIC KEY", *(f"HANDSHAKE WITH {host}" for host in hosts))
    rows = [(p.name, p.address, p.public_key, *(_age(p.handshakes[host]) for host in hosts)) for p in peers]
    yield from table(header, rows)
    for host, reason in silent.items():
        yield f"{host} was not asked for handshakes: {reason}"


def document(peers: Sequence[Peer], silent: Mapping[str, str]) -> dict[str, Any]:
    """The same as one JSON document; ages are in seconds, null before the first handshake."""
    return {
        "schema_version": SCHEMA_VERSION,
        "peers": [
            {
                "name": peer.name,
                "address": peer.address,
                "public_key": peer.public_key,
                "handshake_age_s": dict(peer.handshakes),
            }
            for peer in peers
        ],
        "unanswered": dict(silent),
    }


def _age(seconds: int | None) -> str:
    return "never" if seconds is None else f"{duration(seconds)} ago"
