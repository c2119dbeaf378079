"""Whether a node offers the GPUs that it should, and what its device plugin says where it does not."""

from __future__ import annotations

import time

from ansible.module_utils import edgectl_gpu_proof as proof
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def await_offer(
    kubectl: Kubectl, name: str, expected: int | None, resource: str, seconds: float, poll: float
) -> tuple[dict[str, Any], dict[str, str] | None]:
    """The node, and the problem where it does not offer that many within so many seconds.

    expected: None where any number from 1 on will do. An API that is restarting has until the end to come back; one
    that does not is a KubectlError.
    """
    deadline = time.monotonic() + seconds
    while True:
        over = time.monotonic() >= deadline
        try:
            node = kubectl.get("node", name)
            if not node:
                return node, {"kind": "offer", "what": "there is no node {}".format(name), "evidence": ""}
            short = proof.short_of(node, expected, resource)
            if short is None:
                return node, None
            if over:
                short["evidence"] = "\n".join([short["evidence"], *device_plugins(kubectl, name)])
                return node, short
        except KubectlError:
            if over:
                raise
        time.sleep(poll)


def device_plugins(kubectl: Kubectl, node: str) -> list[str]:
    """The state of each of NVIDIA's device plugins on a node, with the last lines that it printed."""
    pods = [pod for pod in kubectl.pods_on(node) if "device-plugin" in pod["metadata"]["name"]]
    said = [line for pod in pods for line in (proof.describe(pod), *kubectl.last_lines(pod))]
    return said or ["no pod of a device plugin is on the node"]
