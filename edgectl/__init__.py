"""edgectl turns NUCs and Jetson boards into one Kubernetes cluster over WireGuard."""

__version__ = "0.1.0.dev0"
