"""What an inventory with a lock comes to: for its rules, for the roles, and for what depends on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from edgectl.inventory import read
from tests.unit.ansible_playbook import output, said, say

from .server import Upstreams, sha256

Lab = Callable[..., Path]
Command = Callable[..., Any]
PROGRAM = "github.com/k3s-io/k3s/releases/download/v1.35.4+k3s1/k3s"
PLAY: dict[str, Any] = {
    "hosts": "all",
    "gather_facts": False,
    # Their options are visible; the tasks of role k3s do not run.
    "roles": [{"role": "cluster"}, {"role": "k3s", "when": False}],
}
FACTS: dict[str, Any] = {
    "ansible.builtin.set_fact": {"ansible_facts": {"edgectl": {"kernel": {"arch": "{{ arch | default('x86_64') }}"}}}}
}


@pytest.mark.parametrize("kind", ["k3s", "kubeadm"])
def test_a_minor_takes_a_lock_and_then_is_as_good_as_a_release(lab: Lab, edgectl: Command, kind: str) -> None:
    directory = lab(kind, cluster_version='"1.34"')
    before = edgectl("validate", str(directory))
    assert before.code == 2
    assert f"{directory}/group_vars/all.yml:3: cluster_version 1.34 is not locked" in before.err
    assert f"edgectl lock {directory}" in before.err
    edgectl("lock", str(directory))
    assert edgectl("validate", str(directory)).code == 0
    lab(kind, cluster_version='"1.35"')
    after = edgectl("validate", str(directory))
    assert (after.code, "the lock has v1.34.6" in after.err) == (2, True)


def test_kubernetes_latest_stays_refused(lab: Lab, edgectl: Command) -> None:
    answer = edgectl("validate", str(lab("kubeadm", cluster_version="latest")))
    assert (answer.code, "cluster_version is 'latest'" in answer.err) == (2, True)


def test_the_package_repository_follows_what_is_locked(lab: Lab, edgectl: Command) -> None:
    directory = lab("kubeadm", cluster_version='"1.34"')
    edgectl("lock", str(directory))
    repository = read(directory).host("nuc1").option("kubeadm_repository")
    assert repository == "https://pkgs.k8s.io/core:/stable:/v1.34/deb/"


def test_roles_see_the_release_and_the_files_for_their_host(
    lab: Lab, edgectl: Command, upstreams: Upstreams, tmp_path: Path
) -> None:
    directory = lab(cluster_version="stable")
    edgectl("lock", str(directory))
    seen = (
        "[__cluster_release, __cluster_artifacts | map(attribute='url') | sort, __cluster_artifacts_place,"
        " __k3s_images | default('')]"
    )
    artifacts = content.root() / "roles" / "k3s" / "tasks" / "artifacts.yml"
    # The first one decides; those that change a host are left out.
    tasks = [FACTS, yaml.safe_load(artifacts.read_text())[0], say(seen)]
    found = said(directory, [{**PLAY, "tasks": tasks}], "-e", "arch=aarch64", XDG_CACHE_HOME=str(tmp_path / "cache"))
    base = f"{upstreams.url}/github.com/k3s-io/k3s/releases/download/v1.35.4%2Bk3s1"
    assert found[0] == [
        "1.35.4",
        [f"{base}/k3s-airgap-images-arm64.tar.zst", f"{base}/k3s-arm64"],
        str(tmp_path / "cache" / "edgectl" / "artifacts"),
        "/var/lib/rancher/k3s/agent/images/k3s-airgap-images-arm64.tar.zst",
    ]


def test_without_a_lock_a_role_says_what_to_run(lab: Lab) -> None:
    directory = lab(cluster_version="stable")
    with pytest.raises(AssertionError, match="no lock says which release that is: edgectl lock"):
        said(directory, [{**PLAY, "tasks": [say("__cluster_release")]}])


@pytest.mark.skipif(os.geteuid() != 0, reason="the module gives its files to root")
def test_hosts_that_lack_a_file_get_it_and_it_is_fetched_once(lab: Lab, upstreams: Upstreams, tmp_path: Path) -> None:
    directory, digest = lab(), sha256(upstreams.files[PROGRAM])
    task = {
        "edgectl_artifact": {
            "files": [
                {
                    "src": str(tmp_path / "cache" / "k3s"),
                    "url": f"{upstreams.url}/{PROGRAM}",
                    "dest": f"{tmp_path}/{{{{ inventory_hostname }}}}",
                    "sha256": digest,
                    "mode": "0755",
                }
            ]
        }
    }
    python = {"ansible_python_interpreter": sys.executable}
    play = {"hosts": "all", "gather_facts": False, "connection": "local", "vars": python, "tasks": [task]}
    assert output(directory, [play]).count("changed=1 ") == 2
    assert [sha256((tmp_path / name).read_bytes()) for name in ("nuc1", "orin1")] == [digest, digest]
    (tmp_path / "cache" / "k3s").unlink()
    assert output(directory, [play]).count("changed=0 ") == 2
    assert upstreams.paths() == [PROGRAM]


def test_another_lock_is_another_inventory(lab: Lab, edgectl: Command, upstreams: Upstreams) -> None:
    digest = content.module_util("edgectl_inputs").inventory_digest
    directory = lab(cluster_version="stable")
    seen = [digest(directory, with_state=False)]
    edgectl("lock", str(directory))
    seen.append(digest(directory, with_state=False))
    upstreams.k3s("v1.35.5+k3s1", channel="stable")
    edgectl("lock", str(directory), "--upgrade")
    seen.append(digest(directory, with_state=False))
    assert len(set(seen)) == 3
