"""The administrator's kubeconfig fetched from a real sshd: host keys, and where the API is then called."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest
import yaml

from edgectl.cluster import api_server, kubeconfig
from edgectl.cluster.remote import Login
from edgectl.errors import Problems, UnreachableError
from edgectl.inventory import read
from tests.unit.cluster import pki

from .conftest import Server, free_port

LOGIN = Login("edgectl kubeconfig inventory")


@pytest.fixture(scope="module")
def ca() -> pki.Authority:
    return pki.authority()


@pytest.fixture
def directory(
    sshd: Server, known_hosts: Path, tmp_path: Path, ca: pki.Authority, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An inventory whose control plane is behind that sshd, with a fingerprint that an earlier run recorded."""
    admin_conf = tmp_path / "admin.conf"
    admin_conf.write_text(yaml.safe_dump(pki.admin_conf(ca)))
    monkeypatch.setattr(kubeconfig, "KUBECONFIGS", {"kubeadm": str(admin_conf)})
    monkeypatch.delenv("EDGECTL_BECOME_PASSWORD_FILE", raising=False)
    variables = {
        "ansible_host": "127.0.0.1",
        "ansible_port": sshd.port,
        "ansible_user": getpass.getuser(),
        "ansible_ssh_private_key_file": str(sshd.directory / "login"),
        "ansible_ssh_common_args": "-F /dev/null",
        "ansible_become": False,
        "cluster_name": "attic",
    }
    inventory = tmp_path / "inventory"
    inventory.mkdir()
    hosts = {"cluster": {"children": {"control_plane": {"hosts": {"nuc1": variables}}}}}
    (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts))
    record(inventory, sshd.host_key.fingerprint)
    return inventory


def record(inventory: Path, fingerprint: str) -> None:
    state = {"all": {"hosts": {"nuc1": {"edgectl_state": {"ssh_host_keys": [fingerprint]}}}}}
    (inventory / "edgectl.state.yml").write_text(yaml.safe_dump(state))


def test_another_operators_first_contact_goes_by_the_recorded_fingerprint(
    directory: Path, ca: pki.Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventory = read(directory)
    administrator = kubeconfig.fetch(inventory, LOGIN)
    assert (administrator.name, administrator.server_name) == ("attic", "api.attic.internal")
    with pki.api_server(ca, tmp_path, ["127.0.0.1"]) as port:
        monkeypatch.setattr(api_server, "PORT", port)
        address = kubeconfig.locate(inventory, administrator)
    assert (address.url, address.trouble) == (f"https://127.0.0.1:{port}", "")


def test_a_control_plane_with_another_host_key_gives_no_kubeconfig(directory: Path) -> None:
    record(directory, "SHA256:another")
    with pytest.raises(Problems, match="nuc1 shows another host key than the one in"):
        kubeconfig.fetch(read(directory), LOGIN)


def test_a_host_key_that_nobody_recorded_is_not_trusted_by_itself(directory: Path, sshd: Server) -> None:
    (directory / "edgectl.state.yml").unlink()
    with pytest.raises(UnreachableError) as refused:
        kubeconfig.fetch(read(directory), LOGIN)
    assert sshd.host_key.fingerprint in refused.value.why
    assert "edgectl kubeconfig inventory --accept-new-host-keys" in refused.value.fix
    allowed = Login(LOGIN.command, accept_new_host_keys=True)
    assert kubeconfig.fetch(read(directory), allowed).name == "attic"


def test_a_control_plane_that_is_off_is_said_with_the_command_to_repeat(directory: Path, sshd: Server) -> None:
    hosts = directory / "hosts.yml"
    hosts.write_text(hosts.read_text().replace(f"ansible_port: {sshd.port}", f"ansible_port: {free_port()}"))
    with pytest.raises(UnreachableError) as refused:
        kubeconfig.fetch(read(directory), LOGIN)
    assert refused.value.what == "the control plane nuc1 cannot be reached"
    assert "refuses connections" in refused.value.why
    assert refused.value.fix.endswith("edgectl kubeconfig inventory")
