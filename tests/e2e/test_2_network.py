"""Pods talk across nodes through the tunnel, and only through it."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterator

import pytest

from tests.e2e.cluster import EDGECTL, Cluster, run, wait_for
from tests.e2e.pods import get, reach_each_other, start

MARKER = "edgectl-marker-7c1d0e55"
# Writes every frame of eth0 to a file for some seconds, with nothing but Python on the node.
CAPTURE = """
import socket, sys, time
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
link.bind(("eth0", 0))
link.settimeout(0.2)
end = time.time() + float(sys.argv[1])
with open("/run/capture", "wb") as out:
    open("/run/capture.started", "w").close()
    while time.time() < end:
        try:
            out.write(link.recv(65535))
        except socket.timeout:
            pass
"""


@pytest.fixture(scope="module")
def pods(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """One netcheck pod on each node and a service in front of that on orin1; returns node to pod address."""
    found = start(cluster, ["nuc1", "nuc2", "orin1"], tmp_path_factory.mktemp("netcheck"))
    cluster.kubectl("create", "service", "clusterip", "orin", "--tcp=80:8080")
    cluster.kubectl("patch", "service", "orin", "-p", json.dumps({"spec": {"selector": {"on": "orin1", "app": None}}}))
    yield found
    cluster.kubectl("delete", "service", "orin")
    cluster.kubectl("delete", "pod", "net-nuc1", "net-nuc2", "net-orin1", "--grace-period=0")


def test_pods_on_different_nodes_reach_each_other_by_address_and_nobody_translates_it(
    cluster: Cluster, pods: dict[str, str]
) -> None:
    assert reach_each_other(cluster, pods)


def test_a_service_name_resolves_and_answers_on_every_node(cluster: Cluster, pods: dict[str, str]) -> None:
    for source in pods:
        assert "path=/by-name" in get(cluster, source, "http://orin.default.svc.cluster.local/by-name")


def test_pod_traffic_goes_through_wireguard_on_both_ends(cluster: Cluster, pods: dict[str, str]) -> None:
    public = {node: cluster.ssh(node, "wg show wg0 public-key").strip() for node in ("nuc2", "orin1")}
    before = {node: cluster.tunnel_bytes(node) for node in public}
    for _ in range(20):
        get(cluster, "nuc2", f"http://{pods['orin1']}:8080/{'x' * 900}")
    after = {node: cluster.tunnel_bytes(node) for node in public}
    for node, peer in (("nuc2", "orin1"), ("orin1", "nuc2")):
        assert after[node][public[peer]] - before[node][public[peer]] > 20 * 1800, (node, before, after)


def test_a_capture_on_the_lan_shows_pod_traffic_only_when_the_tunnel_is_off(
    cluster: Cluster, pods: dict[str, str]
) -> None:
    url = f"http://{pods['orin1']}:8080/{MARKER}"
    assert MARKER.encode() not in capture(cluster, "nuc2", lambda: get_on_node(cluster, "nuc2", url))
    pod_cidr = {n["metadata"]["name"]: n["spec"]["podCIDR"] for n in cluster.get("nodes")["items"]}
    lan = {node: cluster.lan_address(node) for node in ("nuc2", "orin1")}
    try:
        for node, peer in (("nuc2", "orin1"), ("orin1", "nuc2")):
            cluster.ssh(node, "systemctl stop edgectl-wireguard-watch@wg0 wg-quick@wg0")
            cluster.ssh(node, f"ip route replace {pod_cidr[peer]} via {lan[peer]} dev eth0")
        assert MARKER.encode() in capture(cluster, "nuc2", lambda: get_on_node(cluster, "nuc2", url))
    finally:
        for node, peer in (("nuc2", "orin1"), ("orin1", "nuc2")):
            cluster.ssh(node, f"ip route del {pod_cidr[peer]} via {lan[peer]} dev eth0", check=False)
            cluster.ssh(node, "systemctl start wg-quick@wg0 edgectl-wireguard-watch@wg0")
    wait_for("three Ready nodes", lambda: len(cluster.ready()) == 3)


def get_on_node(cluster: Cluster, node: str, url: str) -> str:
    """The same request, started on the node itself in the pod's network: needs no API server on the way."""
    return cluster.ssh(
        node,
        "pid=$(pgrep -xo netcheck); for i in 1 2 3 4 5 6 7 8 9 10; do "
        f"timeout 10 nsenter -t $pid -n python3 -c 'import urllib.request as u; print(u.urlopen({url!r}).read())' "
        "&& exit 0; sleep 1; done; exit 1".replace("'", '"').replace(f'"{url}"', f"'{url}'"),
    )


