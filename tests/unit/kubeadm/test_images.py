"""Images from archives: only what containerd lacks is imported, and only what was imported is removed again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

# `images.txt` beside the program is what containerd has; an archive is a file with the names in it.
CTR = """\
#!/bin/sh
cd "$(dirname "$0")" || exit 9
echo "$*" >> said.txt
shift 4
case "$1 $2" in
  "images list") cat images.txt;;
  "images import") cat "$3" >> images.txt;;
  "images remove") shift 2; for one; do grep -vxF "$one" images.txt > new.txt; mv new.txt images.txt; done;;
esac
"""
PAUSE, DNS = "registry.k8s.io/pause:3.10", "registry.k8s.io/coredns:1"


class Containerd:
    """What containerd has, and the module that is to change it."""

    def __init__(self, place: Path, module: Any, capsys: pytest.CaptureFixture[str]) -> None:
        self.place, self.module, self.capsys = place, module, capsys
        self.archive = place / "images.tar"
        self.archive.write_text(f"{PAUSE}\n{DNS}\n")

    def has(self) -> list[str]:
        return (self.place / "images.txt").read_text().split()

    def __call__(self, *, check: bool = False, uploaded: bool = False, **options: Any) -> dict[str, Any]:
        digest = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        archive = {"src": "/srv/images.tar", "sha256": digest, "images": [PAUSE, DNS]}
        arguments = {
            **({"archives": [archive]} if options.get("state") != "absent" else {}),
            **({"uploaded": {"/srv/images.tar": str(self.archive)}} if uploaded else {}),
            "record": "kubeadm", "address": "/run/c.sock", "_ansible_check_mode": check, **options,
        }  # fmt: skip
        with patch_module_args(arguments), pytest.raises(SystemExit):
            self.module.main()
        answer: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return answer


@pytest.fixture
def containerd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Containerd:
    module = plugin("modules/edgectl_images.py")
    monkeypatch.setattr(module, "RECORDS", str(tmp_path / "records"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / "ctr").write_text(CTR)
    (tmp_path / "ctr").chmod(0o755)
    (tmp_path / "images.txt").write_text("")
    return Containerd(tmp_path, module, capsys)


def test_an_archive_is_asked_for_only_where_an_image_is_missing(containerd: Containerd) -> None:
    assert containerd()["needed"] == ["/srv/images.tar"]
    (containerd.place / "images.txt").write_text(f"{PAUSE}\n{DNS}\n")
    answer = containerd()
    assert answer["needed"] == []
    assert not answer["changed"]


def test_what_was_there_before_stays_when_ours_go(containerd: Containerd) -> None:
    (containerd.place / "images.txt").write_text(f"{PAUSE}\n")
    assert containerd(uploaded=True)["images"] == [DNS]
    assert DNS in containerd.has()
    assert containerd(state="absent")["images"] == [DNS]
    assert set(containerd.has()) == {PAUSE}
    assert list((containerd.place / "records").iterdir()) == []
    assert not containerd(state="absent")["changed"]


def test_what_is_ours_is_still_known_after_a_second_import(containerd: Containerd) -> None:
    containerd(uploaded=True)
    (containerd.place / "images.txt").write_text(f"{PAUSE}\n")
    containerd(uploaded=True)
    assert containerd(state="absent")["images"] == [DNS, PAUSE]


def test_a_damaged_archive_is_refused_before_anything_is_imported(containerd: Containerd) -> None:
    answer = containerd(uploaded=True, archives=[{"src": "/srv/images.tar", "sha256": "0" * 64, "images": [PAUSE]}])
    assert answer["failed"]
    assert answer["damaged"] == "/srv/images.tar"
    assert containerd.has() == []
    assert not (containerd.place / "records").exists()


def test_a_dry_run_imports_and_removes_nothing(containerd: Containerd) -> None:
    assert containerd(check=True, uploaded=True)["changed"]
    assert containerd.has() == []
    containerd(uploaded=True)
    assert containerd(check=True, state="absent")["changed"]
    assert set(containerd.has()) == {PAUSE, DNS}


def test_a_dry_run_before_there_is_a_containerd_says_what_would_be_imported(
    containerd: Containerd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert containerd(check=True)["images"] == [DNS, PAUSE]


def test_the_containerd_that_is_asked_is_the_one_of_the_socket(containerd: Containerd) -> None:
    containerd()
    assert (containerd.place / "said.txt").read_text().startswith("--address /run/c.sock --namespace k8s.io images")


@pytest.mark.parametrize(("runs", "address"), [(True, "k3s.sock"), (False, "own.sock")])
def test_images_go_to_the_containerd_of_k3s_where_that_runs(
    containerd: Containerd, monkeypatch: pytest.MonkeyPatch, runs: bool, address: str
) -> None:
    place = containerd.place
    monkeypatch.setattr(containerd.module, "ADDRESS", str(place / "own.sock"))
    monkeypatch.setattr(containerd.module, "K3S_ADDRESS", str(place / "k3s.sock"))
    monkeypatch.setattr(containerd.module, "K3S", str(place / "k3s"))
    (place / "k3s").write_text('#!/bin/sh\nshift\nexec "$(dirname "$0")/ctr" "$@"\n')
    (place / "k3s").chmod(0o755)
    if runs:
        (place / "k3s.sock").touch()
    containerd(uploaded=True, address=None)
    assert containerd.has() == [PAUSE, DNS]
    assert f"--address {place / address} " in (place / "said.txt").read_text()
