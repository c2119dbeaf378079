"""One k3s server becomes three, on embedded etcd: one is lost and the API stays, and it comes back by a re-run without
its data; an agent beside them goes on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from tests.e2e.cluster import Cluster, edgectl, lab_status, wait_for
from tests.e2e_k3s.conftest import KEEP, LAB

pytestmark = pytest.mark.long

NAME = f"{LAB}-ha"
SERVERS = ["nuc1", "nuc2", "nuc3"]
AGENT = "nuc4"
NODES = [*SERVERS, AGENT]
DATA = "/var/lib/rancher/k3s"
OWN_KUBECTL = "k3s kubectl --request-timeout 5s"


@pytest.fixture(scope="module")
def ha(room: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Four machines, and a cluster of three servers and an agent on them, which had one server at first."""
    kept = Path(tempfile.gettempdir()) / f"edgectl-{NAME}-kept"
    if not (KEEP and kept.exists()):
        edgectl("lab", "down", "--name", NAME)
        nodes = ",".join([*(f"{name}:control_plane" for name in SERVERS), AGENT])
        inventory = kept if KEEP else tmp_path_factory.mktemp("ha") / "inventory"
        shown = ("--distribution", "k3s", "--dir", str(inventory))
        edgectl("lab", "up", "--name", NAME, "--nodes", nodes, *shown, timeout=3000)
    found = Cluster(NAME, Path(lab_status(NAME)["inventory"]), "k3s")
    if not (found.inventory / "edgectl.state.yml").exists():
        file = found.inventory / "hosts.yml"
        hosts = yaml.safe_load(file.read_text())
        servers = hosts["all"]["children"]["cluster"]["children"]["control_plane"]["hosts"]
        others = {name: servers.pop(name) for name in SERVERS[1:]}
        file.write_text(yaml.safe_dump(hosts, sort_keys=False))
        found.bootstrap()
        found.kubectl("create", "configmap", "of-one-server")
        servers.update(others)
        file.write_text(yaml.safe_dump(hosts, sort_keys=False))
        found.bootstrap()
    yield found
    if not KEEP:
        edgectl("lab", "down", "--name", NAME)


def api_serves(cluster: Cluster, node: str) -> list[str]:
    """The nodes of the cluster, as this server's own API tells them."""
    names = cluster.ssh(node, f"{OWN_KUBECTL} get nodes -o name", check=False).split()
    return sorted(name.removeprefix("node/") for name in names)


def addresses_of_the_api(cluster: Cluster, node: str) -> list[str]:
    path = "jsonpath={.endpoints[*].addresses[*]}"
    return sorted(cluster.ssh(node, f"{OWN_KUBECTL} get endpointslice kubernetes -o {path}", check=False).split())


def names_of_snapshots(cluster: Cluster, node: str) -> list[str]:
    return [line.split()[0] for line in cluster.ssh(node, "k3s etcd-snapshot ls").splitlines()[1:]]


def members(cluster: Cluster, node: str) -> list[str]:
    """Names of the servers whose Node says that they are members of etcd."""
    path = r"jsonpath={.items[*].metadata.annotations.etcd\.k3s\.cattle\.io/node-name}"
    return sorted(cluster.ssh(node, f"{OWN_KUBECTL} get nodes -o '{path}'").split())


def lose_the_data(cluster: Cluster, node: str) -> None:
    cluster.ssh(node, f"systemctl stop k3s && rm -rf {DATA}/server /etc/rancher {DATA}/agent/client-* && sleep 1")


def all_ready(cluster: Cluster) -> bool:
    return sorted(cluster.ready()) == NODES


def renewed(cluster: Cluster, node: str) -> str:
    """When the agent's kubelet last told a server that it lives."""
    path = "jsonpath={.spec.renewTime}"
    return cluster.ssh(node, f"{OWN_KUBECTL} get lease {AGENT} -n kube-node-lease -o {path}", check=False)


def test_what_the_lone_server_held_is_there_on_three(ha: Cluster) -> None:
    for node in SERVERS:
        ha.ssh(node, f"{OWN_KUBECTL} get configmap of-one-server")


