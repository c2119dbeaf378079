"""`edgectl kubeconfig`: what it prints, what a merge touches and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl.cluster import api_server, kubeconfig
from edgectl.cluster.api_server import Address
from edgectl.errors import EdgectlError
from tests.unit.cli.conftest import Answer

from . import pki

Edgectl = Callable[..., Answer]
ENDPOINT = "api.attic.internal"
OTHER = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "work", "cluster": {"server": "https://work:443", "certificate-authority-data": "d29yaw=="}}],
    "users": [{"name": "work", "user": {"token": "t"}}],
    "contexts": [{"name": "work", "context": {"cluster": "work", "user": "work", "namespace": "mine"}}],
    "current-context": "work",
    "preferences": {"colors": True},
}


@pytest.fixture(scope="module")
def ca() -> pki.Authority:
    return pki.authority()


@pytest.fixture
def admin_conf(ca: pki.Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The control plane is this machine, and its admin.conf a file of the test's own."""
    file = tmp_path / "admin.conf"
    file.write_text(yaml.safe_dump(pki.admin_conf(ca)))
    monkeypatch.setattr(kubeconfig, "KUBECONFIGS", {"kubeadm": str(file)})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'kube' / 'config'}:/elsewhere")
    return file


@pytest.fixture
def api(ca: pki.Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with pki.api_server(ca, tmp_path, [ENDPOINT, "127.0.0.1"]) as port:
        monkeypatch.setattr(api_server, "PORT", port)
        yield


@pytest.fixture
def own(tmp_path: Path, admin_conf: Path) -> Path:
    """The user's kubeconfig, with another cluster in it."""
    file = tmp_path / "kube" / "config"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(OTHER))
    return file


