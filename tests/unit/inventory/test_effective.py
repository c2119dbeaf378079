"""The options in effect for a host: their values are Ansible's, their origins are told, secrets are not."""

import pytest
import yaml

from edgectl.inventory import Vault, load
from edgectl.inventory.effective import MASK, effective
from edgectl.inventory.options import known_options

PASSWORD = "correct horse"
# Where a variable of nuc2 can be set, the weakest first (Ansible's documentation, "Understanding variable precedence").
LEVELS = (
    ("hosts.yml", ("all", "vars")),
    ("hosts.yml", ("all", "children", "cluster", "vars")),
    ("hosts.yml", ("all", "children", "cluster", "children", "workers", "vars")),
    ("group_vars/all.yml", ()),
    ("group_vars/cluster.yml", ()),
    ("group_vars/workers.yml", ()),
    ("hosts.yml", ("all", "children", "cluster", "children", "workers", "hosts", "nuc2")),
    ("host_vars/nuc2.yml", ()),
)
STATE = """\
all:
  vars:
    edgectl_state_cluster: {name: edgectl, ca_hash: "sha256:aa"}
  hosts:
    nuc1:
      edgectl_state:
        machine_id: "01"
        wireguard_address: 10.200.0.1
"""


@pytest.fixture(scope="module")
def encrypt():
    from ansible.parsing.vault import VaultLib, VaultSecret

    return lambda text: VaultLib([("default", VaultSecret(PASSWORD.encode()))]).encrypt(text).decode()


def of(inventory, host):
    return {one.name: one for one in effective(inventory, inventory.host(host))}


def test_the_origin_is_the_line_whose_value_ansible_takes(inventory_directory):
    files = {name: {} for name, _ in LEVELS}
    nuc1 = {"control_plane": {"hosts": {"nuc1": {"ansible_host": "192.168.1.11"}}}}
    files["hosts.yml"] = {"all": {"children": {"cluster": {"children": nuc1}}}}
    for level, (name, path) in enumerate(LEVELS):
        body = files[name]
        for part in path:
            body = body.setdefault(part, {})
        for number in range(level, len(LEVELS)):
            body[f"my_{number}"] = f"level {level}"
    inventory = load(inventory_directory({name: yaml.safe_dump(body) for name, body in files.items()}))
    found = of(inventory, "nuc2")
    for number, (name, _) in enumerate(LEVELS):
        one = found[f"my_{number}"]
        assert one.value == f"level {number}"  # Ansible's own answer
        assert one.origin.place.file == inventory.path / name
        line = one.origin.place.file.read_text().splitlines()[one.origin.place.line - 1]
        assert line.strip() == f"my_{number}: level {number}"


def test_of_two_groups_beside_each_other_the_later_in_the_alphabet_wins_as_in_ansible(inventory_directory):
    beside = "attic: {hosts: {nuc2: }}\ncellar: {hosts: {nuc2: }}\n"
    files = {"more.yml": beside, "group_vars/attic.yml": "floor: 3\n", "group_vars/cellar.yml": "floor: -1\n"}
    one = of(load(inventory_directory(files)), "nuc2")["floor"]
    assert (one.value, one.origin.place.file.name) == (-1, "cellar.yml")


def test_every_option_with_a_default_is_there_and_names_its_role(inventory_directory):
    found = of(load(inventory_directory()), "nuc1")
    assert {name for name in found if name in known_options()} == set(known_options()) - {"wireguard_endpoint"}
    assert str(found["wireguard_port"].origin) == "default of role wireguard"
    assert found["kubeadm_repository"].value.endswith("/v1.35/deb/")


def test_what_the_state_file_remembers_is_shown_with_its_line(inventory_directory):
    found = of(load(inventory_directory({"edgectl.state.yml": STATE})), "nuc1")
    assert found["edgectl_state.wireguard_address"].value == "10.200.0.1"
    assert str(found["edgectl_state.wireguard_address"].origin).endswith("edgectl.state.yml:8")
    assert "edgectl_state" not in found


def test_what_depends_on_the_host_is_said_to_be_unknown(inventory_directory):
    inventory = load(inventory_directory({"group_vars/all.yml": 'my_os: "{{ ansible_facts.edgectl.os.id }}"\n'}))
    assert of(inventory, "orin1")["cluster_lan_address"].unknown == "the host has to be asked"
    assert of(inventory, "nuc1")["cluster_lan_address"].value == "192.168.1.11"
    assert of(inventory, "nuc1")["my_os"].unknown


def test_secrets_are_masked_wherever_they_show(inventory_directory, encrypt):
    inline = "\n".join(f"    {line}" for line in encrypt("hunter2").splitlines())
    plain = f"""\
registry:
  user: admin
  password: !vault |
{inline}
my_copy: "{{{{ registry.password }}}}"
my_url: "https://x:{{{{ vaulted_token }}}}@example.net"
my_list: [a, "{{{{ vaulted_short }}}}"]
my_user: "{{{{ registry.user }}}}"
my_number: 1234
ansible_become_password: in the clear
"""
    files = {
        "group_vars/all/plain.yml": plain,
        "group_vars/all/vault.yml": encrypt("vaulted_token: t0ken\nvaulted_short: b\nvaulted: {deep: [s3cret]}\n"),
    }
    found = of(load(inventory_directory(files), vault=Vault(password=PASSWORD)), "nuc1")
    hidden = {name for name, one in found.items() if one.secret}
    assert hidden == {
        *("registry", "my_copy", "my_url", "my_list", "ansible_become_password"),
        *("vaulted_token", "vaulted_short", "vaulted"),
    }
    assert {found[name].value for name in hidden} == {MASK}
    for secret in ("hunter2", "t0ken", "s3cret", "in the clear"):
        assert secret not in repr(found)
    assert found["my_user"].value == "admin"
    assert found["my_number"].value == 1234


@pytest.mark.parametrize(("given", "shown"), [("nvapi-0123", MASK), ("", "")])
def test_an_option_that_is_secret_is_masked_where_it_is_set_and_hides_nothing_else_where_it_is_not(
    inventory_directory, monkeypatch, given, shown
):
    monkeypatch.setenv("NGC_API_KEY", given)
    options = """device_plugin_ngc_key: "{{ lookup('ansible.builtin.env', 'NGC_API_KEY') }}"\n"""
    namespaces = "device_plugin_ngc_namespaces: [default]\n" if given else ""
    hosts = {"control_plane": {"hosts": {"nuc1": {"ansible_host": "192.168.1.11"}}}}
    inventory = load(
        inventory_directory(
            {
                "hosts.yml": yaml.safe_dump({"cluster": {"children": hosts}}),
                "group_vars/all.yml": options + namespaces,
            }
        )
    )
    found = of(inventory, "nuc1")
    assert found["device_plugin_ngc_key"].value == shown
    assert found["cluster_artifacts_dir"].value == ""
