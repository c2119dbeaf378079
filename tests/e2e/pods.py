"""Pods of the tests' own program, one on each node, which answer HTTP and ask others from inside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e import netcheck_image
from tests.e2e.cluster import EDGECTL, Cluster, wait_for


def start(cluster: Cluster, nodes: list[str], directory: Path) -> dict[str, str]:
    """Run one pod, `net-NODE`, on each node, without a registry; returns node to pod address.

    directory: where the image may be built.
    """
    archive = netcheck_image.build(directory)
    for node in nodes:
        _copy(cluster, node, archive)
        cluster.ssh(node, f"{cluster.ctr} images import /tmp/netcheck.tar && rm /tmp/netcheck.tar")
        cluster.kubectl("delete", "pod", f"net-{node}", "--ignore-not-found", "--wait=false", "--grace-period=0")
    wait_for("old pods to go", lambda: not cluster.get("pods", "-n", "default")["items"])
    for node in nodes:
        overrides = {"spec": {"nodeName": node, "terminationGracePeriodSeconds": 0}}
        cluster.kubectl(
            "run", f"net-{node}", f"--image={netcheck_image.IMAGE}", "--image-pull-policy=Never", f"--labels=on={node}",
            f"--overrides={json.dumps(overrides)}",
        )  # fmt: skip
    found: dict[str, str] = wait_for("the pods to run", lambda: _addresses(cluster, nodes))
    return found


def get(cluster: Cluster, node: str, url: str) -> str:
    """Fetch a URL from inside the pod on that node."""
    return cluster.kubectl("exec", f"net-{node}", "--", "/netcheck", "get", url)


def reach_each_other(cluster: Cluster, addresses: dict[str, str]) -> bool:
    """Whether every pod gets an answer of every other that names the asking pod's own address."""
    for source in addresses:
        for target in addresses.keys() - {source}:
            answer = get(cluster, source, f"http://{addresses[target]}:8080/")
            assert f"from={addresses[source]} " in answer, (source, target, answer)
    return True


def _copy(cluster: Cluster, node: str, file: Path) -> None:
    with file.open("rb") as stream:
        subprocess.run(
            [EDGECTL, "lab", "ssh", "--name", cluster.lab, node, "--", f"cat > /tmp/{file.name}"],
            stdin=stream,
            check=True,
            timeout=120,
        )


def _addresses(cluster: Cluster, nodes: list[str]) -> dict[str, str] | None:
    items = cluster.get("pods", "-n", "default")["items"]
    if len(items) < len(nodes) or any(pod["status"]["phase"] != "Running" for pod in items):
        return None
    return {pod["spec"]["nodeName"]: pod["status"]["podIP"] for pod in items}
