"""Hub and spokes: a cluster whose nodes stand behind NAT and talk through one host. A lab of its own.

Simulated is where the NAT stands: in the node's own kernel, not in a router before it. It is the kernel's own NAT: the
tunnel's packets leave with another source port, what comes back along a known connection is let in, and so is the
operator's SSH; all else from the LAN is dropped. A router that forgets a mapping is `conntrack -D` and a new port.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e import machine, pods
from tests.e2e.cluster import Cluster, edgectl, hosts_in_recap, own_lab, wait_for

LAB = "hub"
NODES = "nuc1:control_plane,nuc2,relay"
ALL = ("nuc1", "nuc2", "relay")
SPOKES = ("nuc1", "nuc2")
HUB_NAME = "relay.lab.test"
EVERYTHING = "10.200.0.0/24 10.244.0.0/16"
NAT = """set -e
own=$(ip -4 -o address show dev eth0 | awk '{split($4, part, "/"); print part[1]; exit}')
operator=$(ip -4 route show default | awk '{print $3}')
iptables -t nat -N LAB-NAT
iptables -t nat -A LAB-NAT -o eth0 -p udp --sport 51871 -j SNAT --to-source $own:PORT
iptables -t nat -I POSTROUTING -j LAB-NAT
iptables -t mangle -N LAB-NAT
iptables -t mangle -A LAB-NAT -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN
iptables -t mangle -A LAB-NAT -s $operator -p tcp --dport 22 -j RETURN
iptables -t mangle -A LAB-NAT -j DROP
iptables -t mangle -I PREROUTING -i eth0 -j LAB-NAT
"""
NO_NAT = """set -e
iptables -t nat -D POSTROUTING -j LAB-NAT
iptables -t mangle -D PREROUTING -i eth0 -j LAB-NAT
for table in nat mangle; do iptables -t $table -F LAB-NAT; iptables -t $table -X LAB-NAT; done
"""
NEW_MAPPING = """
set -e
rule=$(iptables -t nat -S LAB-NAT | sed -n 's/^-A LAB-NAT \\(.*\\):[0-9]*$/\\1/p')
iptables -t nat -R LAB-NAT 1 $rule:PORT
conntrack -D -p udp --orig-port-src 51871
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three machines, untouched."""
    with own_lab(LAB, NODES, tmp_path_factory.mktemp("hub")) as lab:
        yield lab


@pytest.fixture(scope="module")
def before(lab: Cluster) -> dict[str, machine.NodeState]:
    """What the machines were like before anything."""
    return {node: machine.node_state(lab, node) for node in ALL}


@pytest.fixture(scope="module")
def cluster(lab: Cluster, before: dict[str, machine.NodeState]) -> Cluster:
    """Two nodes behind NAT, and a hub that is no node and is called by a name."""
    assert set(before) == set(ALL)
    hub = lab.lan_address("relay")
    for number, node in enumerate(SPOKES):
        lab.ssh(node, f"echo '{hub} {HUB_NAME}' >> /etc/hosts")
        lab.ssh(node, NAT.replace("PORT", str(40001 + number)))
    set_places(lab.inventory, ["nuc2"], {"relay": {"wireguard_endpoint": f"{HUB_NAME}:51871"}})
    lab.bootstrap()
    return lab


@pytest.fixture(scope="module")
def addresses(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Node to the address of the pod that runs there."""
    return pods.start(cluster, list(SPOKES), tmp_path_factory.mktemp("netcheck"))


def set_places(inventory: Path, workers: list[str], hub: dict[str, dict[str, str]]) -> None:
    """Rewrite hosts.yml: these workers, this hub, and the topology."""
    document = yaml.safe_load((inventory / "hosts.yml").read_text())
    children = document["all"]["children"]
    groups = children["cluster"]["children"]
    known = {}
    for group in (*groups.values(), children.get("hub", {"hosts": {}})):
        known |= {name: {"ansible_host": variables["ansible_host"]} for name, variables in group["hosts"].items()}
    groups["workers"]["hosts"] = {name: known[name] for name in workers}
    children["hub"] = {"hosts": {name: {**known[name], **variables} for name, variables in hub.items()}}
    document["all"]["vars"] = {"wireguard_topology": "hub"}
    (inventory / "hosts.yml").write_text(yaml.safe_dump(document, sort_keys=False))


def tunnel(cluster: Cluster, node: str, what: str) -> dict[str, str]:
    """`wg show wg0 WHAT`: peer's public key to its value."""
    lines = cluster.ssh(node, f"wg show wg0 {what}").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def public_key(cluster: Cluster, node: str) -> str:
    return cluster.ssh(node, "wg show wg0 public-key").strip()


def endpoint_at_hub(cluster: Cluster, spoke: str) -> str:
    return tunnel(cluster, "relay", "endpoints")[public_key(cluster, spoke)]


