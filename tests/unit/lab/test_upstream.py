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
def release(tmp_path, monkeypatch):
    directory = tmp_path / "v1" / "bin" / "linux" / "amd64"
    directory.mkdir(parents=True)
    (directory / "kubeadm").write_bytes(b"program")
    (directory / "kubeadm.sha256").write_text(hashlib.sha256(b"program").hexdigest() + "\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(upstream, "RELEASE", f"http://127.0.0.1:{server.server_port}")
    yield directory
    server.shutdown()
    server.server_close()


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