def test_three_servers_are_nodes_and_members_of_etcd_and_all_serve_the_api(ha: Cluster) -> None:
    assert all_ready(ha)
    own = sorted(address for name, address in ha.ready().items() if name in SERVERS)

    def serves(node: str) -> bool:
        return addresses_of_the_api(ha, node) == own

    for node in SERVERS:
        assert api_serves(ha, node) == NODES
        wait_for(f"three addresses at {node}", partial(serves, node), 30)
    assert [name.rpartition("-")[0] for name in members(ha, "nuc1")] == SERVERS


def test_only_root_reads_the_servers_token_and_it_is_in_full_form(ha: Cluster) -> None:
    for node in ("nuc2", "nuc3"):
        token = ha.ssh(node, "cat /etc/rancher/k3s/server-token")
        assert token == ha.ssh("nuc1", f"cat {DATA}/server/token")
        assert token.startswith("K10")
        assert "::server:" in token
        assert ha.ssh(node, "stat -c %a:%U /etc/rancher/k3s/server-token").strip() == "600:root"
    assert ha.ssh("nuc1", "ls /etc/rancher/k3s").split() == ["agent-token", "config.yaml", "k3s.yaml"]


def test_secrets_are_encrypted_in_every_servers_datastore_with_one_key(ha: Cluster) -> None:
    word = "plainly-to-be-seen"
    ha.kubectl("create", "secret", "generic", "known", f"--from-literal=word={word}")
    ha.kubectl("create", "configmap", "known", "--from-literal=word=in-a-configmap")
    assert ha.ssh("nuc1", f"grep -rl in-a-configmap {DATA}/server/db/etcd/member") != ""
    for node in SERVERS:
        assert ha.ssh(node, f"{OWN_KUBECTL} get secret known -o jsonpath={{.data.word}} | base64 -d") == word
        assert ha.ssh(node, f"grep -rl {word} {DATA}/server/db/etcd/member || true") == ""
    ha.kubectl("delete", "secret/known", "configmap/known")


def test_a_second_run_has_nothing_to_do(ha: Cluster) -> None:
    before = {node: ha.unit_starts(node, "k3s") for node in SERVERS}
    assert "Nothing to do on nuc1, nuc2, nuc3 and nuc4" in ha.bootstrap().stdout
    assert {node: ha.unit_starts(node, "k3s") for node in SERVERS} == before


def test_snapshots_are_saved_listed_pruned_and_deleted(ha: Cluster) -> None:
    for _ in range(3):
        ha.ssh("nuc2", "k3s etcd-snapshot save && sleep 1")
    assert ha.ssh("nuc2", "k3s etcd-snapshot ls").splitlines()[0].split() == ["Name", "Location", "Size", "Created"]
    names = names_of_snapshots(ha, "nuc2")
    assert [name.startswith("on-demand-nuc2-") for name in names] == [True] * 3
    ha.ssh("nuc2", "k3s etcd-snapshot prune --snapshot-retention 2")
    assert names_of_snapshots(ha, "nuc2") == names[1:]
    ha.ssh("nuc2", f"k3s etcd-snapshot delete {' '.join(names[1:])}")
    assert names_of_snapshots(ha, "nuc2") == []


def test_certificates_can_be_checked(ha: Cluster) -> None:
    table = ha.ssh("nuc3", "k3s certificate check --output table").splitlines()
    assert table[0].split() == ["FILENAME", "SUBJECT", "USAGES", "EXPIRES", "RESIDUAL", "TIME", "STATUS"]
    names = {row.split()[0] for row in table}
    assert {"peer-server-client.crt", "client-kubelet.crt", "serving-kube-apiserver.crt"} <= names
    assert all(row.endswith("OK") for row in table[2:])


