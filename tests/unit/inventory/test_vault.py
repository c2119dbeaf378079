"""Vaulted inventories: which files, one password, clear refusals."""

import pytest

from edgectl.errors import Problems, UsageError
from edgectl.inventory import Vault, load, needs_password

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def encrypted():
    from ansible.parsing.vault import VaultLib, VaultSecret

    def encrypt(text: str) -> str:
        return VaultLib([("default", VaultSecret(PASSWORD.encode()))]).encrypt(text).decode()

    return encrypt


@pytest.fixture
def vaulted(inventory_directory, encrypted):
    """A whole vaulted file, and a single vaulted value."""
    inline = "\n".join(f"  {line}" for line in encrypted("s3cret").splitlines())
    return inventory_directory(
        {
            "group_vars/all/plain.yml": f"ansible_become_password: !vault |\n{inline}\n",
            "group_vars/all/vault.yml": encrypted("cluster_name: hidden\n"),
        }
    )


def test_both_whole_files_and_single_values_are_found(vaulted):
    assert [file.name for file in needs_password(vaulted)] == ["plain.yml", "vault.yml"]


def test_a_comment_about_vault_does_not_ask_for_a_password(inventory_directory):
    directory = inventory_directory(
        {"group_vars/all.yml": "# use !vault for secrets\ncluster_name: a # or !vault it\n"}
    )
    assert needs_password(directory) == []


def test_without_a_password_nothing_is_read(vaulted):
    with pytest.raises(Problems) as refused:
        load(vaulted)
    (problem,) = refused.value.problems
    assert "vault.yml" in problem.why
    assert "--vault-password-file" in problem.fix


def test_without_a_password_the_mistakes_in_what_is_not_encrypted_are_told_all_the_same(vaulted):
    (vaulted / "group_vars" / "workers.yml").write_text("cluster_nmae: a\nwireguard_port: 1\nwireguard_port: 2\n")
    with pytest.raises(Problems) as refused:
        load(vaulted)
    told = [problem.what for problem in refused.value.problems]
    assert len(told) == 3
    assert "workers.yml:3: wireguard_port is set twice" in told[1]
    assert "workers.yml:1: there is no option cluster_nmae" in told[2]


def test_a_given_password_opens_files_and_values(vaulted):
    inventory = load(vaulted, vault=Vault(password=PASSWORD))
    assert inventory.option("cluster_name") == "hidden"
    assert inventory.host("nuc1").option("ansible_become_password") == "s3cret"


def test_a_password_file_opens_them_too(vaulted, tmp_path):
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    assert load(vaulted, vault=Vault(password_file=file)).option("cluster_name") == "hidden"


def test_the_password_file_that_ansible_uses_is_used(vaulted, tmp_path, monkeypatch):
    file = tmp_path / "password.sh"
    file.write_text(f"#!/bin/sh\necho '{PASSWORD}'\n")
    file.chmod(0o700)
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(file))
    assert needs_password(vaulted) == []
    assert load(vaulted).option("cluster_name") == "hidden"


def test_a_wrong_password_names_the_file_and_shows_neither_password(vaulted):
    (vaulted / "group_vars/all/plain.yml").unlink()
    with pytest.raises(Problems) as refused:
        load(vaulted, vault=Vault(password="wrong battery"))
    (problem,) = refused.value.problems
    assert "vault.yml" in problem.what
    assert "wrong battery" not in f"{problem.what}{problem.why}{problem.fix}"


def test_a_wrong_password_for_a_single_value_is_refused_before_any_host_is_contacted(inventory_directory, encrypted):
    inline = "\n".join(f"  {line}" for line in encrypted("hidden").splitlines())
    directory = inventory_directory({"group_vars/all.yml": f"ansible_password: !vault |\n{inline}\n"})
    with pytest.raises(Problems) as refused:
        load(directory, vault=Vault(password="wrong battery"))
    assert "all.yml:1: " in refused.value.what


def test_a_missing_password_file_is_named(vaulted, tmp_path):
    with pytest.raises(UsageError, match="nowhere"):
        load(vaulted, vault=Vault(password_file=tmp_path / "nowhere"))


def test_secrets_do_not_show_in_the_models_representation(vaulted):
    inventory = load(vaulted, vault=Vault(password=PASSWORD))
    assert PASSWORD not in repr(inventory)
    assert "s3cret" not in repr(inventory)
