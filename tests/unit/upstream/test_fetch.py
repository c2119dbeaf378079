"""`edgectl fetch`: a directory with what the lock names, each file checked, and none fetched twice."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from edgectl import content

from .server import Upstreams, sha256

Lab = Callable[..., Path]
Command = Callable[..., Any]
K3S = "github.com/k3s-io/k3s/releases/download/v1.35.4+k3s1"
AMD64 = "k3s/v1.35.4+k3s1/linux-amd64"


@pytest.fixture
def stable(lab: Lab, edgectl: Command, upstreams: Upstreams) -> Path:
    """An inventory with a lock."""
    directory = lab(cluster_version="stable")
    assert edgectl("lock", str(directory)).code == 0
    upstreams.asked.clear()
    return directory


def manifest(directory: Path) -> dict[str, dict[str, Any]]:
    document = json.loads((directory / "manifest.json").read_text())
    assert document["schema_version"] == 1
    return {one["path"]: one for one in document["files"]}


def test_the_directory_is_what_the_roles_take(
    stable: Path, edgectl: Command, upstreams: Upstreams, tmp_path: Path
) -> None:
    answer = edgectl("fetch", str(tmp_path / "kept"), str(stable))
    assert answer.code == 0, answer.err
    assert f"cluster_artifacts_dir: {tmp_path / 'kept'}" in answer.out
    found = manifest(tmp_path / "kept")
    assert [(one["kind"], one["name"], one["version"], one["arch"]) for one in found.values()] == [
        ("binary", "k3s", "v1.35.4+k3s1", "amd64"),
        ("binary", "k3s", "v1.35.4+k3s1", "arm64"),
        ("images", "k3s", "v1.35.4+k3s1", "amd64"),
        ("images", "k3s", "v1.35.4+k3s1", "arm64"),
    ]
    program = tmp_path / "kept" / AMD64 / "k3s"
    assert program.read_bytes() == upstreams.files[f"{K3S}/k3s"]
    assert program.stat().st_mode & 0o777 == 0o755
    assert found[f"{AMD64}/k3s"]["sha256"] == sha256(program.read_bytes())
    images = found[f"{AMD64}/k3s-airgap-images-amd64.tar.zst"]
    assert images["images"] == ["docker.io/rancher/mirrored-pause:3.6"]
    assert list((tmp_path / "kept").rglob("*.part")) == []
    # The rules of an inventory find the release there.
    with (stable / "group_vars" / "all.yml").open("a") as options:
        options.write(f"cluster_artifacts_dir: {tmp_path / 'kept'}\n")
    assert edgectl("validate", str(stable)).err == ""


def test_one_architecture_alone(stable: Path, edgectl: Command, tmp_path: Path) -> None:
    edgectl("fetch", str(tmp_path / "kept"), str(stable), "--arch", "arm64")
    assert {one["arch"] for one in manifest(tmp_path / "kept").values()} == {"arm64"}


def test_what_is_there_and_right_is_not_fetched_again(
    stable: Path, edgectl: Command, upstreams: Upstreams, tmp_path: Path
) -> None:
    edgectl("fetch", str(tmp_path / "kept"), str(stable))
    upstreams.asked.clear()
    assert "0 files fetched (0 MiB), 4 there already" in edgectl("fetch", str(tmp_path / "kept"), str(stable)).out
    assert upstreams.asked == []
    program = tmp_path / "kept" / AMD64 / "k3s"
    program.write_bytes(b"X" + program.read_bytes()[1:])  # of the same size
    assert "1 file fetched" in edgectl("fetch", str(tmp_path / "kept"), str(stable)).out
    assert upstreams.paths() == [f"{K3S}/k3s"]


def test_a_file_that_was_broken_off_goes_on_where_it_ended(
    stable: Path, edgectl: Command, upstreams: Upstreams, tmp_path: Path
) -> None:
    upstreams.broken_off = 1000
    answer = edgectl("fetch", str(tmp_path / "kept"), str(stable), "--arch", "amd64")
    assert answer.code == 1
    assert "the connection ended after 1000 of" in answer.err
    assert not (tmp_path / "kept" / "manifest.json").exists()
    assert (tmp_path / "kept" / AMD64 / "k3s.part").stat().st_size == 1000
    upstreams.broken_off = None
    upstreams.asked.clear()
    assert edgectl("fetch", str(tmp_path / "kept"), str(stable), "--arch", "amd64").code == 0
    assert upstreams.asked[0] == (f"{K3S}/k3s", "bytes=1000-")
    assert (tmp_path / "kept" / AMD64 / "k3s").read_bytes() == upstreams.files[f"{K3S}/k3s"]


@pytest.mark.parametrize("begun", [b"of another file", b"a" * 100_000])
@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_begun_file_that_is_another_is_begun_anew(
    stable: Path, edgectl: Command, upstreams: Upstreams, tmp_path: Path, begun: bytes, knows_ranges: bool
) -> None:
    upstreams.knows_ranges = knows_ranges
    part = tmp_path / "kept" / AMD64 / "k3s.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(begun)
    assert edgectl("fetch", str(tmp_path / "kept"), str(stable), "--arch", "amd64").code == 0
    assert part.with_suffix("").read_bytes() == upstreams.files[f"{K3S}/k3s"]


def test_other_bytes_than_those_of_the_lock_never_get_their_name(
    stable: Path, edgectl: Command, upstreams: Upstreams, tmp_path: Path
) -> None:
    content = upstreams.files[f"{K3S}/k3s"]
    upstreams.files[f"{K3S}/k3s"] = content[:-1] + b"X"
    answer = edgectl("fetch", str(tmp_path / "kept"), str(stable))
    assert answer.code == 1
    assert f"expected {sha256(content)}" in answer.err
    assert "do not use it" in answer.err
    assert [one for one in (tmp_path / "kept").rglob("*") if one.is_file()] == []


def test_what_else_the_directory_has_stays_in_its_manifest(stable: Path, edgectl: Command, tmp_path: Path) -> None:
    own = {
        "path": "own/images.tar",
        "kind": "images",
        "name": "own",
        "version": "1",
        "arch": "amd64",
        "images": ["a:1"],
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"schema_version": 1, "files": [own]}))
    edgectl("fetch", str(tmp_path), str(stable))
    edgectl("fetch", str(tmp_path), str(stable))
    assert manifest(tmp_path)["own/images.tar"] == own
    assert len(json.loads((tmp_path / "manifest.json").read_text())["files"]) == 5


def test_helm_is_taken_out_of_its_archive(lab: Lab, edgectl: Command, tmp_path: Path) -> None:
    directory = lab(cluster_version="stable", device_plugin_install="chart")
    edgectl("lock", str(directory))
    assert edgectl("fetch", str(tmp_path), str(directory)).code == 0
    found = manifest(tmp_path)
    assert (tmp_path / "helm/v3.22.0/linux-arm64/helm").read_bytes() == b"helm v3.22.0 arm64"
    assert found["helm/v3.22.0/linux-arm64/helm"]["sha256"] == sha256(b"helm v3.22.0 arm64")
    assert found["nvidia/chart/0.20.0/nvidia-device-plugin-0.20.0.tgz"]["kind"] == "chart"
    assert ", 7 there already" in edgectl("fetch", str(tmp_path), str(directory)).out


def test_without_a_lock_or_with_one_of_another_wish_the_way_out_is_named(
    lab: Lab, edgectl: Command, tmp_path: Path
) -> None:
    directory = lab(cluster_version="stable")
    none = edgectl("fetch", str(tmp_path / "kept"), str(directory))
    assert (none.code, f"edgectl lock {directory}" in none.err) == (2, True)
    edgectl("lock", str(directory))
    lab(cluster_version='"1.34"')
    other = edgectl("fetch", str(tmp_path / "kept"), str(directory))
    assert (other.code, "the lock has v1.35.4+k3s1, for stable" in other.err) == (2, True)


def test_many_who_want_one_file_at_once_fetch_it_once(upstreams: Upstreams, tmp_path: Path) -> None:
    fetch = content.module_util("edgectl_fetch").fetch
    content_of = upstreams.files[f"{K3S}/k3s"]

    def one(_: int) -> bool:
        return bool(fetch(f"{upstreams.url}/{K3S}/k3s", sha256(content_of), str(tmp_path / "k3s")))

    with ThreadPoolExecutor(8) as workers:
        assert sorted(workers.map(one, range(8))) == [False] * 7 + [True]
    assert upstreams.paths() == [f"{K3S}/k3s"]
    assert [one.name for one in tmp_path.iterdir()] == ["k3s"]


def test_kubeadms_images_become_one_archive_for_each_architecture(
    lab: Lab, edgectl: Command, upstreams: Upstreams, tmp_path: Path
) -> None:
    directory = lab("kubeadm", cluster_version='"1.35"')
    edgectl("lock", str(directory))
    answer = edgectl("fetch", str(tmp_path), str(directory))
    assert answer.code == 0, answer.err
    found = manifest(tmp_path)["kubernetes/v1.35.4/linux-arm64/images.tar"]
    assert (found["kind"], found["name"], found["version"]) == ("images", "kubernetes", "v1.35.4")
    assert len(found["images"]) == 7
    names, configurations = layout(tmp_path / found["path"])
    assert names == found["images"]
    assert {one["architecture"] for one in configurations} == {"arm64"}
    assert {one["of"] for one in configurations} == {
        one.removeprefix("registry.k8s.io/").rpartition(":")[0] for one in names
    }
    assert not list(tmp_path.rglob("*.parts"))
    upstreams.asked.clear()
    assert "0 files fetched" in edgectl("fetch", str(tmp_path), str(directory)).out
    assert upstreams.asked == []


def test_an_archive_of_images_that_was_damaged_is_made_anew(
    lab: Lab, edgectl: Command, upstreams: Upstreams, tmp_path: Path
) -> None:
    directory = lab("kubeadm", cluster_version='"1.35"')
    edgectl("lock", str(directory))
    edgectl("fetch", str(tmp_path), str(directory), "--arch", "amd64")
    archive = tmp_path / "kubernetes/v1.35.4/linux-amd64/images.tar"
    whole = archive.read_bytes()
    archive.write_bytes(whole.replace(b"pause 3.10.1", b"paus3 3.10.1"))
    edgectl("fetch", str(tmp_path), str(directory), "--arch", "amd64")
    assert archive.read_bytes() == whole
    etcd = next(path for path in upstreams.files if path.startswith("registry.k8s.io/v2/etcd/blobs/"))
    upstreams.files[etcd] = b"something else"
    archive.unlink()
    answer = edgectl("fetch", str(tmp_path), str(directory))
    assert (answer.code, f"expected {etcd.rpartition(':')[2]}" in answer.err) == (1, True)
    assert not archive.exists()


def layout(archive: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Names and configurations of the images in an OCI layout, of which every part is there."""
    with tarfile.open(archive) as tar:
        blobs = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    assert json.loads(blobs["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    names, configurations = [], []
    for one in json.loads(blobs["index.json"])["manifests"]:
        names.append(one["annotations"]["io.containerd.image.name"])
        own = json.loads(blobs[f"blobs/sha256/{one['digest'].removeprefix('sha256:')}"])
        parts = [
            blobs[f"blobs/sha256/{part['digest'].removeprefix('sha256:')}"] for part in (own["config"], *own["layers"])
        ]
        configurations.append(json.loads(parts[0]))
    return names, configurations
