"""Memory that kubelet keeps from pods, by the size of the board."""

from __future__ import annotations

from typing import Any

# What a cloud keeps on a node for kubelet and the runtime: 255 MiB and 11 MiB for each pod that it may have
# (awslabs/amazon-eks-ami, nodeadm/internal/kubelet/config.go). That is made for nodes of 4 GiB and more; another one
# stops at a quarter of the memory (learn.microsoft.com, "Node resource reservations in AKS", AKS 1.29 and later).
OF_NODE_MIB, OF_POD_MIB, AT_MOST = 255, 11, 4
# A kernel's update moves what is left of the memory by a few KiB, which is no reason to restart anything.
STEP_MIB = 50
# Of both clouds, for memory; k3s' own for disks, which a list without them would take away (docs.k3s.io, "k3s agent").
EVICTION = {"memory.available": "100Mi", "nodefs.available": "5%", "imagefs.available": "5%"}


def reserved(total_kib: int, pods: int) -> dict[str, Any]:
    """Options of KubeletConfiguration for a host with this memory, from which a Jetson's GPU takes its own too."""
    board = total_kib // 1024 // AT_MOST // STEP_MIB * STEP_MIB
    return {
        "kubeReserved": {"memory": f"{min(board, OF_NODE_MIB + OF_POD_MIB * int(pods))}Mi"},
        "evictionHard": dict(EVICTION),
    }


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {"edgectl_reserved": reserved}
