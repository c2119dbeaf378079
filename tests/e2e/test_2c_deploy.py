"""A workload of the catalogue: Ollama on the simulated Jetson answers, and goes again with everything it brought.

The program is the real one, its model has random weights, and it computes on the CPU: docs/lab.md.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import urllib.request
from typing import Any

from edgectl.exitcodes import ExitCode
from tests.e2e.cluster import EDGECTL, Cluster, edgectl
from tests.unit.workloads.test_objects import CASES, made

NODE = "orin1"


def deploy(cluster: Cluster, model: str, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return edgectl("deploy", "ollama", str(cluster.inventory), "--set", f"model={model}", *options, check=check)


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document


def test_the_api_takes_the_objects_of_every_entry_on_every_platform(cluster: Cluster) -> None:
    """A dry run on the server: it knows every field, and every rule that a field has to keep."""
    objects = [one for case in CASES for one in made(*case.values, namespace="default").values()]
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    done = subprocess.run(
        [EDGECTL, "kubectl", "-i", str(cluster.inventory), "--", "apply", "--dry-run=server", "-o", "name", "-f", "-"],
        input=everything,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(objects)


def test_a_model_that_cannot_fit_is_refused_with_the_largest_that_can(cluster: Cluster) -> None:
    refused = deploy(cluster, "deepseek-r1:70b", "--node", NODE, check=False)
    assert refused.returncode == ExitCode.FAILED
    said = " ".join((refused.stdout + refused.stderr).split())
    assert "deepseek-r1:70b" in said
    assert "largest" in said
    assert "workloads" not in cluster.kubectl("get", "namespaces")


def test_ollama_answers_from_a_pod_that_holds_the_gpu(cluster: Cluster) -> None:
    told = result(deploy(cluster, "lab-tiny", "--json"))["summary"]["workload"]
    assert (told["plan"]["node"], told["plan"]["gpu"]) == (NODE, True)
    assert told["answer"]["where"] == "answered on CPU (simulated GPU)"
    assert told["answer"]["tokens"] > 0
    (pod,) = cluster.get("pods", "-n", "workloads")["items"]
    assert pod["spec"]["runtimeClassName"] == "nvidia"
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_deployed_again_nothing_is_changed(cluster: Cluster) -> None:
    assert result(deploy(cluster, "lab-tiny", "--json"))["changes"] == []


def test_it_is_reached_from_this_machine_until_ctrl_c(cluster: Cluster) -> None:
    opened = subprocess.Popen([EDGECTL, "open", "ollama", str(cluster.inventory)], stdout=subprocess.PIPE, text=True)
    assert opened.stdout
    try:
        url = opened.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}/api/version", timeout=30) as answer:  # noqa: S310 - a port of this machine
            assert json.load(answer)["version"]
    finally:
        opened.send_signal(signal.SIGINT)
        assert opened.wait(timeout=30) == ExitCode.OK
        opened.stdout.close()


def test_words_come_through_the_tunnel_while_the_answer_is_still_being_made(cluster: Cluster) -> None:
    opened = subprocess.Popen([EDGECTL, "open", "ollama", str(cluster.inventory)], stdout=subprocess.PIPE, text=True)
    assert opened.stdout
    try:
        port = int(opened.stdout.readline().strip().rpartition(":")[2])
        # The model says nothing that makes sense; as many words as are wanted, though.
        question = {"model": "lab-tiny", "prompt": "Why?", "options": {"num_predict": 400}}
        body = json.dumps(question)
        head = f"POST /api/generate HTTP/1.0\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
            sock.sendall((head + body).encode())
            pieces = list(iter(lambda: sock.recv(1 << 20), b""))
    finally:
        opened.send_signal(signal.SIGINT)
        opened.wait(timeout=30)
        opened.stdout.close()
    first = next(number for number, piece in enumerate(pieces) if b'"done":false' in piece)
    assert b'"done":true' not in pieces[first]
    assert b'"done":true' in b"".join(pieces)


def test_its_log_is_read_and_its_share_of_the_gpu_is_seen(cluster: Cluster) -> None:
    assert "/api/version" in edgectl("logs", "ollama", str(cluster.inventory)).stdout
    top = edgectl("top", str(cluster.inventory)).stdout
    assert "held by workloads/ollama-" in top
    assert "simulated" in top


def test_any_image_runs_as_a_job_that_tells_its_exit_code(cluster: Cluster) -> None:
    image, inventory = "docker.io/ollama/ollama:0.23.0", str(cluster.inventory)
    job = ["run", image, "-i", inventory, "--cpu", "--job", "--name", "job", "--"]
    done = edgectl(*job, "--version").stdout
    assert "with exit code 0" in done
    assert "client version is" in done
    failed = edgectl(*job, "no-such-command", check=False)
    assert failed.returncode == ExitCode.FAILED
    assert 'unknown command "no-such-command"' in failed.stdout + failed.stderr
    edgectl("undeploy", "job", inventory)


def test_an_image_that_no_registry_gives_ends_the_wait_in_kubelets_words(cluster: Cluster) -> None:
    inventory = str(cluster.inventory)
    failed = edgectl("run", "docker.io/library/nosuch:1", "-i", inventory, "--cpu", "--name", "nosuch", check=False)
    assert failed.returncode == ExitCode.FAILED
    assert 'its image can\'t be fetched: Failed to pull image "docker.io/library/nosuch:1"' in failed.stdout
    assert "reaches docker.io" in failed.stdout
    edgectl("undeploy", "nosuch", inventory)


def test_its_data_outlives_it_until_it_is_purged(cluster: Cluster) -> None:
    data = "ls -A /var/lib/edgectl/workloads 2>/dev/null || true"
    edgectl("undeploy", "ollama", str(cluster.inventory))
    assert cluster.get("pods", "-n", "workloads")["items"] == []
    assert cluster.ssh(NODE, data).strip()
    again = {change["task"] for change in result(deploy(cluster, "lab-tiny", "--json"))["changes"]}
    assert again == {"Namespace", "Objects"}
    edgectl("undeploy", "ollama", str(cluster.inventory), "--purge", "--yes")
    assert cluster.ssh(NODE, data).strip() == ""
    assert "ollama" not in cluster.ssh(NODE, f"{cluster.ctr} images list --quiet")
    assert "workloads" not in cluster.kubectl("get", "namespaces")
