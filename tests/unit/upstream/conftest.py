"""Upstreams of a test's own, and inventories that ask them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import edgectl

from .server import Upstreams, serving

__all__ = ["edgectl"]

_HOSTS = """\
cluster:
  children:
    control_plane: {hosts: {nuc1: {ansible_host: 192.0.2.11}}}
    workers: {hosts: {orin1: {ansible_host: 192.0.2.12}}}
"""


@pytest.fixture
def upstreams(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstreams]:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found


@pytest.fixture
def lab(tmp_path: Path, upstreams: Upstreams) -> Callable[..., Path]:
    """Writes an inventory, or its options anew: `lab(cluster_version='"1.35"')`."""

    def make(distribution: str = "k3s", **options: str) -> Path:
        directory = tmp_path / "lab"
        (directory / "group_vars").mkdir(parents=True, exist_ok=True)
        (directory / "hosts.yml").write_text(_HOSTS)
        known = {"cluster_distribution": distribution, "cluster_artifacts_mirror": upstreams.url, **options}
        text = "".join(f"{name}: {value}\n" for name, value in known.items())
        (directory / "group_vars" / "all.yml").write_text(text)
        return directory

    return make
