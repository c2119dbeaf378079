"""`edgectl init` writes an inventory that is valid, commented, and never in the place of another."""

import jsonschema
import pytest
import yaml

from edgectl import content
from edgectl.errors import Problems, UsageError
from edgectl.inventory import load
from edgectl.inventory.init import Machine, create, parse_machine

NUC1 = Machine("nuc1", "192.168.1.11", "ubuntu")
NUC2 = Machine("nuc2", "192.168.1.12", "ubuntu", 2222)
ORIN1 = Machine("orin1", "orin1.lan", "jetson")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "inventory"


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ("nuc1=ubuntu@192.168.1.11", NUC1),
        ("nuc2=ubuntu@192.168.1.12:2222", NUC2),
        ("orin1=jetson@orin1.lan", ORIN1),
        ("nuc3=nuc3.lan", Machine("nuc3", "nuc3.lan")),
        ("nuc4=me@[fd00::4]:22", Machine("nuc4", "fd00::4", "me")),
    ],
)
def test_a_machine_is_a_name_a_user_an_address_and_perhaps_a_port(text, machine):
    assert parse_machine(text) == machine


@pytest.mark.parametrize("text", ["nuc1", "nuc1=", "nuc1=a@b@c", "nuc1=a@b:99999", "nuc1=a@b:ssh", "nuc1=a b"])
def test_a_machine_in_another_form_is_refused_with_the_form(text):
    with pytest.raises(UsageError) as refused:
        parse_machine(text)
    assert "USER@ADDRESS[:PORT]" in refused.value.why


def test_what_is_written_is_valid_and_says_what_was_given(directory):
    create(directory, [NUC1, NUC2, ORIN1, Machine("on", "10.0.0.9", "yes")], cluster_name="attic")
    inventory = load(directory)
    assert [host.name for host in inventory.control_plane] == ["nuc1"]
    assert [host.name for host in inventory.workers] == ["nuc2", "orin1", "on"]
    assert inventory.option("cluster_name") == "attic"
    told = {h.name: tuple(h.option(f"ansible_{o}", None) for o in ("host", "user", "port")) for h in inventory.hosts}
    assert told == {
        "nuc1": ("192.168.1.11", "ubuntu", None),
        "nuc2": ("192.168.1.12", "ubuntu", 2222),
        "orin1": ("orin1.lan", "jetson", None),
        "on": ("10.0.0.9", "yes", None),
    }


def test_no_path_of_this_machine_stands_in_the_files_since_they_are_to_be_committed(directory):
    for file in create(directory, [NUC1]):
        assert str(directory.parent) not in file.read_text()


def test_another_machine_can_be_the_control_plane(directory):
    create(directory, [NUC1, NUC2], control_plane="nuc2")
    assert [host.name for host in load(directory).control_plane] == ["nuc2"]


def test_one_machine_is_enough(directory):
    create(directory, [Machine("nuc1", "192.168.1.11")])
    inventory = load(directory)
    assert (len(inventory.hosts), inventory.host("nuc1").option("ansible_user", None)) == (1, None)


def test_networks_move_away_from_the_machines_addresses(directory):
    create(directory, [Machine("nuc1", "10.244.3.11"), Machine("nuc2", "10.200.0.7")])
    inventory = load(directory)
    assert inventory.option("cluster_pod_cidr") == "10.42.0.0/16"
    assert inventory.option("wireguard_network") == "10.99.0.0/24"
    assert inventory.option("cluster_service_cidr") == "10.96.0.0/16"


@pytest.mark.parametrize("made", [True, False], ids=["by init", "the sample"])
def test_editors_find_the_schema_and_the_files_fit_it(directory, made):
    if made:
        create(directory, [NUC1, ORIN1])
    else:
        directory = content.root() / "inventory"
    for name in ("hosts.yml", "group_vars/all.yml"):
        file = directory / name
        modeline, _, rest = file.read_text().partition("\n")
        schema = file.parent / modeline.removeprefix("# yaml-language-server: $schema=")
        jsonschema.Draft7Validator(yaml.safe_load(schema.read_text())).validate(yaml.safe_load(rest))


@pytest.mark.parametrize("there", ["hosts.yml", "hosts", "more.ini", "group_vars/all.yml"])
def test_an_inventory_that_is_there_is_never_overwritten(directory, there):
    file = directory / there
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    with pytest.raises(UsageError, match="stays as it is"):
        create(directory, [NUC1])
    assert file.read_text() == "mine"
    assert [path for path in directory.rglob("*") if path.is_file()] == [file]


def test_an_empty_directory_and_a_git_repository_are_no_obstacle(directory):
    (directory / ".git").mkdir(parents=True)
    (directory / "README.md").write_text("mine")
    assert create(directory, [NUC1])


@pytest.mark.parametrize(
    ("machines", "message"),
    [
        ([NUC1, Machine("nuc2", "192.168.1.11")], "nuc2 has the address of nuc1"),
        ([Machine("NUC_1", "192.168.1.11")], "NUC_1 cannot be the name of a node"),
        ([Machine("nuc1", "192.168.1.300")], "which is no IP address"),
    ],
)
def test_what_bootstrap_would_refuse_is_refused_in_the_same_words_and_not_written(directory, machines, message):
    with pytest.raises(Problems) as refused:
        create(directory, machines)
    (problem,) = refused.value.problems
    assert message in problem.what
    assert "edgectl-init" not in f"{problem.what}{problem.why}{problem.fix}"
    assert not directory.exists()


def test_a_name_twice_a_stranger_as_control_plane_and_no_machine_are_refused(directory):
    for machines, control_plane, message in (
        ([NUC1, NUC1], "", "2 machines are called nuc1"),
        ([NUC1], "nuc7", "nuc7 is none of the machines"),
        ([], "", "needs a machine"),
    ):
        with pytest.raises(UsageError, match=message):
            create(directory, machines, control_plane)
    assert not directory.exists()


def test_an_inventory_for_k3s_only_lacks_a_lock(directory):
    create(directory, [NUC1, ORIN1], distribution="k3s")
    with pytest.raises(Problems) as refused:
        load(directory)
    assert ["is not locked" in problem.what for problem in refused.value.problems] == [True]
