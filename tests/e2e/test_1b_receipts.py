"""Receipts: nothing to do is proved in one look; drift is seen, and mended by the role whose work it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
import yaml

from tests.e2e.cluster import Cluster, edgectl, wait_for

NODES = ("nuc1", "nuc2", "orin1")


def receipts(cluster: Cluster) -> dict[tuple[str, str], int]:
    """(node, role) -> when the receipt was written."""
    found = {}
    for node in NODES:
        text = cluster.ssh(node, "cd /var/lib/edgectl/receipts && grep -H '\"time\"' *.json")
        found.update(
            {(node, role): int(time) for role, time in re.findall(r"^(\w+)\.json:.*?(\d+)", text, re.MULTILINE)}
        )
    return found


def bootstrap_and_see_which_roles_ran(cluster: Cluster) -> set[tuple[str, str]]:
    before = receipts(cluster)
    cluster.bootstrap()
    after = receipts(cluster)
    return {place for place, time in after.items() if before[place] != time}


def proved(cluster: Cluster) -> bool:
    """Whether the CLI finds nothing to do without a run of Ansible."""
    return "Nothing to do on" in cluster.bootstrap().stdout


def test_nothing_to_do_is_proved_without_ansible(cluster: Cluster) -> None:
    assert proved(cluster)
    answer = json.loads(edgectl("bootstrap", str(cluster.inventory), "--yes", "--json").stdout)
    assert answer["verified"] is True
    assert answer["evidence"] > 50


def test_each_drift_is_seen_and_mended_by_the_role_whose_work_it_was(cluster: Cluster) -> None:
    cluster.ssh("nuc1", "iptables -F && iptables -t nat -F && echo '# mine' >> /etc/sysctl.d/90-edgectl.conf")
    cluster.ssh("nuc2", "systemctl disable kubelet && chmod 0644 /etc/wireguard/wg0.key")
    cluster.ssh(
        "orin1", "dpkg --remove --force-depends containernetworking-plugins && sysctl -qw net.ipv4.ip_forward=0"
    )
    assert bootstrap_and_see_which_roles_ran(cluster) == {
        ("nuc1", "pod_network"),
        ("nuc1", "machine"),
        ("nuc2", "kubeadm"),
        ("nuc2", "wireguard"),
        ("orin1", "pod_network"),
        ("orin1", "machine"),
    }
    assert cluster.ssh("nuc2", "systemctl is-enabled kubelet; stat -c %a /etc/wireguard/wg0.key") == "enabled\n600\n"
    assert cluster.ssh("orin1", "cat /proc/sys/net/ipv4/ip_forward").strip() == "1"
    assert "EDGECTL-PODS" in cluster.ssh("nuc1", "iptables-save")
    assert proved(cluster)


def test_a_service_older_than_its_configuration_is_restarted(cluster: Cluster) -> None:
    before = cluster.unit_starts("nuc2", "containerd.service", "kubelet.service")
    cluster.ssh("nuc2", "touch /etc/containerd/config.toml")
    assert bootstrap_and_see_which_roles_ran(cluster) == {("nuc2", "containerd")}
    after = cluster.unit_starts("nuc2", "containerd.service", "kubelet.service")
    assert after["containerd.service"] != before["containerd.service"]
    assert after["kubelet.service"] == before["kubelet.service"]
    wait_for("the fast path", lambda: proved(cluster), 60, every=5)


def test_a_deleted_node_a_deleted_daemonset_and_a_deleted_tunnel_come_back(cluster: Cluster) -> None:
    cluster.kubectl("delete", "node", "nuc2")
    cluster.kubectl("-n", "kube-system", "delete", "daemonset", "kube-proxy")
    cluster.ssh("orin1", "systemctl stop edgectl-wireguard-watch@wg0; ip link delete wg0", check=False)
    assert bootstrap_and_see_which_roles_ran(cluster) >= {
        ("nuc1", "kubeadm"),
        ("nuc2", "kubeadm"),
        ("orin1", "wireguard"),
    }
    wait_for("three Ready nodes", lambda: sorted(cluster.ready()) == sorted(NODES), 90)
    assert cluster.kubectl("-n", "kube-system", "get", "daemonset", "kube-proxy", "-o", "name").strip()
    wait_for("the fast path", lambda: proved(cluster), 60, every=5)


def test_a_comment_in_the_inventory_costs_one_run_of_ansible_and_changes_nothing(cluster: Cluster) -> None:
    hosts = cluster.inventory / "hosts.yml"
    hosts.write_text(hosts.read_text() + "# a remark\n")
    answer = cluster.bootstrap().stdout
    assert "Nothing had to be changed" in answer
    assert proved(cluster)


@pytest.fixture
def own_machine_id(cluster: Cluster) -> Iterator[str]:
    """The machine-id of nuc2, which has it again after the test."""
    own = cluster.ssh("nuc2", "cat /etc/machine-id").strip()
    yield own
    cluster.ssh("nuc2", f"echo {own} > /etc/machine-id")


@pytest.mark.long
def test_a_new_machine_id_makes_every_role_run_there_and_restarts_nothing(
    cluster: Cluster, own_machine_id: str
) -> None:
    before = cluster.unit_starts("nuc2", "containerd.service", "kubelet.service")
    cluster.ssh("nuc2", "tr -d - < /proc/sys/kernel/random/uuid > /etc/machine-id")
    roles = ("machine", "wireguard", "containerd", "pod_network", "kubeadm")
    assert bootstrap_and_see_which_roles_ran(cluster) == {("nuc2", role) for role in roles}
    assert cluster.unit_starts("nuc2", "containerd.service", "kubelet.service") == before
    state = (cluster.inventory / "edgectl.state.yml").read_text()
    assert cluster.ssh("nuc2", "cat /etc/machine-id").strip() in state
    assert own_machine_id not in state
    wait_for("the fast path", lambda: proved(cluster), 60, every=5)


@pytest.mark.long
def test_the_machine_id_of_another_node_is_refused_and_put_back_it_is_proved_again(
    cluster: Cluster, own_machine_id: str
) -> None:
    # The test before put the first machine-id back: one run to know it again.
    cluster.bootstrap()
    assert proved(cluster)
    before = receipts(cluster)
    foreign = cluster.ssh("orin1", "cat /etc/machine-id").strip()
    cluster.ssh("nuc2", f"echo {foreign} > /etc/machine-id")
    refused = cluster.bootstrap(check=False)
    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert "1 problem found before anything was changed" in refused.stdout
    assert "nuc2: error: nuc2 has the machine-id of orin1" in refused.stdout
    assert "fix: on nuc2: sudo rm -f /etc/machine-id" in refused.stdout
    assert receipts(cluster) == before
    cluster.ssh("nuc2", f"echo {own_machine_id} > /etc/machine-id")
    assert proved(cluster)


def test_a_plan_of_a_changed_option_names_its_restart_and_changes_nothing(cluster: Cluster) -> None:
    before = receipts(cluster)
    # -e lays a whole option over the inventory's: what the lab needs of it has to be said again.
    options = yaml.safe_load((cluster.inventory / "group_vars" / "all.yml").read_text())
    changed = {"kubeadm_kubelet_config": {**options["kubeadm_kubelet_config"], "maxPods": 77}}
    plan = edgectl("plan", str(cluster.inventory), "--plain", "-e", json.dumps(changed), check=False)
    assert plan.returncode == 3, plan.stdout + plan.stderr
    assert "maxPods: 77" in plan.stdout
    assert "Would restart kubelet on" in plan.stdout
    assert receipts(cluster) == before
    assert edgectl("plan", str(cluster.inventory), "--plain", "--limit", "nuc2", check=False).returncode == 0
