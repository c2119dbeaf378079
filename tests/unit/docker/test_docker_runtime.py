"""Module edgectl_docker_runtime, with a Docker that reads daemon.json as moby's daemon/reload_unix.go does."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

MODULE = plugin("modules/edgectl_docker_runtime.py")

SYSTEMCTL = """#!/bin/sh
cd "$(dirname "$0")" || exit
case "$1" in
  is-active) [ -e active ] ;;
  show) cat exec-start ;;
  reload) echo "$*" >> reloads ;;
esac
"""
DOCKERD = """#!/bin/sh
case "$1" in
  --help) echo "      --validate   Validate daemon configuration and exit" ;;
  --validate) grep -q forbidden "$3" && { echo "unable to configure: forbidden" >&2; exit 1; }; exit 0 ;;
esac
"""
THEIRS = """{
  "log-driver": "journald",
    "runtimes": {"crun": {"path": "/usr/bin/crun"}},
  "insecure-registries": ["mirror.example:5000"]
}"""


class Docker:
    """A host with Docker: its programs, its files, and what the running one knows."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.programs, self.capsys = directory / "bin", capsys
        self.file = directory / "etc" / "docker" / "daemon.json"
        self.record, self.socket = directory / "record" / "docker.json", directory / "docker.sock"
        self.programs.mkdir()
        (directory / "etc").mkdir()
        self.binary = self.program("nvidia-container-runtime", "#!/bin/sh\n")
        self.program("systemctl", SYSTEMCTL)
        self.flags("-H fd:// --containerd=/run/containerd/containerd.sock")
        (self.programs / "active").touch()
        self.knows: dict[str, Any] = {"Runtimes": {"runc": {"path": "runc"}}, "DefaultRuntime": "runc"}
        self.is_deaf = False
        self._reloads_seen = 0

    def program(self, name: str, text: str) -> str:
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def flags(self, flags: str) -> None:
        (self.programs / "exec-start").write_text(f"{{ path=/usr/bin/dockerd ; argv[]=/usr/bin/dockerd {flags} ; }}\n")

    @property
    def reloads(self) -> int:
        said = self.programs / "reloads"
        return len(said.read_text().splitlines()) if said.exists() else 0

    def info(self) -> dict[str, Any]:
        if self.reloads > self._reloads_seen and not self.is_deaf:
            self._reloads_seen = self.reloads
            document = json.loads(self.file.read_text()) if self.file.exists() else {}
            if "runtimes" in document:
                self.knows["Runtimes"] = {"runc": {"path": "runc"}, **document["runtimes"]}
            self.knows["DefaultRuntime"] = document.get("default-runtime") or self.knows["DefaultRuntime"]
        return self.knows

    def run(self, *, check: bool = False, **options: Any) -> dict[str, Any]:
        arguments = {
            "binary": self.binary,
            "path": str(self.file),
            "record": str(self.record),
            "socket": str(self.socket),
            "_ansible_check_mode": check,
            **options,
        }
        with patch_module_args(arguments), pytest.raises(SystemExit):
            MODULE.main()
        answer: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return answer

    def write(self, text: str) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_bytes(text.encode())

    @property
    def document(self) -> Any:
        return json.loads(self.file.read_text())


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Docker]:
    host = Docker(tmp_path, capsys)
    monkeypatch.setenv("PATH", str(host.programs), prepend=":")
    monkeypatch.setattr(MODULE, "PATIENCE_S", 1.0)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(host.info()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "socket"

        def log_message(self, *_: Any) -> None:
            pass

    with socketserver.ThreadingUnixStreamServer(str(host.socket), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield host
        server.shutdown()
        thread.join()


def test_the_runtime_comes_beside_what_others_have_set_and_goes_without_a_trace(docker: Docker) -> None:
    docker.write(THEIRS)
    assert docker.run()["changed"]
    assert docker.document == {
        "log-driver": "journald",
        "runtimes": {"crun": {"path": "/usr/bin/crun"}, "nvidia": {"path": docker.binary, "args": []}},
        "insecure-registries": ["mirror.example:5000"],
    }
    assert docker.knows["Runtimes"]["nvidia"]["path"] == docker.binary
    assert docker.knows["DefaultRuntime"] == "runc"
    again = docker.run()
    assert not again["changed"]
    assert docker.reloads == 1
    assert docker.run(state="absent")["changed"]
    assert docker.file.read_text() == THEIRS, "byte for byte"
    assert "nvidia" not in docker.knows["Runtimes"]
    assert not docker.record.exists()
    assert not docker.run(state="absent")["changed"]


def test_a_file_that_was_not_there_goes_again_and_the_running_docker_forgets_the_runtime(docker: Docker) -> None:
    docker.run(default=True)
    assert docker.knows["DefaultRuntime"] == "nvidia"
    docker.run(state="absent")
    assert not docker.file.parent.exists()
    # moby would keep both on a reload of a file without these keys.
    assert docker.knows == {"Runtimes": {"runc": {"path": "runc"}}, "DefaultRuntime": "runc"}


def test_it_is_the_default_only_while_that_is_asked_for(docker: Docker) -> None:
    docker.write('{\n\t"default-runtime": "crun",\n\t"runtimes": {"crun": {"path": "/usr/bin/crun"}}\n}\n')
    docker.run(default=True)
    assert docker.document["default-runtime"] == "nvidia"
    assert '\n\t"default-runtime"' in docker.file.read_text(), "their indentation"
    assert docker.run(default=False)["changed"]
    assert docker.document["default-runtime"] == "crun"
    assert docker.knows["DefaultRuntime"] == "crun"


def test_the_running_docker_has_its_own_default_again_where_the_file_names_none(docker: Docker) -> None:
    docker.run(default=True)
    assert docker.knows["DefaultRuntime"] == "nvidia"
    docker.run(default=False)
    assert docker.knows["DefaultRuntime"] == "runc"
    assert list(docker.document) == ["runtimes"]
    assert not docker.run(default=False)["changed"]


def test_a_default_runtime_that_a_flag_sets_is_not_touched(docker: Docker) -> None:
    docker.flags("-H fd:// --default-runtime=crun")
    docker.knows["DefaultRuntime"] = "crun"
    docker.run()
    docker.run(state="absent")
    assert docker.knows == {"Runtimes": {"runc": {"path": "runc"}}, "DefaultRuntime": "crun"}
    assert "--default-runtime" in docker.run(default=True)["msg"]


def test_what_somebody_has_edited_since_stays_theirs(docker: Docker) -> None:
    docker.write(THEIRS)
    docker.run(default=True)
    docker.write(json.dumps({**docker.document, "default-runtime": "crun", "debug": True}))
    docker.knows["DefaultRuntime"] = "crun"
    assert docker.run()["changed"] is False
    docker.run(state="absent")
    assert docker.document == {**json.loads(THEIRS), "default-runtime": "crun", "debug": True}


def test_a_runtime_of_somebody_else_is_kept_where_it_is_the_same_program(docker: Docker) -> None:
    text = '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}}}'
    docker.write(text)
    docker.knows["Runtimes"]["nvidia"] = {"path": "nvidia-container-runtime"}
    answer = docker.run()
    assert (answer["changed"], answer["adopted"]) == (False, True)
    assert not docker.run(state="absent")["changed"]
    assert docker.file.read_text() == text


def test_a_runtime_of_that_name_with_another_program_stops_it(docker: Docker) -> None:
    text = '{"runtimes": {"nvidia": {"path": "/opt/other"}}}'
    docker.write(text)
    answer = docker.run()
    assert str(docker.file) in answer["msg"]
    assert "/opt/other" in answer["msg"]
    assert docker.file.read_text() == text


def test_flags_that_forbid_the_key_stop_it_before_docker_would_not_start_again(docker: Docker) -> None:
    docker.flags("-H fd:// --add-runtime crun=/usr/bin/crun")
    assert "--add-runtime" in docker.run()["msg"]
    assert not docker.file.exists()


def test_a_runtime_that_a_flag_names_is_somebody_elses(docker: Docker) -> None:
    docker.flags(f"-H fd:// --add-runtime=nvidia={docker.binary}")
    docker.knows["Runtimes"]["nvidia"] = {"path": docker.binary}
    assert docker.run()["adopted"]
    assert not docker.file.exists()


def test_what_docker_itself_refuses_never_gets_its_place(docker: Docker) -> None:
    docker.program("dockerd", DOCKERD)
    docker.write('{"forbidden": true}')
    assert "unable to configure: forbidden" in docker.run()["msg"]
    assert docker.file.read_text() == '{"forbidden": true}'


def test_what_the_running_docker_does_not_take_over_is_put_back(docker: Docker) -> None:
    docker.write(THEIRS)
    docker.is_deaf = True
    assert "did not take it over" in docker.run()["msg"]
    assert docker.file.read_text() == THEIRS
    assert not docker.record.exists()
    docker.is_deaf = False
    docker.run()
    ours = docker.file.read_text()
    docker.is_deaf = True
    assert "did not take it over" in docker.run(default=True)["msg"]
    assert docker.file.read_text() == ours
    docker.is_deaf = False
    docker.run(state="absent")
    assert docker.file.read_text() == THEIRS


@pytest.mark.parametrize("text", ["{", "[]", '{"runtimes": []}', "\udcff"])
def test_a_file_that_is_no_configuration_is_named_and_left_alone(docker: Docker, text: str) -> None:
    docker.file.parent.mkdir()
    docker.file.write_bytes(text.encode("utf-8", "surrogateescape"))
    answer = docker.run()
    assert answer["failed"]
    assert str(docker.file) in answer["msg"]
    assert docker.file.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_run_that_was_killed_before_the_reload_is_made_good(docker: Docker) -> None:
    docker.run()
    del docker.knows["Runtimes"]["nvidia"]
    answer = docker.run()
    assert (answer["changed"], answer["reloaded"]) == (True, True)
    assert "nvidia" in docker.knows["Runtimes"]


def test_a_docker_that_does_not_run_is_not_woken(docker: Docker) -> None:
    (docker.programs / "active").unlink()
    assert docker.run()["changed"]
    assert "nvidia" in docker.document["runtimes"]
    assert docker.reloads == 0
    assert not docker.run()["changed"]


def test_a_dry_run_changes_nothing(docker: Docker) -> None:
    docker.write(THEIRS)
    assert docker.run(check=True)["changed"]
    assert docker.file.read_text() == THEIRS
    docker.run()
    assert docker.run(check=True, state="absent")["changed"]
    assert "nvidia" in docker.document["runtimes"]
    assert docker.reloads == 1
