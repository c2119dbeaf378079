"""The lab's stand-in for k3s, installed on a node the way get.k3s.io lays it out, without edgectl.

Layout: k3s-io/k3s, install.sh (0136cf2): program, links, scripts, .env file and unit, with the arguments in ExecStart.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import yaml

from edgectl.lab import login, record
from tests.e2e.cluster import Cluster, wait_for

UNIT = """\
[Unit]
Description=Lightweight Kubernetes
Documentation=https://k3s.io
Wants=network-online.target
After=network-online.target

[Install]
WantedBy=multi-user.target

[Service]
Type=notify
EnvironmentFile=-/etc/default/%N
EnvironmentFile=-/etc/sysconfig/%N
EnvironmentFile=-/etc/systemd/system/{name}.service.env
KillMode=process
Delegate=yes
User=root
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
TimeoutStartSec=0
Restart=always
RestartSec=5s
ExecStart=/usr/local/bin/k3s \\
    {role} \\
{arguments}
"""
KILLALL = """\
#!/bin/sh
systemctl stop k3s k3s-agent 2>/dev/null
for shim in $(pgrep --full '^/var/lib/rancher/k3s/data/[^/]*/bin/containerd-shim'); do
    kill -9 $(pgrep --parent "$shim") "$shim"
done
awk '$2 ~ "^(/run/k3s|/var/lib/kubelet/pods|/run/netns/cni-)" {print $2}' /proc/mounts | sort -r | xargs -r umount -l
ip link delete cni0; ip link delete flannel.1
iptables-save | grep -v -e KUBE- -e CNI- -e FLANNEL- -e flannel | iptables-restore
rm -rf /var/lib/cni /run/netns/cni-*
true
"""
UNINSTALL = """\
#!/bin/sh
/usr/local/bin/k3s-killall.sh
systemctl disable {name}
rm -rf /etc/systemd/system/{name}.service /etc/systemd/system/{name}.service.env /etc/rancher /run/k3s /run/flannel
rm -rf /var/lib/rancher /var/lib/kubelet /usr/local/bin/k3s /usr/local/bin/kubectl /usr/local/bin/crictl
rm -rf /usr/local/bin/ctr /usr/local/bin/k3s-killall.sh /var/log/pods /var/log/containers
systemctl daemon-reload
rm /usr/local/bin/{script}
"""
DATA = "/var/lib/rancher/k3s"


def install(
    cluster: Cluster, node: str, role: str, arguments: list[str], variables: dict[str, str], config: str
) -> None:
    """Install and start it; role: server or agent."""
    name, script = ("k3s", "k3s-uninstall.sh") if role == "server" else ("k3s-agent", "k3s-agent-uninstall.sh")
    artifacts = Path(options(cluster)["cluster_artifacts_dir"])
    files = json.loads((artifacts / "manifest.json").read_text())["files"]
    paths = {file["kind"]: file["path"] for file in files if file["name"] == "k3s"}
    put(cluster, node, "/usr/local/bin/k3s", (artifacts / paths["binary"]).read_bytes(), "755")
    # Nothing can be pulled in the lab.
    put(cluster, node, f"{DATA}/agent/images/images.tar", (artifacts / paths["images"]).read_bytes(), "644")
    # What kubelet needs in the lab, whoever installs it.
    kubelet = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    text = yaml.safe_dump({**kubelet, **options(cluster)["k3s_kubelet_config"]})
    put(cluster, node, f"{DATA}/agent/etc/kubelet.conf.d/05-lab.conf", text, "600")
    put(cluster, node, "/usr/local/bin/k3s-killall.sh", KILLALL, "755")
    put(cluster, node, f"/usr/local/bin/{script}", UNINSTALL.format(name=name, script=script), "755")
    cluster.ssh(node, "cd /usr/local/bin && for name in kubectl crictl ctr; do ln -sf k3s $name; done")
    quoted = "".join(f"\t{shlex.quote(argument)} \\\n" for argument in arguments)
    put(
        cluster, node, f"/etc/systemd/system/{name}.service", UNIT.format(name=name, role=role, arguments=quoted), "644"
    )
    environment = "".join(f"{key}='{value}'\n" for key, value in variables.items())
    put(cluster, node, f"/etc/systemd/system/{name}.service.env", environment, "600")
    if config:
        put(cluster, node, "/etc/rancher/k3s/config.yaml", config, "600")
    cluster.ssh(node, f"systemctl daemon-reload && systemctl enable {name} && systemctl restart {name}", timeout=300)


def uninstall(cluster: Cluster, node: str, role: str) -> None:
    cluster.ssh(node, "k3s-uninstall.sh" if role == "server" else "k3s-agent-uninstall.sh", timeout=300)


def put(cluster: Cluster, node: str, path: str, content: bytes | str, mode: str) -> None:
    directory = path.rpartition("/")[0]
    shell = f"mkdir -p {directory} && cat > {path}.new && chmod {mode} {path}.new && mv {path}.new {path}"
    command = login.command(record.require(cluster.lab), node, ["sudo", "sh", "-c", shlex.quote(shell)])
    data = content if isinstance(content, bytes) else content.encode()
    subprocess.run(command, input=data, check=True, timeout=300)


def options(cluster: Cluster) -> dict[str, object]:
    """What the lab's inventory says for all hosts."""
    found: dict[str, object] = {}
    for file in sorted((cluster.inventory / "group_vars").rglob("*.yml")):
        found.update(yaml.safe_load(file.read_text()) or {})
    return found


def kubectl(cluster: Cluster, *arguments: str, check: bool = True) -> str:
    """As root on the server, for there is no edgectl yet."""
    return cluster.ssh("nuc1", f"k3s kubectl {shlex.join(arguments)}", check=check)


def nodes(cluster: Cluster) -> dict[str, str]:
    """Ready nodes and their addresses."""
    found = {}
    for node in json.loads(kubectl(cluster, "get", "nodes", "-o", "json"))["items"]:
        conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
        addresses = {address["type"]: address["address"] for address in node["status"]["addresses"]}
        if conditions.get("Ready") == "True":
            found[node["metadata"]["name"]] = addresses["InternalIP"]
    return found


def wait_for_nodes(cluster: Cluster, wanted: dict[str, str]) -> None:
    wait_for(f"nodes {wanted}", lambda: nodes(cluster) == wanted, 240, 3)
