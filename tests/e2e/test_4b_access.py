"""The operator's own machine: a kubeconfig that works from here, and a peer in the tunnels."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import shlex
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.e2e.cluster import EDGECTL, Cluster, edgectl, hosts_in_recap, run, wait_for
from tests.e2e.test_1b_receipts import proved
from tests.e2e.test_6_secrets import run_logs

NODES = ("nuc1", "nuc2", "gpu1", "orin1")
OTHER = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "work", "cluster": {"server": "https://work.example:443"}}],
    "users": [{"name": "work", "user": {"token": "t"}}],
    "contexts": [{"name": "work", "context": {"cluster": "work", "user": "work"}}],
    "current-context": "work",
}


def get(kubeconfig: dict[str, Any], path: str, directory: Path) -> str:
    """Fetch a path of the API as a client of that kubeconfig does, in its own context's name."""
    name = kubeconfig["current-context"]
    cluster = next(entry["cluster"] for entry in kubeconfig["clusters"] if entry["name"] == name)
    user = next(entry["user"] for entry in kubeconfig["users"] if entry["name"] == name)
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    files = []
    for key in ("client-certificate-data", "client-key-data"):
        file = directory / key
        file.touch(mode=0o600)
        file.write_bytes(base64.b64decode(user[key]))
        files.append(str(file))
    context.load_cert_chain(*files)
    server = urlsplit(cluster["server"])
    assert server.hostname is not None
    plain = socket.create_connection((server.hostname, server.port or 443), timeout=10)
    connection = http.client.HTTPConnection(server.hostname, server.port)
    connection.sock = context.wrap_socket(plain, server_hostname=cluster.get("tls-server-name", server.hostname))
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_the_printed_kubeconfig_reaches_the_api_by_the_lan_address_as_an_administrator(
    cluster: Cluster, tmp_path: Path
) -> None:
    result = edgectl("kubeconfig", str(cluster.inventory))
    assert result.stderr == ""
    kubeconfig = yaml.safe_load(result.stdout)
    server = kubeconfig["clusters"][0]["cluster"]
    assert server["server"] == f"https://{cluster.lan_address('nuc1')}:6443"
    # The LAN address is in the certificate.
    assert "tls-server-name" not in server
    assert get(kubeconfig, "/readyz", tmp_path) == "ok"
    assert len(json.loads(get(kubeconfig, "/api/v1/nodes", tmp_path))["items"]) == len(cluster.ready())


def test_a_name_added_later_gets_into_the_certificate_and_restarts_nothing(cluster: Cluster, tmp_path: Path) -> None:
    options = cluster.inventory / "group_vars" / "control_plane.yml"
    before = cluster.unit_starts("nuc1", "containerd.service", "kubelet.service")
    api = cluster.get("pod", "kube-apiserver-nuc1", "-n", "kube-system")["status"]["containerStatuses"][0]
    options.write_text("kubeadm_cert_sans: [kubernetes.home.test, 'fd00::1']\n")
    cluster.bootstrap()
    kubeconfig = yaml.safe_load(edgectl("kubeconfig", str(cluster.inventory)).stdout)
    kubeconfig["clusters"][0]["cluster"]["tls-server-name"] = "kubernetes.home.test"

    def shown() -> bool:
        with contextlib.suppress(ssl.SSLCertVerificationError):
            return get(kubeconfig, "/readyz", tmp_path) == "ok"
        return False

    wait_for("the API server to show it", shown, 90, 3)
    assert cluster.unit_starts("nuc1", "containerd.service", "kubelet.service") == before
    again = cluster.get("pod", "kube-apiserver-nuc1", "-n", "kube-system")["status"]["containerStatuses"][0]
    assert again["containerID"] == api["containerID"]
    assert "kubernetes.home.test" in json.dumps(cluster.get("configmap", "kubeadm-config", "-n", "kube-system"))
    assert not cluster.ssh("nuc1", "ls /etc/kubernetes/pki | grep former || true")
    assert proved(cluster)


@pytest.mark.long
def test_a_run_that_ended_between_two_certificates_is_made_good_without_an_api(cluster: Cluster) -> None:
    pki = "/etc/kubernetes/pki"
    cluster.ssh("nuc1", f"cd {pki} && for part in crt key; do mv apiserver.$part apiserver.$part.former; done")
    cluster.ssh("nuc1", "pkill -KILL -x kube-apiserver")
    cluster.bootstrap("--limit", "nuc1")
    assert cluster.ssh("nuc1", f"ls {pki} | grep ^apiserver[.]").split() == ["apiserver.crt", "apiserver.key"]
    wait_for("the control plane to be Ready", lambda: "nuc1" in cluster.ready(), 120)