def test_the_first_server_is_lost_and_the_api_stays_and_it_comes_back(ha: Cluster) -> None:
    own = ha.ready()
    edgectl("lab", "stop", "--name", NAME, "nuc1")
    try:
        living = sorted(address for name, address in own.items() if name not in ("nuc1", AGENT))
        wait_for("the API without nuc1", lambda: api_serves(ha, "nuc2") == NODES, 60)
        wait_for("two addresses", lambda: addresses_of_the_api(ha, "nuc3") == living, 60)
        last = renewed(ha, "nuc2")
        wait_for("the agent to find another server", lambda: renewed(ha, "nuc2") > last, 60)
        # What a user calls goes to a server that lives.
        ha.kubectl("create", "configmap", "without-nuc1")
    finally:
        edgectl("lab", "start", "--name", NAME, "nuc1")
    wait_for("nuc1 to be Ready", lambda: all_ready(ha), 240)
    wait_for("its own API", lambda: api_serves(ha, "nuc1") == NODES, 60)
    ha.ssh("nuc1", f"{OWN_KUBECTL} delete configmap without-nuc1")
    ha.bootstrap()
    assert all_ready(ha)


@pytest.mark.parametrize("lost", ["nuc3", "nuc1"])
def test_a_server_that_has_lost_its_data_comes_back_by_a_re_run(ha: Cluster, lost: str) -> None:
    others = [node for node in SERVERS if node != lost]
    before = {node: ha.unit_starts(node, "k3s") for node in others}
    old = members(ha, others[0])
    lose_the_data(ha, lost)
    assert api_serves(ha, others[0]) == NODES
    ha.bootstrap()
    wait_for("all nodes to be Ready", lambda: all_ready(ha), 60)
    new = members(ha, others[0])
    assert [name.rpartition("-")[0] for name in new] == SERVERS
    assert {name for name in new if name not in old} == {name for name in new if name.startswith(f"{lost}-")}
    assert {node: ha.unit_starts(node, "k3s") for node in others} == before
    assert "Nothing to do" in ha.bootstrap().stdout


def test_a_changed_option_restarts_the_servers_one_after_the_other(ha: Cluster) -> None:
    file = ha.inventory / "group_vars" / "control_plane.yml"
    file.write_text(yaml.safe_dump({"k3s_tls_sans": ["k8s.example.org"]}))
    before = {node: ha.unit_starts(node, "k3s") for node in SERVERS}
    ha.bootstrap()
    after = {node: ha.unit_starts(node, "k3s") for node in SERVERS}
    assert all(after[node] != before[node] for node in SERVERS)
    # The time of one start is that of the machine under all nodes; each started when the one before was ready.
    began = "systemctl show -p ExecMainStartTimestampMonotonic --value k3s"
    spans = sorted((int(ha.ssh(node, began)), int(after[node]["k3s.service"])) for node in SERVERS)
    assert all(ready <= begins for (_, ready), (begins, _) in pairwise(spans)), spans
    shown = "openssl s_client -connect 127.0.0.1:6443 </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName"
    for node in SERVERS:
        assert "k8s.example.org" in ha.ssh(node, shown)


def test_a_server_is_drained_before_its_restart_where_that_is_asked_for(ha: Cluster) -> None:
    file = ha.inventory / "group_vars" / "control_plane.yml"
    file.write_text(yaml.safe_dump({"k3s_tls_sans": ["k8s.example.com"], "k3s_drain_before_restart": True}))
    output = ha.bootstrap().stdout
    for node in SERVERS:
        assert f"{node}: changed: Pods leave the server" in output
        assert f"{node}: changed: Pods may come again" in output
    assert not any(node["spec"].get("unschedulable") for node in ha.get("nodes")["items"])


def test_a_server_that_is_reset_leaves_etcd_and_the_others_go_on(ha: Cluster) -> None:
    edgectl("reset", str(ha.inventory), "--yes", "--plain", "--limit", "nuc3")
    assert api_serves(ha, "nuc1") == ["nuc1", "nuc2", AGENT]
    assert [name.rpartition("-")[0] for name in members(ha, "nuc2")] == ["nuc1", "nuc2"]
    ha.bootstrap()
    wait_for("all nodes to be Ready", lambda: all_ready(ha), 60)
