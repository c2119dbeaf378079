"""Options of a k3s that was there before: how they are read, what of them goes on, and the way back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[3] / "plugins" / "module_utils"))

import edgectl_k3s_found as k3s_found
from edgectl_probe import Host

from tests.unit.kubeadm.conftest import plugin


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("token: secret # a comment\n", [("token", ["secret"])]),
        ("tls-san:\n  - a\n  - 'b: c'\n", [("tls-san", ["a", "b: c"])]),
        ('tls-san:\n- a\n# between\n- "b#1"\n', [("tls-san", ["a", "b#1"])]),
        ("disable: [traefik, 'servicelb']\n", [("disable", ["traefik", "servicelb"])]),
        ("disable: []\n", [("disable", [""])]),
        ("secrets-encryption: yes\ndebug: False\n", [("secrets-encryption", ["true"]), ("debug", ["false"])]),
        # yaml.v2 reads an octal number, which is why k3s' documentation quotes it.
        ("write-kubeconfig-mode: 0644\n", [("write-kubeconfig-mode", ["420"])]),
        ('write-kubeconfig-mode: "0644"\n', [("write-kubeconfig-mode", ["0644"])]),
        ('"node-label+": ["a=b,c"]\n', [("node-label+", ["a=b,c"])]),
        ("---\n{}\n", []),
    ],
)
def test_the_flat_yaml_of_k3s_is_read(text: str, wanted: list[Any]) -> None:
    assert k3s_found.flat_yaml(text) == wanted


@pytest.mark.parametrize(
    "text", ["a:\n  b: c\n", "a: |\n  b\n", "a: &x 1\n", "a: {b: c}\n", "- a\n", "a: [b,\n  c]\n", "what is this\n"]
)
def test_yaml_that_is_more_than_that_is_refused_and_not_guessed(text: str) -> None:
    with pytest.raises(k3s_found.Unreadable, match=r"file, line \d is not understood"):
        k3s_found.flat_yaml(text, "file")


def tree(root: Path, arguments: str, config: str = "", more: dict[str, str] | None = None) -> Host:
    environment = "Environment=HTTP_PROXY=http://p\nEnvironmentFile=-/etc/default/%N"
    unit = f"[Service]\n{environment}\nExecStart=/usr/local/bin/k3s {arguments}\n"
    files = {
        "etc/systemd/system/k3s.service": unit,
        "etc/rancher/k3s/config.yaml": config,
        **(more or {}),
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return Host(str(root))


def test_arguments_are_stronger_than_files_and_lists_grow(tmp_path: Path) -> None:
    host = tree(tmp_path, "server -t word --node-ip=1 --debug --tls-san b", "token: file\ntls-san: a\n")
    found = k3s_found.options(host)
    assert (found.problems, found.role, found.one("token"), found.on("debug")) == ([], "server", "word", True)
    assert found.values["tls-san"] == ["a", "b"]
    assert found.environment_lines == ["Environment=HTTP_PROXY=http://p", "EnvironmentFile=-/etc/default/%N"]


@pytest.mark.parametrize(
    ("arguments", "more", "problem"),
    [
        ("server --node-name $HOSTNAME", {}, "that systemd fills in"),
        ("server words", {}, "words is no option"),
        ("agent", {}, "does not run `k3s server`"),
        ("server", {"etc/default/k3s": "K3S_CONFIG_FILE=/srv/k3s.yaml\n"}, "K3S_CONFIG_FILE in /etc/default/k3s"),
        ("server --config https://example.org/k3s.yaml", {}, "which is no file"),
        (
            "server",
            {"etc/systemd/system/k3s.service.d/own.conf": "[Service]\nExecStart=\nExecStart=/bin/true\n"},
            "own.conf starts k3s in its own way",
        ),
    ],
)
def test_what_cannot_be_understood_for_certain_is_a_problem(
    tmp_path: Path, arguments: str, more: dict[str, str], problem: str
) -> None:
    [said] = k3s_found.options(tree(tmp_path, arguments, "", more)).problems
    assert problem in said


def test_options_that_edgectl_writes_replace_theirs_and_all_others_go_on(tmp_path: Path) -> None:
    config = (
        "token: secret\nnode-ip: 192.0.2.1\ntls-san: [ours.example, theirs.example]\nkubelet-arg: [max-pods=40, v=2]\n"
    )
    more = {"etc/rancher/k3s/config.yaml.d/own.yaml": "disable-network-policy: true\nnode-name: nuc1\n"}
    found = k3s_found.options(tree(tmp_path, "server", config, more))
    ours = {"node-ip": "10.200.0.1", "node-name": "nuc1", "tls-san": ["ours.example"], "token-file": "/f"}
    kept, replaced = k3s_found.carried(found, ours, ["disable-network-policy"])
    assert kept == {"tls-san+": ["theirs.example"], "kubelet-arg": ["max-pods=40", "v=2"]}
    assert replaced == ["disable-network-policy", "node-ip", "node-name", "token"]
    assert k3s_found.carried(found, {}, [])[0]["token"] == ["secret"]


def test_variables_of_the_stand_in_and_of_the_probe_are_the_same() -> None:
    keys = yaml.safe_load((Path(__file__).parents[3] / "lab" / "k3s" / "keys.yml").read_text())
    assert keys["environment"].items() <= k3s_found.VARIABLES.items()


class Ended(Exception):
    """What a module answers."""


class Task:
    """As much of AnsibleModule as the module asks for."""

    check_mode = False

    def __init__(self, **params: Any) -> None:
        self.params = {"options": {}, "managed": [], "paths": [], **params}

    def exit_json(self, **answer: Any) -> None:
        raise Ended(answer)

    fail_json = exit_json


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, for a host whose files lie in a directory."""
    found = plugin("modules/edgectl_k3s_adopt.py")
    monkeypatch.setattr(found.edgectl_k3s_found, "CONFIG", str(tmp_path / "etc/rancher/k3s/config.yaml"))
    units = {"server": str(tmp_path / "etc/systemd/system/k3s.service")}
    monkeypatch.setattr(found.edgectl_k3s_found, "UNIT_FILES", units)
    monkeypatch.setattr(found, "OPTIONS", str(tmp_path / "etc/rancher/k3s/config.yaml.d/10-adopted.yaml"))
    monkeypatch.setattr(found, "KEPT", str(tmp_path / "adopted/files"))
    monkeypatch.setattr(found, "K3S_ADOPTED", str(tmp_path / "adopted/k3s.json"))
    monkeypatch.setattr(found, "foreign_k3s", lambda _host: {"unit": units["server"]})
    return found


