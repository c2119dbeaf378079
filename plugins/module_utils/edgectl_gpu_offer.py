"""Whether a node offers the GPUs that it should, and what its device plugin says where it does not."""

from __future__ import annotations

import time

from ansible.module_utils import edgectl_gpu_proof as proof
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

# The plugin's own container, by the names that our DaemonSet and NVIDIA's chart give it.
CONTAINERS = ("nvidia-device-plugin", "nvidia-device-plugin-ctr")
# After so many restarts a container that still fails is not waited for, nor an image that cannot be had for so long:
# kubelet has then tried it about as often.
TRIES, IMAGE_SECONDS = 3, 30


def await_offer(
    kubectl: Kubectl, name: str, expected: int | None, resource: str, seconds: float, poll: float
) -> tuple[dict[str, Any], dict[str, str] | None]:
    """The node, and the problem where it does not offer that many within so many seconds.

    expected: None where any number from 1 on will do. An API that is restarting has until the end to come back; one
    that does not is a KubectlError. A device plugin that fails again and again ends it before its time.
    """
    deadline = time.monotonic() + seconds
    failures = Failures()
    while True:
        over = time.monotonic() >= deadline
        try:
            node = kubectl.get("node", name)
            if not node:
                return node, {"kind": "offer", "what": "there is no node {}".format(name), "evidence": ""}
            short = proof.short_of(node, expected, resource)
            if short is None:
                return node, None
            pods = [pod for pod in kubectl.pods_on(name) if "device-plugin" in pod["metadata"]["name"]]
            if failures.hopeless(pods, time.monotonic()) or over:
                short["evidence"] = "\n".join([short["evidence"], *described(kubectl, pods)])
                return node, short
        except KubectlError:
            if over:
                raise
        time.sleep(poll)


class Failures:
    """Which containers of device plugins fail, over several looks at them.

    One that has failed before the first look gets one more try: what it failed for may just have been mended.
    """

    def __init__(self) -> None:
        self.restarts: dict[tuple[str, str], int] = {}
        self.image: dict[tuple[str, str], float] = {}

    def hopeless(self, pods: list[dict[str, Any]], now: float) -> bool:
        """Whether one of them is not worth waiting for, at a time in seconds."""
        own = [(pod, status) for pod in pods if of_nvidia(pod) for status in statuses(pod)]
        # All of them are looked at, to be remembered.
        verdicts = [self._is_hopeless(pod, status, now) for pod, status in own]
        return any(verdicts)

    def _is_hopeless(self, pod: dict[str, Any], status: dict[str, Any], now: float) -> bool:
        key = (pod["metadata"].get("uid", ""), status["name"])
        restarts, reason = status.get("restartCount", 0), waiting_for(status)
        before = self.restarts.setdefault(key, restarts)
        if reason in proof.IMAGE:
            return now - self.image.setdefault(key, now) >= IMAGE_SECONDS
        # A container that cannot even be started shows that (RunContainerError) for most of the time, not the back-off.
        return reason in proof.STUCK and restarts >= TRIES and restarts > before


def of_nvidia(pod: dict[str, Any]) -> bool:
    """Whether it is NVIDIA's device plugin and is to stay."""
    names = [container.get("name") for container in pod["spec"].get("containers") or []]
    return "deletionTimestamp" not in pod["metadata"] and any(name in CONTAINERS for name in names)


def statuses(pod: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The states of a pod's containers, in the order in which they start."""
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from pod["status"].get(kind) or []


def waiting_for(status: dict[str, Any]) -> str:
    """Why a container waits; empty where it does not."""
    reason: str = ((status.get("state") or {}).get("waiting") or {}).get("reason", "")
    return reason


def described(kubectl: Kubectl, pods: list[dict[str, Any]]) -> list[str]:
    """The state of each of these device plugins, with the last lines that it printed."""
    said = []
    for pod in pods:
        failing = next((status for status in statuses(pod) if waiting_for(status) in proof.STUCK | proof.IMAGE), {})
        said += [proof.describe(pod), *former_end(failing), *kubectl.last_lines(pod, container=failing.get("name", ""))]
    return said or ["no pod of a device plugin is on the node"]


def former_end(status: dict[str, Any]) -> list[str]:
    """How a container that has been restarted ended before, such as OOMKilled."""
    end = (status.get("lastState") or {}).get("terminated")
    if not end:
        return []
    form = "{} was restarted {} times, the last time after {}, exit code {}"
    return [form.format(status["name"], status.get("restartCount", 0), end.get("reason", "an end"), end["exitCode"])]
