"""How far an image is: outputs of `ctr content` during a pull of five layers, three of which were there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.unit.kubeadm.conftest import plugin

pull = plugin("modules/edgectl_image_pull.py")
DATA = Path(__file__).parent / "data"
ACTIVE = (DATA / "ctr-content-active.txt").read_text()
CONTENT = (DATA / "ctr-content-ls.txt").read_text()
IMAGE = "127.0.0.1:5000/test/big:1"
MANIFEST = "sha256:d5048a4ca32d6bb961d84a9d5f3f066dcbb965bdc42e5531124d2f8ccc43107d"
LAYER = 16_780_000


def layers() -> list[str]:
    (line,) = [line for line in CONTENT.splitlines() if line.startswith(MANIFEST)]
    return sorted(re.findall(r"gc\.ref\.content\.l\.\d=(sha256:\w+)", line))


def ctr(*active: str) -> Callable[..., str]:
    """containerd, of which one `content active` after the other is seen; the last one stays."""
    seen = list(active)

    def run(*words: str) -> str:
        if words == ("content", "active"):
            return seen.pop(0) if len(seen) > 1 else seen[0]
        if words == ("content", "ls"):
            return CONTENT
        assert words == ("content", "get", MANIFEST)
        return json.dumps({"layers": [{"digest": digest, "size": LAYER} for digest in layers()]})

    return run


def test_of_a_pull_it_is_told_how_much_of_all_layers_is_there() -> None:
    assert len(layers()) == 5
    coming = pull.active(ACTIVE)
    assert list(coming.values()) == [5_243_000, 5_243_000]
    assert pull.manifest_of(CONTENT, coming, IMAGE) == MANIFEST
    said = f"61 of 84 MB, 72 %, of {IMAGE}"
    assert pull.grown(IMAGE, 3, ctr("", ACTIVE), lambda _: None) == (True, said)


def test_without_a_manifest_what_comes_is_told_alone() -> None:
    said = pull.told(IMAGE, pull.active(ACTIVE), lambda *_: "")
    assert said == f"10 MB so far of {IMAGE}"


def test_what_grows_no_more_has_ended() -> None:
    naps: list[float] = []
    assert pull.grown(IMAGE, 20, ctr(ACTIVE), naps.append)[0] is False
    assert len(naps) == 20
    naps.clear()
    assert pull.grown(IMAGE, 20, ctr(""), naps.append)[0] is False
    assert len(naps) == pull.LOOKS