def dropped(cluster: Cluster, node: str) -> int:
    """Packets that the guard has dropped so far."""
    rules = cluster.ssh(node, "iptables -w 10 -t mangle -nvxL EDGECTL-GUARD").splitlines()
    return sum(int(rule.split()[0]) for rule in rules if " DROP " in rule)


def answers(cluster: Cluster, node: str, address: str) -> bool:
    ping = ["lab", "ssh", "--name", LAB, node, "--", "ping", "-n", "-q", "-c", "2", "-W", "2", address]
    return edgectl(*ping, check=False).returncode == 0


def works(cluster: Cluster, addresses: dict[str, str]) -> bool:
    return sorted(cluster.ready()) == sorted(addresses) and pods.reach_each_other(cluster, addresses)


def unchanged(cluster: Cluster) -> bool:
    """Whether a full run over all hosts finds nothing to change."""
    output = cluster.playbook("bootstrap", "-e", "edgectl_full=true").stdout
    recap = hosts_in_recap(output)
    assert all(" changed=0 " in line and " failed=0 " in line for line in recap), "\n".join(recap)
    return len(recap) >= len(ALL)


def test_nodes_behind_nat_are_ready_on_their_tunnel_addresses(cluster: Cluster) -> None:
    # The NAT is one: nobody calls in, not even the hub, and everybody calls out.
    assert not answers(cluster, "nuc2", cluster.lan_address("nuc1"))
    assert not answers(cluster, "relay", cluster.lan_address("nuc1"))
    assert answers(cluster, "nuc1", cluster.lan_address("relay"))
    assert cluster.ready() == {"nuc1": "10.200.0.1", "nuc2": "10.200.0.2"}
    assert "10.200.0.3/32" in cluster.ssh("relay", "ip -4 -o address show dev wg0")


def test_spokes_have_the_hub_for_their_only_peer_and_the_hub_knows_where_they_called_from(cluster: Cluster) -> None:
    relay = public_key(cluster, "relay")
    for number, node in enumerate(SPOKES):
        assert tunnel(cluster, node, "allowed-ips") == {relay: EVERYTHING}
        assert tunnel(cluster, node, "persistent-keepalive") == {relay: "25"}
        assert endpoint_at_hub(cluster, node) == f"{cluster.lan_address(node)}:{40001 + number}"
    own = {n["metadata"]["name"]: n["spec"]["podCIDR"] for n in cluster.get("nodes")["items"]}
    assert tunnel(cluster, "relay", "allowed-ips") == {
        public_key(cluster, node): f"{address}/32 {own[node]}" for node, address in cluster.ready().items()
    }


def test_the_hub_outside_the_cluster_runs_no_kubernetes(cluster: Cluster, before: dict[str, machine.NodeState]) -> None:
    found = machine.node_state(cluster, "relay")
    assert found.packages - before["relay"].packages <= {"wireguard-go", "wireguard-tools"}
    added = {path for path in found.files if path not in before["relay"].files and path.startswith("/etc/")}
    ours = ("/etc/wireguard/", "/etc/systemd/system/", "/etc/sysctl.d/90-edgectl.conf")
    assert all(path.startswith(ours) for path in added), added
    assert cluster.ssh("relay", "cat /etc/sysctl.d/90-edgectl.conf").splitlines()[-1] == "net.ipv4.ip_forward = 1"
    assert (
        "pod_cidr"
        not in yaml.safe_load((cluster.inventory / "edgectl.state.yml").read_text())["all"]["hosts"]["relay"][
            "edgectl_state"
        ]
    )


def test_pods_of_one_spoke_reach_those_of_the_other_through_the_hub(
    cluster: Cluster, addresses: dict[str, str]
) -> None:
    keys = {node: public_key(cluster, node) for node in SPOKES}
    passed = cluster.tunnel_bytes("relay")
    for _ in range(20):
        pods.get(cluster, "nuc2", f"http://{addresses['nuc1']}:8080/{'x' * 900}")
    assert pods.reach_each_other(cluster, addresses)
    now = cluster.tunnel_bytes("relay")
    assert all(now[key] - passed[key] > 20 * 900 for key in keys.values()), (passed, now)


def test_a_router_that_maps_a_spoke_anew_cuts_nobody_off(cluster: Cluster, addresses: dict[str, str]) -> None:
    for number, node in enumerate(SPOKES):
        cluster.ssh(node, NEW_MAPPING.replace("PORT", str(41001 + number)))
        new = f"{cluster.lan_address(node)}:{41001 + number}"
        wait_for(f"the hub to hear {node} at {new}", lambda: endpoint_at_hub(cluster, node) == new, 60)  # noqa: B023
    wait_for("the pods", lambda: works(cluster, addresses), 120)


