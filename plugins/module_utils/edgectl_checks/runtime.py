"""Can containerd on this host run Kubernetes' pods?"""

from __future__ import annotations

from typing import Optional

from .model import Finding, HostState, check
from .versions import at_least, hard_minimum, tested_minimum


@check(layer="runtime", id="R-CONTAINERD-CRI-DISABLED", nodes_only=True)
def cri_plugin_is_on(host: HostState) -> Optional[Finding]:
    """Docker's containerd.io package ships `disabled_plugins = ["cri"]`; kubelet cannot use it so."""
    disabled = host.containerd.disabled_plugins or []
    if not {"cri", "io.containerd.grpc.v1.cri"} & set(disabled):
        return None
    if host.option("containerd_enable_cri", "refuse") == "allow":
        return None
    user = "Docker" if host.containerd.docker_owned else "another program"
    return Finding(
        what=f"containerd's CRI plugin is switched off, and {user} uses this containerd",
        evidence=f"{host.containerd.config_path}: disabled_plugins = {disabled}",
        fix="set containerd_enable_cri: allow   (containerd restarts once; running Docker containers go on)",
    )


@check(layer="runtime", id="R-CONTAINERD-TOO-OLD", nodes_only=True)
def containerd_fits_kubernetes(host: HostState) -> Optional[Finding]:
    have, kubernetes = host.containerd.version, str(host.option("cluster_version", ""))
    if not have or not kubernetes:
        return None
    evidence = f"containerd {have} ({host.containerd.package or 'not from a package'})"
    needed = hard_minimum(kubernetes)
    if needed and not at_least(have, needed):
        return Finding(
            what=f"Kubernetes {kubernetes} needs containerd {needed} or newer",
            evidence=evidence,
            fix="upgrade containerd on this host, or set cluster_version to an older Kubernetes",
        )
    tested = tested_minimum(kubernetes, have)
    # Debian and Ubuntu carry fixes back without raising the number.
    if tested and not at_least(have, tested) and host.containerd.package != "containerd":
        return Finding(
            what=f"containerd's makers test Kubernetes {kubernetes} with containerd {tested} or newer",
            evidence=evidence,
            fix=f"sudo apt install --only-upgrade {host.containerd.package or 'containerd.io'}",
            severity="warning",
        )
    return None


@check(layer="runtime", id="R-OVERLAY-MISSING", nodes_only=True)
def overlayfs_is_there(host: HostState) -> Optional[Finding]:
    available = host.kernel.module_available
    if not available or available.overlay is not False:
        return None
    return Finding(
        what="this kernel lacks overlayfs, which holds the containers' file systems",
        evidence=f"kernel {host.kernel.release}: neither built in (CONFIG_OVERLAY_FS) nor among its modules",
        fix="use a kernel with CONFIG_OVERLAY_FS; after a kernel update: sudo reboot",
    )
