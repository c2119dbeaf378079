"""A kubectl over a cluster in a file: its scheduler gives slots away while there are some, its kubelet starts pods.

The file (cluster.json, beside this program) says what happens to pods (`fate`), and `later` what becomes different
with the so-manieth look at the node.
"""

import json
import sys
from pathlib import Path

FILE = Path(__file__).with_name("cluster.json")
RESOURCE = "nvidia.com/gpu"
FATES = {
    "runs": {"phase": "Running", "state": {"running": {"startedAt": "2026-11-20T10:00:00Z"}}},
    "creating": {"phase": "Pending", "state": {"waiting": {"reason": "ContainerCreating"}}},
    "no image": {
        "phase": "Pending",
        "state": {
            "waiting": {
                "reason": "ImagePullBackOff",
                "message": 'Back-off pulling image "docker.io/library/python:3.13-slim-trixie": not found',
            }
        },
    },
    "not started": {
        "phase": "Failed",
        "state": {
            "terminated": {
                "exitCode": 128,
                "reason": "StartError",
                "message": "failed to create containerd task: nvidia-container-cli: initialization error: driver error",
            }
        },
    },
    "not admitted": {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "message": "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices "
        "nvidia.com/gpu, which is unexpected",
    },
    "killed": {"phase": "Failed", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
}


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)


def give(document):
    print(json.dumps(document))
    sys.exit(0)


def used(cluster):
    everybody = [*cluster["others"], *cluster["own"].values()]
    return sum(
        int(pod["spec"]["containers"][0]["resources"]["limits"].get(RESOURCE, 0))
        for pod in everybody
        if pod["spec"].get("nodeName") and pod["status"]["phase"] not in ("Succeeded", "Failed")
    )


def schedule(cluster):
    for name, pod in cluster["own"].items():
        if pod["spec"].get("nodeName"):
            continue
        if used(cluster) < int(cluster["node"]["status"]["allocatable"].get(RESOURCE, 0)) and not cluster["full"]:
            fate = FATES[cluster["fates"].get(name, cluster["fate"])]
            pod["spec"]["nodeName"] = "orin1"
            pod["status"] = {key: value for key, value in fate.items() if key != "state"}
            if "state" in fate:
                pod["status"]["containerStatuses"] = [{"name": "check", "state": fate["state"]}]
        else:
            why = cluster["full"] or f"1 Insufficient {RESOURCE}"
            message = f"0/3 nodes are available: {why}, 2 node(s) didn't match Pod's node affinity/selector."
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            pod["status"] = {"phase": "Pending", "conditions": [condition]}


def main():
    cluster = json.loads(FILE.read_text())
    words = [word for word in sys.argv[1:] if not word.startswith("--request-timeout")]
    cluster["said"].append(" ".join(words))
    verb = words[0]
    if verb == "apply":
        objects = json.loads(sys.stdin.read())["items"]
        if cluster["refusals"]:
            refusal = cluster["refusals"].pop(0)
            FILE.write_text(json.dumps(cluster))
            fail(refusal)
        for one in objects:
            if one["kind"] == "Pod":
                cluster["own"][one["metadata"]["name"]] = {**one, "status": {"phase": "Pending"}}
            else:
                cluster["frame"][one["kind"]] = one
    if verb == "delete":
        cluster["own"], cluster["frame"] = {}, {}
    if words[:2] == ["get", "node"]:
        cluster["looks"] += 1
        cluster.update(cluster["later"].pop(str(cluster["looks"]), {}))
    if words[:2] == ["get", "pods"]:
        schedule(cluster)
    FILE.write_text(json.dumps(cluster))
    if words[:2] == ["get", "node"]:
        give(cluster["node"])
    if words[:3] == ["get", "pods", "--all-namespaces"]:
        placed = [pod for pod in cluster["own"].values() if pod["spec"].get("nodeName")]
        give({"items": [*cluster["others"], *placed]})
    if words[:2] == ["get", "pods"]:
        give({"items": list(cluster["own"].values())})
    if words[:2] == ["get", "events"]:
        give({"items": cluster["events"]})
    if verb == "logs":
        if "--container" in words:
            cluster["asked"] = {words[1]: words[words.index("--container") + 1]}
            FILE.write_text(json.dumps(cluster))
        print(cluster["logs"].get(words[1], cluster["log"]))


main()
