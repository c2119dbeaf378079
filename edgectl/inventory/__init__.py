"""The user's Ansible inventory as a typed model, checked before anything is touched."""

from edgectl.inventory.load import load, needs_password, read
from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.state import ClusterState, HostState, StateFile
from edgectl.inventory.vault import Vault

__all__ = [
    "ClusterState",
    "Host",
    "HostState",
    "Inventory",
    "StateFile",
    "Vault",
    "load",
    "needs_password",
    "read",
]
