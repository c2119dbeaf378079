"""No private key and no token leaves its host: not in -vvv output, not in run logs, not in process lists."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path
from shlex import quote

from tests.e2e.cluster import EDGECTL, Cluster, edgectl, wait_for

NODES = ("nuc1", "nuc2", "orin1")
TOKEN = re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b")


def run_logs() -> list[Path]:
    base = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state")) / "edgectl" / "runs"
    return [path for path in base.rglob("*") if path.is_file()]


def test_nothing_secret_is_seen_while_a_worker_joins(cluster: Cluster, tmp_path: Path) -> None:
    if "orin1" in cluster.ready():
        edgectl("reset", str(cluster.inventory), "--limit", "orin1", "--yes")
    look = "while sleep 0.2; do cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' || exit; done"
    seen = [tmp_path / node for node in ("nuc1", "orin1")]
    with ExitStack() as stack:
        for file in seen:
            command = [EDGECTL, "lab", "ssh", "--name", cluster.lab, file.name, "--", "sudo", "sh", "-c", quote(look)]
            watcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file.open("w"))
            stack.callback(watcher.wait)
            stack.callback(watcher.terminate)
        output = cluster.playbook("bootstrap", "--limit", "orin1", "-vvv").stdout
    wait_for("orin1 to be Ready", lambda: "orin1" in cluster.ready(), 60)
    keys = [cluster.ssh(node, "cat /etc/wireguard/wg0.key").strip() for node in NODES]
    assert all(len(key) == 44 for key in keys)
    processes = "\n".join(file.read_text(errors="replace") for file in seen)
    logs = "\n".join(path.read_text(errors="replace") for path in run_logs())
    for text, where in ((output, "-vvv output"), (processes, "process lists"), (logs, "run logs")):
        assert len(text) > 200, where
        assert not TOKEN.findall(text), where
        for key in keys:
            assert key not in text, where


def test_no_join_token_outlives_its_run(cluster: Cluster) -> None:
    secrets = cluster.kubectl("get", "secrets", "-n", "kube-system", "-o", "name")
    assert "bootstrap-token" not in secrets


def test_the_state_file_holds_no_secret(cluster: Cluster) -> None:
    state = (cluster.inventory / "edgectl.state.yml").read_text()
    for node in NODES:
        assert cluster.ssh(node, "cat /etc/wireguard/wg0.key").strip() not in state
        assert cluster.ssh(node, "wg show wg0 public-key").strip() in state
