"""`edgectl lock`: what is asked for, what upstream says, and what is written down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from edgectl.inventory.rules.versions import known_minors

from .server import Upstreams, sha256

Lab = Callable[..., Path]
Command = Callable[..., Any]


def locked(directory: Path) -> Any:
    return yaml.safe_load((directory / ".edgectl" / "artifacts.lock.yml").read_text())


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        ("stable", "v1.35.4+k3s1"),
        ("1.34", "v1.34.6+k3s1"),
        ("v1.34", "v1.34.6+k3s1"),
        ("1.34.6", "v1.34.6+k3s1"),
        ("1.34.6+k3s1", "v1.34.6+k3s1"),
    ],
)
def test_what_is_asked_of_k3s_becomes_a_release(lab: Lab, edgectl: Command, asked: str, version: str) -> None:
    directory = lab(cluster_version=f'"{asked}"')
    answer = edgectl("lock", str(directory))
    assert answer.code == 0, answer.err
    assert locked(directory)["locked"] == {"k3s": {"asked": asked, "version": version}}


@pytest.mark.parametrize(("asked", "version"), [("stable", "v1.35.4"), ("1.34", "v1.34.6"), ("1.34.6", "v1.34.6")])
def test_what_is_asked_of_kubernetes_becomes_a_release(lab: Lab, edgectl: Command, asked: str, version: str) -> None:
    directory = lab("kubeadm", cluster_version=f'"{asked}"')
    assert edgectl("lock", str(directory)).code == 0
    assert locked(directory)["locked"] == {"kubernetes": {"asked": asked, "version": version}}
    names = [(one["name"], one["arch"]) for one in locked(directory)["files"] if one["kind"] == "binary"]
    assert names == [(name, arch) for name in ("kubeadm", "kubectl", "kubelet") for arch in ("amd64", "arm64")]
    images = [one for one in locked(directory)["files"] if one["kind"] == "image"]
    assert [one["images"][0].removeprefix("registry.k8s.io/") for one in images if one["arch"] == "arm64"] == [
        "coredns/coredns:v1.13.1",
        "etcd:3.6.6-0",
        *(
            f"{name}:{version}"
            for name in ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler")
        ),
        "pause:3.10.1",
    ]
    assert all(one["url"].endswith(f"/manifests/sha256:{one['sha256']}") for one in images)


def test_the_newest_of_k3s_own_releases_is_taken_and_the_first_may_be_gone(
    lab: Lab, edgectl: Command, upstreams: Upstreams
) -> None:
    upstreams.k3s("v1.34.7+k3s2", channel="v1.34")
    upstreams.k3s("v1.34.7+k3s3", channel="v1.34")
    directory = lab(cluster_version='"1.34.7"')
    assert edgectl("lock", str(directory)).code == 0
    assert locked(directory)["locked"]["k3s"]["version"] == "v1.34.7+k3s3"


def test_each_file_has_its_address_upstream_its_size_and_the_checksum_that_upstream_publishes(
    lab: Lab, edgectl: Command, upstreams: Upstreams
) -> None:
    directory = lab(cluster_version="stable")
    edgectl("lock", str(directory))
    files = {(one["kind"], one["arch"]): one for one in locked(directory)["files"]}
    assert sorted(files) == [("binary", "amd64"), ("binary", "arm64"), ("images", "amd64"), ("images", "arm64")]
    program = files["binary", "arm64"]
    content = upstreams.files["github.com/k3s-io/k3s/releases/download/v1.35.4+k3s1/k3s-arm64"]
    # The mirror is how it is reached today, and no part of what is meant.
    assert program["url"] == "https://github.com/k3s-io/k3s/releases/download/v1.35.4%2Bk3s1/k3s-arm64"
    assert (program["sha256"], program["size"]) == (sha256(content), len(content))
    assert files["images", "amd64"]["images"] == ["docker.io/rancher/mirrored-pause:3.6"]
    assert files["images", "amd64"]["path"].endswith(".tar.zst")


def test_what_is_locked_stays_without_asking_anybody_until_it_is_upgraded(
    lab: Lab, edgectl: Command, upstreams: Upstreams
) -> None:
    directory = lab(cluster_version="stable")
    edgectl("lock", str(directory))
    upstreams.k3s("v1.35.5+k3s1", channel="stable", minor="v1.35")
    upstreams.asked.clear()
    answer = edgectl("lock", str(directory))
    assert (answer.code, upstreams.asked) == (0, [])
    assert "nothing moved (k3s v1.35.4+k3s1)" in answer.out

    checked = edgectl("lock", str(directory), "--upgrade", "--check")
    assert checked.code == 3
    assert "not written, because of --check" in checked.out
    assert locked(directory)["locked"]["k3s"]["version"] == "v1.35.4+k3s1"

    moved = edgectl("lock", str(directory), "--upgrade")
    assert moved.code == 0
    assert [line.split() for line in moved.out.splitlines()[:2]] == [
        ["NAME", "ASKED", "FOR", "WAS", "IS", "NOW"],
        ["k3s", "stable", "v1.35.4+k3s1", "v1.35.5+k3s1"],
    ]
    assert locked(directory)["locked"]["k3s"]["version"] == "v1.35.5+k3s1"
    assert edgectl("lock", str(directory), "--upgrade", "--check").code == 0


@pytest.mark.parametrize("narrower", ["1.35", "v1.35", "1.35.4", "1.35.4+k3s1"])
def test_a_wish_that_what_is_locked_fulfils_moves_nothing(lab: Lab, edgectl: Command, narrower: str) -> None:
    edgectl("lock", str(lab(cluster_version="stable")))
    directory = lab(cluster_version=f'"{narrower}"')
    assert edgectl("lock", str(directory)).code == 0
    assert locked(directory)["locked"] == {"k3s": {"asked": narrower, "version": "v1.35.4+k3s1"}}


def test_another_wish_is_resolved_anew(lab: Lab, edgectl: Command) -> None:
    edgectl("lock", str(lab(cluster_version="stable")))
    directory = lab(cluster_version='"1.34"')
    assert "v1.34.6+k3s1" in edgectl("lock", str(directory)).out
    directory = lab("kubeadm", cluster_version='"1.34"')
    edgectl("lock", str(directory))
    assert list(locked(directory)["locked"]) == ["kubernetes"]
    assert {one["version"] for one in locked(directory)["files"]} == {"v1.34.6"}


def test_helm_and_the_chart_are_locked_where_they_are_wanted(lab: Lab, edgectl: Command) -> None:
    directory = lab(cluster_version="stable", device_plugin_install="chart")
    assert edgectl("lock", str(directory)).code == 0
    found = locked(directory)
    assert found["locked"]["helm"] == {"asked": "3", "version": "v3.22.0"}
    assert found["locked"]["nvidia-device-plugin-chart"] == {"asked": "0.20.0", "version": "0.20.0"}
    [chart] = [one for one in found["files"] if one["kind"] == "chart"]
    assert chart["sha256"] == sha256(b"chart 0.20.0")


@pytest.mark.parametrize(
    ("distribution", "asked", "what"),
    [
        ("kubeadm", "latest", "cluster_version is 'latest'"),
        ("kubeadm", '"1.35.4+k3s1"', "cluster_version is '1.35.4+k3s1'"),
        ("k3s", "newest", "cluster_version is 'newest'"),
        ("k3s", "1.35", "cluster_version is 1.35"),
        ("eks", "stable", "cluster_distribution is eks"),
    ],
)
def test_what_cannot_be_asked_for_is_named_with_its_file_and_line(
    lab: Lab, edgectl: Command, distribution: str, asked: str, what: str
) -> None:
    directory = lab(distribution, cluster_version=asked)
    answer = edgectl("lock", str(directory))
    assert answer.code == 2
    assert what in answer.err
    assert f"{directory}/group_vars/all.yml:" in answer.err
    assert not (directory / ".edgectl").exists()


def test_a_channel_or_release_that_upstream_does_not_have_is_refused(lab: Lab, edgectl: Command) -> None:
    unknown = edgectl("lock", str(lab(cluster_version="latest")))
    assert (unknown.code, "k3s has no channel latest" in unknown.err, "stable" in unknown.err) == (2, True, True)
    assert "k3s has no release of Kubernetes 1.35.9" in edgectl("lock", str(lab(cluster_version='"1.35.9"'))).err
    absent = edgectl("lock", str(lab("kubeadm", cluster_version='"1.35.9"')))
    assert (absent.code, "Kubernetes has no release 1.35.9" in absent.err) == (2, True)


def test_a_release_that_edgectl_does_not_know_is_refused(lab: Lab, edgectl: Command, upstreams: Upstreams) -> None:
    upstreams.k3s("v1.99.0+k3s1", channel="stable")
    answer = edgectl("lock", str(lab(cluster_version="stable")))
    assert answer.code == 2
    assert f'set cluster_version: "{known_minors()[-1]}"' in answer.err


def test_an_upstream_out_of_reach_leaves_the_old_lock_as_it_was(lab: Lab, edgectl: Command) -> None:
    directory = lab(cluster_version="stable")
    edgectl("lock", str(directory))
    before = (directory / ".edgectl" / "artifacts.lock.yml").read_bytes()
    lab(cluster_version="stable", cluster_artifacts_mirror="http://127.0.0.1:1")
    answer = edgectl("lock", str(directory), "--upgrade")
    assert answer.code == 1
    assert "cannot fetch http://127.0.0.1:1/update.k3s.io/v1-release/channels" in answer.err
    assert "Connection refused" in answer.err
    assert "Traceback" not in answer.err
    assert (directory / ".edgectl" / "artifacts.lock.yml").read_bytes() == before
    assert [one.name for one in (directory / ".edgectl").iterdir()] == ["artifacts.lock.yml"]


def test_other_bytes_under_the_name_of_a_release_are_refused(lab: Lab, edgectl: Command, upstreams: Upstreams) -> None:
    directory = lab(cluster_version="stable")
    edgectl("lock", str(directory))
    sums = "github.com/k3s-io/k3s/releases/download/v1.35.4+k3s1/sha256sum-amd64.txt"
    lines = upstreams.files[sums].decode().splitlines(keepends=True)
    upstreams.files[sums] = "".join(f"{'0' * 64}  k3s\n" if one.endswith(" k3s\n") else one for one in lines).encode()
    answer = edgectl("lock", str(directory), "--upgrade")
    assert answer.code == 1
    assert "is not the file any more that the lock names" in answer.err


def test_another_image_under_the_same_tag_is_refused(lab: Lab, edgectl: Command, upstreams: Upstreams) -> None:
    directory = lab("kubeadm", cluster_version='"1.35"')
    edgectl("lock", str(directory))
    upstreams.image("etcd", "3.6.6-0", layer=b"another")
    answer = edgectl("lock", str(directory), "--upgrade")
    assert (answer.code, "is not the file any more that the lock names" in answer.err) == (1, True)


def test_checksums_without_the_file_are_no_checksums(lab: Lab, edgectl: Command, upstreams: Upstreams) -> None:
    directory = lab(cluster_version="stable")
    sums = "github.com/k3s-io/k3s/releases/download/v1.35.4+k3s1/sha256sum-arm64.txt"
    upstreams.files[sums] = b"<html>not what you are looking for</html>\n"
    answer = edgectl("lock", str(directory))
    assert (answer.code, "has no sha256 of k3s-arm64" in answer.err) == (1, True)
    assert not (directory / ".edgectl").exists()


def test_a_damaged_lock_is_named(lab: Lab, edgectl: Command) -> None:
    directory = lab(cluster_version="stable")
    file = directory / ".edgectl" / "artifacts.lock.yml"
    file.parent.mkdir()
    for text in ("locked: [", "schema_version: 1\n", 'schema_version: 1\nlocked: {}\nfiles: [{path: "../x"}]\n'):
        file.write_text(text)
        answer = edgectl("lock", str(directory))
        assert answer.code == 2
        assert f"git checkout -- {file}" in answer.err


def test_a_redirect_to_a_connection_that_anybody_may_read_is_refused() -> None:
    import urllib.request

    fetch = content.module_util("edgectl_fetch")
    request = urllib.request.Request("https://dl.k8s.io/release/stable.txt")
    with pytest.raises(fetch.FetchError, match="not encrypted"):
        fetch._KeepEncrypted().redirect_request(request, None, 302, "Found", {}, "http://dl.k8s.io/release/stable.txt")
