"""Fetching a release's files, from a server of the test's own."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from edgectl.errors import EdgectlError
from edgectl.lab import upstream


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """Serves a directory over HTTP; gives its address."""
    servers = []

    def start(directory):
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(directory))))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def release(tmp_path, monkeypatch, serve):
    directory = tmp_path / "v1" / "bin" / "linux" / "amd64"
    directory.mkdir(parents=True)
    (directory / "kubeadm").write_bytes(b"program")
    (directory / "kubeadm.sha256").write_text(hashlib.sha256(b"program").hexdigest() + "\n")
    monkeypatch.setattr(upstream, "RELEASE", serve(tmp_path))
    return directory


def test_a_program_is_fetched_and_can_be_run(release, tmp_path):
    upstream.fetch_binary("kubeadm", "v1", "amd64", tmp_path / "kubeadm")
    assert (tmp_path / "kubeadm").read_bytes() == b"program"
    assert (tmp_path / "kubeadm").stat().st_mode & 0o111


def test_a_program_with_another_digest_leaves_nothing_behind(release, tmp_path):
    (release / "kubeadm").write_bytes(b"tampered")
    with pytest.raises(EdgectlError, match="not what upstream published"):
        upstream.fetch_binary("kubeadm", "v1", "amd64", tmp_path / "kubeadm")
    assert not list(tmp_path.glob("kubeadm*"))


def test_an_old_program_stays_when_the_new_one_cannot_be_fetched(release, tmp_path):
    (tmp_path / "kubeadm").write_bytes(b"old")
    (release / "kubeadm").unlink()
    with pytest.raises(EdgectlError, match="cannot fetch"):
        upstream.fetch_binary("kubeadm", "v1", "amd64", tmp_path / "kubeadm")
    assert (tmp_path / "kubeadm").read_bytes() == b"old"


def test_a_release_that_is_not_there_is_not_reachable(release):
    assert not upstream.reachable("v2", "amd64")


def test_the_files_of_k3s_are_fetched_with_the_digests_that_its_release_publishes(tmp_path, serve, monkeypatch):
    release = tmp_path / "upstream" / "v1.35.4+k3s1"
    release.mkdir(parents=True)
    program, archive = upstream.k3s_files("arm64")
    assert (program, archive) == ("k3s-arm64", "k3s-airgap-images-arm64.tar.zst")
    (release / program).write_bytes(b"program")
    digest = hashlib.sha256(b"program").hexdigest()
    (release / "sha256sum-arm64.txt").write_text(f"{digest}  {program}\n{digest}  {archive}\n")
    (release / "k3s-images.txt").write_text("docker.io/rancher/mirrored-pause:3.6\n")
    monkeypatch.setattr(upstream, "K3S", serve(tmp_path / "upstream"))
    assert upstream.k3s_digests("v1.35.4+k3s1", "arm64") == {program: digest, archive: digest}
    assert upstream.k3s_digests("v1.35.5+k3s1", "arm64") is None
    assert upstream.k3s_images("v1.35.4+k3s1") == ("docker.io/rancher/mirrored-pause:3.6",)
    upstream.fetch_k3s(program, "v1.35.4+k3s1", digest, tmp_path / "k3s")
    assert (tmp_path / "k3s").read_bytes() == b"program"
    (release / program).write_bytes(b"tampered")
    with pytest.raises(EdgectlError, match="not what upstream published"):
        upstream.fetch_k3s(program, "v1.35.4+k3s1", digest, tmp_path / "other")
    assert not (tmp_path / "other").exists()