def capture(cluster: Cluster, node: str, traffic: object) -> bytes:
    """All frames that crossed the node's LAN interface while the traffic ran."""
    cluster.ssh(node, f"rm -f /run/capture*; printf %s {shlex.quote(CAPTURE)} > /run/capture.py")
    cluster.ssh(node, "systemd-run --quiet --unit edgectl-test-capture python3 /run/capture.py 15")
    wait_for("the capture to start", lambda: cluster.ssh(node, "ls /run/capture.started"), 10, 0.2)
    assert callable(traffic)
    assert MARKER in traffic()
    wait_for(
        "the capture to end",
        lambda: "inactive" in cluster.ssh(node, "systemctl is-active edgectl-test-capture || true"),
        30,
    )
    return base64.b64decode(cluster.ssh(node, "base64 -w0 /run/capture; rm -f /run/capture*"))


def test_a_pod_reaches_a_lan_host_that_has_no_route_to_pods(cluster: Cluster, pods: dict[str, str]) -> None:
    other = cluster.outside
    outside = cluster.lan_address(other)
    assert "10.244." not in cluster.ssh(other, "ip route")
    cluster.ssh(other, "systemd-run --quiet --unit edgectl-test-web python3 -m http.server 8099 --directory /run")
    try:
        wait_for("the web server", lambda: "LISTEN" in cluster.ssh(other, "ss -Hltn 'sport = 8099'"), 10)
        assert "Directory listing" in get(cluster, "nuc2", f"http://{outside}:8099/")
        assert "Directory listing" in get(cluster, "orin1", f"http://{outside}:8099/")
    finally:
        cluster.ssh(other, "systemctl stop edgectl-test-web")


def test_nothing_for_a_node_that_is_gone_leaves_by_the_default_route(cluster: Cluster) -> None:
    for address in ("10.244.250.1", "10.200.0.250"):
        # A packet of a pod there takes the same way.
        assert "No route to host" in cluster.ssh("nuc1", f"ip -4 route get {address} 2>&1 || true")


def test_a_lan_host_gets_nothing_through_a_node_into_the_tunnel(cluster: Cluster, pods: dict[str, str]) -> None:
    via, other = cluster.lan_address("nuc2"), cluster.outside
    tunnel = cluster.ready()["orin1"]
    cluster.ssh(other, f"ip route add {tunnel}/32 via {via} && ip route add {pods['orin1']}/32 via {via}")
    try:
        for target in (tunnel, pods["orin1"]):
            before = dropped(cluster, "nuc2")
            result = run(
                [EDGECTL, "lab", "ssh", "--name", cluster.lab, other, "--", "ping", "-c", "2", "-W", "2", target],
                check=False,
            )
            assert result.returncode != 0, f"{target} answered a LAN host through nuc2"
            assert dropped(cluster, "nuc2") >= before + 2, "the packets were lost elsewhere, not dropped by the guard"
    finally:
        cluster.ssh(other, f"ip route del {tunnel}/32; ip route del {pods['orin1']}/32")


def dropped(cluster: Cluster, node: str) -> int:
    """Packets that the guard before the tunnel has dropped so far."""
    rules = cluster.ssh(node, "iptables -w 10 -t mangle -nvxL EDGECTL-GUARD").splitlines()
    return sum(int(rule.split()[0]) for rule in rules if " DROP " in rule)