def test_a_hub_that_restarts_is_called_again_by_its_spokes(cluster: Cluster, addresses: dict[str, str]) -> None:
    edgectl("lab", "stop", "relay", "--name", LAB)
    assert not answers(cluster, "nuc1", "10.200.0.2")
    edgectl("lab", "start", "relay", "--name", LAB)
    started = time.monotonic()
    wait_for("the spokes", lambda: answers(cluster, "nuc1", "10.200.0.2"), 120)
    print(f"spoke to spoke {time.monotonic() - started:.0f} s after the hub had booted")
    wait_for("the pods", lambda: works(cluster, addresses), 240)
    assert tunnel(cluster, "relay", "persistent-keepalive").keys() == {public_key(cluster, node) for node in SPOKES}


def test_a_hub_whose_address_has_changed_is_found_by_its_name(cluster: Cluster, addresses: dict[str, str]) -> None:
    """The spoke calls where its hub no longer is, and no old mapping lets the hub's own packets in."""
    relay = public_key(cluster, "relay")
    cluster.ssh("nuc2", f"wg set wg0 peer {relay} endpoint 192.0.2.1:51871;" + NEW_MAPPING.replace("PORT", "42002"))
    assert not answers(cluster, "nuc2", "10.200.0.3")
    wait_for("the hub to be looked up again", lambda: answers(cluster, "nuc2", "10.200.0.3"), 300, 5)
    wait_for("the pods", lambda: works(cluster, addresses), 120)


def test_the_hub_passes_nothing_on_into_its_own_lan(cluster: Cluster) -> None:
    relay, neighbour = public_key(cluster, "relay"), cluster.lan_address("nuc1")
    seen = dropped(cluster, "relay")
    # A spoke that does what its own settings forbid.
    cluster.ssh("nuc2", f"wg set wg0 peer {relay} allowed-ips {EVERYTHING.replace(' ', ',')},{neighbour}/32")
    cluster.ssh("nuc2", f"ip route add {neighbour}/32 dev wg0")
    try:
        assert not answers(cluster, "nuc2", neighbour)
    finally:
        cluster.ssh("nuc2", "/usr/local/lib/edgectl/wireguard-sync wg0")
    assert dropped(cluster, "relay") >= seen + 2
    assert tunnel(cluster, "nuc2", "allowed-ips") == {relay: EVERYTHING}
    assert neighbour not in cluster.ssh("nuc2", "ip route show dev wg0")


def test_the_hubs_lan_gets_nothing_into_the_tunnel(cluster: Cluster) -> None:
    hub, seen = cluster.lan_address("relay"), dropped(cluster, "relay")
    cluster.ssh("nuc2", f"ip route add 10.200.0.1/32 via {hub}")
    try:
        assert not answers(cluster, "nuc2", "10.200.0.1")
    finally:
        cluster.ssh("nuc2", f"ip route del 10.200.0.1/32 via {hub}")
    assert dropped(cluster, "relay") >= seen + 2


def test_a_second_run_changes_and_restarts_nothing(cluster: Cluster) -> None:
    units = ("wg-quick@wg0", "edgectl-wireguard-watch@wg0")
    started = {node: cluster.unit_starts(node, *units) for node in ALL}
    assert unchanged(cluster)
    assert {node: cluster.unit_starts(node, *units) for node in ALL} == started


def test_without_its_hub_no_run_is_started(cluster: Cluster) -> None:
    edgectl("lab", "stop", "relay", "--name", LAB)
    try:
        answer = cluster.bootstrap(check=False)
        assert answer.returncode == 4
        assert "the hub relay cannot be reached, so nothing was started" in answer.stderr
    finally:
        edgectl("lab", "start", "relay", "--name", LAB)


def test_reset_leaves_nothing_of_it(cluster: Cluster, before: dict[str, machine.NodeState]) -> None:
    edgectl("reset", str(cluster.inventory), "--yes")
    for node in SPOKES:
        cluster.ssh(node, NO_NAT + f"sed -i '/{HUB_NAME}/d' /etc/hosts")
    problems = [line for node in ALL for line in machine.differences(cluster, node, before[node])]
    assert not problems, "\n".join(problems)
    assert cluster.ssh("relay", "sysctl -n net.ipv4.ip_forward").strip() == "0"


def test_a_node_can_be_the_hub(cluster: Cluster, tmp_path: Path) -> None:
    """The control plane is it, and both workers stand behind NAT."""
    for number, node in enumerate(("nuc2", "relay")):
        cluster.ssh(node, NAT.replace("PORT", str(43001 + number)))
    set_places(cluster.inventory, ["nuc2", "relay"], {"nuc1": {}})
    cluster.bootstrap()
    assert sorted(cluster.ready()) == sorted(ALL)
    assert list(tunnel(cluster, "nuc2", "allowed-ips").values()) == [EVERYTHING]
    found = pods.start(cluster, list(ALL), tmp_path)
    assert pods.reach_each_other(cluster, found)
    assert unchanged(cluster)