def done(act: Callable[[Any], None], **params: Any) -> dict[str, Any]:
    with pytest.raises(Ended) as ended:
        act(Task(**params))
    answer: dict[str, Any] = ended.value.args[0]
    return answer


def files(root: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(root)): (path.read_text(), path.stat().st_mode & 0o777)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_what_was_found_comes_back_exactly_and_nothing_stays_beside_it(module: ModuleType, tmp_path: Path) -> None:
    more = {"etc/rancher/k3s/config.yaml.d/own.yaml": "debug: true\n"}
    tree(tmp_path, "server --token secret", "node-ip: 192.0.2.1\n", more)
    before = files(tmp_path)
    ours = tmp_path / "etc/rancher/k3s/agent-token"
    answer = done(module.adopt, options={"node-ip": "10.200.0.1"}, paths=[str(ours)])
    assert (answer["kept"], answer["replaced"]) == (["debug", "token"], ["node-ip"])
    for path in (ours, tmp_path / "etc/rancher/k3s/config.yaml", tmp_path / "etc/systemd/system/k3s.service"):
        path.write_text("edgectl's")
    (tmp_path / "etc/rancher/k3s").chmod(0o700)
    done(module.give_back)
    assert {name: file for name, file in files(tmp_path).items() if not name.startswith("adopted")} == before
    assert not (tmp_path / "etc/systemd/system/k3s.service.d").exists()
    assert (tmp_path / "etc/rancher/k3s").stat().st_mode & 0o777 == 0o755


def test_an_agent_without_a_configuration_gets_no_directory_for_it(module: ModuleType, tmp_path: Path) -> None:
    tree(tmp_path, "server")
    (tmp_path / "etc/rancher/k3s/config.yaml").unlink()
    (tmp_path / "etc/rancher/k3s").rmdir()
    ours = tmp_path / "etc/rancher/k3s/agent-token"
    done(module.adopt, options={}, paths=[str(ours)])
    for path in (ours, tmp_path / "etc/rancher/k3s/config.yaml"):
        path.write_text("edgectl's")
    done(module.give_back)
    assert not (tmp_path / "etc/rancher/k3s").exists()
    assert (tmp_path / "etc/systemd/system/k3s.service").exists()


def test_options_that_go_on_are_read_from_the_copies_in_a_later_run(module: ModuleType, tmp_path: Path) -> None:
    tree(tmp_path, "server --token secret", "disable: [traefik]\n")
    first = done(module.adopt, options={"node-ip": "10.200.0.1"})
    assert first["changed"]
    options = tmp_path / "etc/rancher/k3s/config.yaml.d/10-adopted.yaml"
    assert yaml.safe_load(options.read_text()) == {"disable": ["traefik"], "token": ["secret"]}
    assert options.stat().st_mode & 0o777 == 0o600
    # What role k3s writes after it.
    (tmp_path / "etc/rancher/k3s/config.yaml").write_text("node-ip: 10.200.0.1\n")
    (tmp_path / "etc/systemd/system/k3s.service").write_text("[Service]\nExecStart=/usr/local/bin/k3s server\n")
    assert done(module.adopt, options={"node-ip": "10.200.0.1"})["changed"] is False
    # edgectl is now asked to disable something itself: theirs is added to it.
    assert done(module.adopt, options={"disable": ["servicelb"]})["changed"]
    assert yaml.safe_load(options.read_text()) == {"disable+": ["traefik"], "token": ["secret"]}


def test_a_token_never_stands_in_the_answer_or_the_record(module: ModuleType, tmp_path: Path) -> None:
    tree(tmp_path, "server --token secret-word")
    assert "secret-word" not in str(done(module.adopt))
    assert "secret-word" not in (tmp_path / "adopted/k3s.json").read_text()