def document(ca_data: str = "Y2E=", name: str = "attic", server: str = "10.0.0.1") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"certificate-authority-data": ca_data, "server": f"https://{server}:6443"}}
        ],
        "users": [{"name": name, "user": {"client-key-data": "a2V5"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def named(kubeconfig_: dict[str, Any], kind: str) -> dict[str, Any]:
    return {entry["name"]: entry for entry in kubeconfig_[kind]}


@pytest.mark.usefixtures("admin_conf", "api")
def test_it_prints_one_context_of_the_clusters_name_that_reaches_the_api(
    edgectl: Edgectl,
    inventory: Path,
    ca: pki.Authority,
) -> None:
    answer = edgectl("kubeconfig", inventory)
    assert (answer.code, answer.err) == (0, "")
    printed = yaml.safe_load(answer.out)
    assert [[entry["name"] for entry in printed[kind]] for kind in ("clusters", "users", "contexts")] == [["attic"]] * 3
    assert printed["current-context"] == "attic"
    assert printed["contexts"][0]["context"] == {"cluster": "attic", "user": "attic"}
    assert printed["clusters"][0]["cluster"] == {
        "certificate-authority-data": ca.data,
        "server": f"https://127.0.0.1:{api_server.PORT}",
    }
    assert printed["users"][0]["user"] == {"client-certificate-data": "Y2VydA==", "client-key-data": "a2V5"}


def test_an_api_that_does_not_answer_from_here_is_said_with_the_way_around(
    edgectl: Edgectl,
    inventory: Path,
    admin_conf: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_server, "PORT", 1)
    answer = edgectl("kubeconfig", inventory)
    assert answer.code == 0
    assert "https://127.0.0.1:1: Connection refused" in answer.err
    assert "--tunnel" in answer.err
    assert yaml.safe_load(answer.out)["clusters"][0]["cluster"]["tls-server-name"] == ENDPOINT


def test_before_the_first_bootstrap_there_is_none_and_the_fix_is_named(
    edgectl: Edgectl,
    inventory: Path,
    admin_conf: Path,
) -> None:
    admin_conf.unlink()
    answer = edgectl("kubeconfig", inventory)
    assert answer.code == 1
    assert "error: nuc1 has no administrator's kubeconfig" in answer.err
    assert f"edgectl bootstrap {inventory}" in answer.err


@pytest.mark.usefixtures("admin_conf", "api")
def test_a_file_is_the_owners_alone_and_nothing_else_is_overwritten(
    edgectl: Edgectl,
    inventory: Path,
    tmp_path: Path,
) -> None:
    file = tmp_path / "attic.yml"
    assert edgectl("kubeconfig", inventory, "-o", file).code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert edgectl("kubeconfig", inventory, "-o", file).code == 0
    file.write_text(yaml.safe_dump(OTHER))
    refused = edgectl("kubeconfig", inventory, "-o", file)
    assert refused.code == 2
    assert "is not the kubeconfig of this very cluster" in refused.err
    assert yaml.safe_load(file.read_text()) == OTHER
    assert edgectl("kubeconfig", inventory, "-o", file, "--force").code == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(("attic.yml.", ".attic"))] == []


@pytest.mark.usefixtures("api")
def test_a_merge_leaves_other_contexts_and_the_current_one_and_keeps_a_backup(
    edgectl: Edgectl,
    inventory: Path,
    own: Path,
) -> None:
    before = own.read_text()
    answer = edgectl("kubeconfig", inventory, "--merge")
    assert (answer.code, answer.out) == (0, "")
    merged = yaml.safe_load(own.read_text())
    for kind in ("clusters", "users", "contexts"):
        assert list(named(merged, kind)) == ["work", "attic"]
        assert named(merged, kind)["work"] == OTHER[kind][0]
    assert (merged["current-context"], merged["preferences"]) == ("work", {"colors": True})
    [backup] = own.parent.glob("config.*.bak")
    assert backup.read_text() == before
    assert {path.stat().st_mode & 0o777 for path in (own, backup)} == {0o600}
    assert str(backup) in answer.err
    assert "kubectl --context attic get nodes" in answer.err


@pytest.mark.usefixtures("api")
def test_use_makes_it_the_current_context_and_a_second_merge_writes_nothing(
    edgectl: Edgectl,
    inventory: Path,
    own: Path,
) -> None:
    edgectl("kubeconfig", inventory, "--merge", "--use")
    assert yaml.safe_load(own.read_text())["current-context"] == "attic"
    written = own.stat()
    assert "has it already" in edgectl("kubeconfig", inventory, "--merge").err
    assert own.stat() == written
    assert len(list(own.parent.iterdir())) == 2


@pytest.mark.usefixtures("api", "admin_conf")
def test_a_merge_without_a_kubeconfig_makes_one_and_chooses_no_context(
    edgectl: Edgectl,
    inventory: Path,
    tmp_path: Path,
) -> None:
    assert edgectl("kubeconfig", inventory, "--merge").code == 0
    merged = yaml.safe_load((tmp_path / "kube" / "config").read_text())
    assert list(named(merged, "contexts")) == ["attic"]
    assert "current-context" not in merged


@pytest.mark.usefixtures("api")
def test_another_cluster_of_the_same_name_is_replaced_only_by_force(
    edgectl: Edgectl,
    inventory: Path,
    own: Path,
    ca: pki.Authority,
) -> None:
    namesake = document(ca_data="b3RoZXI=", server="192.168.7.7")
    own.write_text(yaml.safe_dump(namesake))
    refused = edgectl("kubeconfig", inventory, "--merge")
    assert refused.code == 2
    assert "has another cluster by the name attic" in refused.err
    assert "https://192.168.7.7:6443 and has another CA" in refused.err
    assert "--force" in refused.err
    assert yaml.safe_load(own.read_text()) == namesake
    assert [path.name for path in own.parent.iterdir()] == ["config"]
    assert edgectl("kubeconfig", inventory, "--merge", "--force").code == 0
    merged = yaml.safe_load(own.read_text())
    assert named(merged, "clusters")["attic"]["cluster"]["certificate-authority-data"] == ca.data


@pytest.mark.parametrize(
    ("existing", "said"),
    [
        ({"contexts": [{"name": "attic", "context": {"cluster": "work", "user": "work"}}]}, "for cluster work"),
        ({"users": [{"name": "attic", "user": {"token": "t"}}]}, "belongs to none of our clusters"),
        (
            {**document(), "contexts": [{"name": "x", "context": {"cluster": "work", "user": "attic"}}]},
            "is that of context x",
        ),
    ],
)
def test_a_name_that_others_use_is_not_taken_from_them(existing: dict[str, Any], said: str) -> None:
    with pytest.raises(EdgectlError) as refused:
        kubeconfig.merge(existing, document(), use=False, force=False)
    assert said in refused.value.why


def test_a_new_address_replaces_the_old_one_and_the_users_namespace_stays() -> None:
    existing = {
        **document(),
        "contexts": [{"name": "attic", "context": {"cluster": "attic", "user": "attic", "namespace": "ai"}}],
    }
    merged = kubeconfig.merge(existing, document(server="10.0.0.9"), use=False, force=False)
    assert named(merged, "clusters")["attic"]["cluster"]["server"] == "https://10.0.0.9:6443"
    assert named(merged, "contexts")["attic"]["context"]["namespace"] == "ai"


def test_while_kubectl_holds_its_lock_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "config"
    (tmp_path / "config.lock").touch()
    with pytest.raises(EdgectlError, match="is being written by another program"):
        kubeconfig.merge_into(file, document(), use=False, force=False)
    assert not file.exists()
    assert (tmp_path / "config.lock").exists()


def test_a_link_to_a_kubeconfig_elsewhere_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.write_text(yaml.safe_dump(OTHER))
    file = tmp_path / "config"
    file.symlink_to(real)
    kubeconfig.merge_into(file, document(), use=False, force=False)
    assert file.is_symlink()
    assert "attic" in named(yaml.safe_load(real.read_text()), "contexts")


@pytest.mark.parametrize("content", ["[1, 2]", "clusters: [a]", "{", "text"])
def test_a_file_that_is_no_kubeconfig_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    file = tmp_path / "config"
    file.write_text(content)
    with pytest.raises(EdgectlError, match="is no kubeconfig"):
        kubeconfig.merge_into(file, document(), use=False, force=False)
    assert file.read_text() == content
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--output", "x", "--merge"], "--output and --merge"),
        (["--use"], "--use goes with --merge"),
        (["--port", "7000"], "--port goes with --tunnel"),
    ],
)
def test_options_that_contradict_each_other_are_refused_before_any_host_is_asked(
    edgectl: Edgectl,
    inventory: Path,
    arguments: list[str],
    said: str,
) -> None:
    answer = edgectl("kubeconfig", inventory, *arguments)
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize(
    ("names", "server_name"),
    [([ENDPOINT, "127.0.0.1"], ""), ([ENDPOINT, "10.9.9.9"], ENDPOINT)],
)
def test_the_certificate_is_checked_for_the_endpoints_name_only_where_it_lacks_the_address(
    ca: pki.Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], server_name: str
) -> None:
    with pki.api_server(ca, tmp_path, names) as port:
        monkeypatch.setattr(api_server, "PORT", port)
        assert api_server.find(["127.0.0.1"], ENDPOINT, ca.data) == Address("127.0.0.1", port, server_name)


def test_an_address_where_another_cluster_answers_is_passed_over(
    ca: pki.Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pki.api_server(pki.authority(), tmp_path, [ENDPOINT, "127.0.0.1"]) as port:
        monkeypatch.setattr(api_server, "PORT", port)
        found = api_server.find(["127.0.0.1"], ENDPOINT, ca.data)
    assert found.server_name == ENDPOINT
    assert "certificate" in found.trouble