def test_a_merge_adds_the_cluster_to_a_kubeconfig_of_others(cluster: Cluster, tmp_path: Path) -> None:
    own = tmp_path / "config"
    own.write_text(yaml.safe_dump(OTHER))
    environment = {"KUBECONFIG": str(own)}
    run([EDGECTL, "kubeconfig", str(cluster.inventory), "--merge"], env=environment)
    merged = yaml.safe_load(own.read_text())
    assert merged["current-context"] == "work"
    assert merged["clusters"][0] == OTHER["clusters"][0]
    run([EDGECTL, "kubeconfig", str(cluster.inventory), "--merge", "--use"], env=environment)
    assert get(yaml.safe_load(own.read_text()), "/readyz", tmp_path) == "ok"
    assert own.stat().st_mode & 0o777 == 0o600
    backups = [yaml.safe_load(backup.read_text()) for backup in tmp_path.glob("config.*.bak")]
    assert OTHER in backups


def test_a_tunnel_carries_the_api_until_it_is_ended(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "tunnelled"
    command = [EDGECTL, "kubeconfig", str(cluster.inventory), "--tunnel", "--output", str(file)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/") as tunnel:
        try:
            wait_for("the kubeconfig", lambda: file.exists() or tunnel.poll() is not None, 60, 0.2)
            kubeconfig = yaml.safe_load(file.read_text())
            server = kubeconfig["clusters"][0]["cluster"]
            assert re.fullmatch(r"https://127\.0\.0\.1:\d+", server["server"])
            assert server["tls-server-name"].startswith("api.")
            assert get(kubeconfig, "/readyz", tmp_path) == "ok"
        finally:
            tunnel.terminate()  # as Ctrl-C, which whoever is started in the background ignores
        assert tunnel.wait(timeout=20) == 0
    with pytest.raises(ConnectionRefusedError):
        get(kubeconfig, "/readyz", tmp_path)


@pytest.fixture(scope="module")
def laptop(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The configuration of a peer that `edgectl peer add` let in; nothing on a node was restarted for it.

    Before that, all was proved to be as the last bootstrap had left it.
    """
    file = tmp_path_factory.mktemp("peer") / "laptop.conf"
    wait_for("the fast path", lambda: proved(cluster), 120, every=5)
    before = {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES}
    edgectl("peer", "add", "laptop", "-i", str(cluster.inventory), "--output", str(file), "--plain")
    assert {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES} == before
    yield file
    if "laptop" in state(cluster)["all"]["vars"].get("edgectl_state_peers", {}):
        edgectl("peer", "remove", "laptop", "-i", str(cluster.inventory), "--plain")


def state(cluster: Cluster) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((cluster.inventory / "edgectl.state.yml").read_text())
    return document


def peer_state(cluster: Cluster) -> dict[str, str]:
    entry: dict[str, str] = state(cluster)["all"]["vars"]["edgectl_state_peers"]["laptop"]
    return entry


def allowed_ips(cluster: Cluster, node: str) -> dict[str, str]:
    """Public key to networks, as the running tunnel has them."""
    lines = cluster.ssh(node, "wg show wg0 allowed-ips").splitlines()
    return dict(line.split("\t") for line in lines)


def test_a_peer_that_was_let_in_leaves_nothing_to_do(cluster: Cluster, laptop: Path) -> None:
    assert proved(cluster)


def test_every_node_knows_the_peer_by_its_address_alone_and_routes_it(cluster: Cluster, laptop: Path) -> None:
    known = peer_state(cluster)
    for node in NODES:
        assert allowed_ips(cluster, node)[known["wireguard_public_key"]] == f"{known['wireguard_address']}/32"
        assert "dev wg0" in cluster.ssh(node, f"ip route get {known['wireguard_address']}")
        # The guard between LAN and tunnel stands as before.
        assert "EDGECTL-GUARD" in cluster.ssh(node, "iptables -w 10 -t mangle -S FORWARD")


def test_the_configuration_names_every_node_with_its_pods_and_is_the_only_place_of_the_key(
    cluster: Cluster, laptop: Path
) -> None:
    text = laptop.read_text()
    assert laptop.stat().st_mode & 0o777 == 0o600
    for node in NODES:
        entry = state(cluster)["all"]["hosts"][node]["edgectl_state"]
        assert f"PublicKey = {entry['wireguard_public_key']}" in text
        assert f"AllowedIPs = {entry['wireguard_address']}/32, {entry['pod_cidr']}\n" in text
        assert f"Endpoint = {cluster.lan_address(node)}:" in text
    private = re.search(r"PrivateKey = (\S+)", text)
    assert private is not None
    assert private[1] not in (cluster.inventory / "edgectl.state.yml").read_text()
    assert [path for path in run_logs() if private[1] in path.read_text(errors="replace")] == []
    for node in NODES:
        assert cluster.ssh(node, f"grep -rlF {private[1]} /etc/wireguard /var/lib/edgectl || true").strip() == ""


# gpu1 plays the laptop beside its own membership: an interface of its own, bound to by ping, and a route that nothing
# else prefers.
UP = """
set -e
umask 077
cat > /run/laptop.conf
ip link add laptop type wireguard 2>/dev/null || LOG_LEVEL=silent wireguard-go laptop
wg-quick strip /run/laptop.conf > /run/laptop.stripped
wg setconf laptop /run/laptop.stripped
ip address add {address}/32 dev laptop
ip link set mtu 1420 up dev laptop
echo 2 > /proc/sys/net/ipv4/conf/laptop/rp_filter
ip route add {node}/32 dev laptop metric 500
for try in 1 2 3 4 5 6 7 8 9 10; do
  ping -n -q -c 1 -W 2 -I laptop {node} && exit 0
done
exit 1
"""
DOWN = "ip link del laptop; rm -f /run/laptop.conf /run/laptop.stripped"


def test_the_configuration_carries_packets_to_a_node_and_the_list_says_so(cluster: Cluster, laptop: Path) -> None:
    node = cluster.ready()["nuc1"]
    script = UP.format(address=peer_state(cluster)["wireguard_address"], node=node)
    command = [EDGECTL, "lab", "ssh", "--name", cluster.lab, "gpu1", "--", "sudo", "sh", "-c"]
    try:
        done = subprocess.run(
            [*command, shlex.quote(script)],
            input=laptop.read_text(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        document = json.loads(edgectl("peer", "list", "-i", str(cluster.inventory), "--json").stdout)
        [listed] = document["peers"]
        assert listed["name"] == "laptop"
        assert listed["handshake_age_s"]["nuc1"] < 180
    finally:
        cluster.ssh("gpu1", DOWN, check=False)


def test_a_repeated_add_is_refused_and_changes_nothing(cluster: Cluster, laptop: Path, tmp_path: Path) -> None:
    before = peer_state(cluster)
    again = ("peer", "add", "laptop", "-i", str(cluster.inventory), "--output", str(tmp_path / "again.conf"))
    refused = edgectl(*again, check=False)
    assert refused.returncode == 2
    assert "edgectl peer remove laptop" in refused.stderr
    assert peer_state(cluster) == before
    assert not (tmp_path / "again.conf").exists()


def test_a_limited_bootstrap_keeps_the_peer_and_a_full_one_finds_nothing_to_change(
    cluster: Cluster, laptop: Path
) -> None:
    key = peer_state(cluster)["wireguard_public_key"]
    cluster.bootstrap("--limit", "nuc2")
    assert all(key in allowed_ips(cluster, node) for node in NODES)
    output = cluster.playbook("bootstrap").stdout
    recap = hosts_in_recap(output)
    assert all(" changed=0 " in line and " failed=0 " in line for line in recap), "\n".join(recap)
    assert all(key in allowed_ips(cluster, node) for node in NODES)


def test_a_removed_peer_is_gone_from_every_node_without_a_restart(cluster: Cluster, laptop: Path) -> None:
    known = peer_state(cluster)
    before = {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES}
    edgectl("peer", "remove", "laptop", "-i", str(cluster.inventory), "--plain")
    for node in NODES:
        assert known["wireguard_public_key"] not in cluster.ssh(node, "wg show wg0 peers; cat /etc/wireguard/wg0.conf")
        assert f"{known['wireguard_address']} " not in cluster.ssh(node, "ip route show dev wg0") + " "
    assert {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES} == before
    assert "edgectl_state_peers" not in state(cluster)["all"]["vars"]
    assert proved(cluster)
