"""`edgectl config show` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import yaml

from .conftest import Answer

Edgectl = Callable[..., Answer]


def test_what_all_hosts_share_is_shown_once_and_the_whole_is_yaml(edgectl: Edgectl, inventory: Path) -> None:
    answer = edgectl("config", "show", inventory)
    assert (answer.code, answer.err) == (0, "")
    shown = yaml.safe_load(answer.out)
    assert list(shown) == ["all hosts", "nuc1", "nuc2", "orin1"]
    assert shown["all hosts"]["cluster_name"] == "attic"
    assert shown["all hosts"]["cluster_version"] == "1.35.4"
    assert shown["orin1"] == {"ansible_host": "10.0.0.3", "cluster_lan_address": "10.0.0.3"}


def test_origins_name_file_and_line_or_role_and_the_whole_is_still_yaml(edgectl: Edgectl, inventory: Path) -> None:
    answer = edgectl("config", "show", inventory, "--origin", "--host", "orin1")
    assert f"  # {inventory}/hosts.yml:7\n  cluster_name: attic\n" in answer.out
    assert "  cluster_wireguard: true  # default of role cluster\n" in answer.out
    assert yaml.safe_load(answer.out) == yaml.safe_load(edgectl("config", "show", inventory, "--host", "orin1").out)


def test_json_has_every_option_of_every_host_with_its_origin(edgectl: Edgectl, inventory: Path) -> None:
    document = json.loads(edgectl("config", "show", inventory, "--json").out)
    assert (document["schema_version"], document["kind"]) == (1, "config")
    assert list(document["hosts"]) == ["nuc1", "nuc2", "orin1"]
    options = document["hosts"]["nuc2"]
    assert options["wireguard_port"]["value"] == 51871
    assert options["wireguard_port"]["origin"] == {"kind": "default", "role": "wireguard", "file": None, "line": None}
    assert options["cluster_name"]["origin"]["file"] == str(inventory / "hosts.yml")


def test_a_host_that_is_not_there_is_answered_with_the_nearest(edgectl: Edgectl, inventory: Path) -> None:
    answer = edgectl("config", "show", inventory, "--host", "orin")
    assert answer.code == 2
    assert "did you mean orin1?" in answer.err


def test_passwords_are_masked(edgectl: Edgectl, inventory: Path) -> None:
    (inventory / "group_vars").mkdir()
    (inventory / "group_vars" / "all.yml").write_text("ansible_become_password: hunter2\n")
    for arguments in ([], ["--json"]):
        answer = edgectl("config", "show", inventory, *arguments)
        assert "********" in answer.out
        assert "hunter2" not in answer.out + answer.err
