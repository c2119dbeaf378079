"""The recorder as the module that it is on a host, and trees of recorded hosts to record again."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "plugins" / "module_utils"))

TREES = Path(__file__).parents[1] / "probe" / "data"


@pytest.fixture
def control_plane(tmp_path):
    """A control plane's tree, with a process that holds the API's socket."""
    root = tmp_path / "control-plane"
    shutil.copytree(TREES / "debian12_control_plane", root)
    (root / "proc/900/fd").mkdir()
    (root / "proc/900/fd/7").symlink_to("socket:[31003]")
    return root


@pytest.fixture
def talkative(tmp_path):
    """A host whose files and outputs are full of what must not leave it."""
    root = tmp_path / "talkative"
    texts = {
        "/proc/sys/kernel/hostname": "attic-nuc",
        "/proc/sys/kernel/osrelease": "6.8.0-60-generic",
        "/proc/sys/kernel/random/boot_id": "0f0e0d0c-0b0a-4908-8706-050403020100",
        "/etc/machine-id": "5b0d3c0c7b9f4f1c9a3e2f6d8c1b4a70",
        "/etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n',
        "/etc/ssh/ssh_host_ed25519_key.pub": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPfWZsRsszVdVa13WXMKjIGYjGYQtlp9",
        "/sys/class/dmi/id/product_uuid": "A1B2C3D4-0000-1111-2222-333344445555",
        "/proc/cmdline": (
            'root=UUID=6c2ffabc-77aa ro quiet cgroup_enable=memory serialno=1421 motd="at annas" net=203.0.114.7'
        ),
        "/proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\n",
        "/proc/swaps": (
            "Filename Type Size Used Priority\n/home/anna/swapfile file 4096 0 -2\n"
            "/dev/mapper/dachboden--vg-swap partition 4096 0 -3\n/dev/zram0 partition 4096 0 5\n"
        ),
        "/proc/net/tcp": (
            "  sl  local_address rem_address st\n"
            "   0: 0501A8C0:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 501 1\n"
            "   1: 0501A8C0:0016 0872CB0B:C350 01 00000000:00000000 00:00000000 00000000 1000 0 502 1\n"
        ),
        "/etc/ufw/user.rules": (
            "### tuple ### allow tcp 22 0.0.0.0/0 any 11.203.114.8 in comment=616e6e61\n"
            "-A ufw-user-input -s 11.203.114.8\n"
        ),
        "/etc/containerd/config.toml": (
            'version = 2\n[plugins."io.containerd.grpc.v1.cri".registry.configs."registry.anna.example".auth]\n'
            '  password = "hunter2"\n  version = "x"\n'
        ),
        "/usr/bin/containerd": "",
        "/run/edgectl.lock": '{"owner": "anna@attic-laptop", "pid": 7}',
        "/.commands/ip-address": (
            '[{"ifname": "enx3c6d66aabbcc", "link_type": "ether", "address": "3c:6d:66:aa:bb:cc", "mtu": 1500,'
            ' "ifalias": "annas dongle", "addr_info": [{"local": "192.168.1.5", "prefixlen": 24},'
            ' {"local": "11.203.114.9", "prefixlen": 24}, {"local": "fe80::3e6d:66ff:feaa:bbcc", "prefixlen": 64},'
            ' {"local": "2a02:810d:1::3e6d:66ff:feaa:bbcc", "prefixlen": 64}]}]'
        ),
        "/.commands/ip-route": '[{"dst": "default", "gateway": "11.203.114.1", "dev": "enx3c6d66aabbcc"}]',
        "/.commands/wireguard": (
            "wg0\tqK0pDVbSGJpTKXzQ2hYRzX3XgC1V8YVzMZMGvLQGxWk=\tPubPubPubPubPubPubPubPubPubPubPubPubPubPub3=\t51871\toff\n"
            "wg0\tPeePeePeePeePeePeePeePeePeePeePeePeePeePee2=\tPrePrePrePrePrePrePrePrePrePrePrePrePrePre1=\t"
            "11.203.114.8:51871\t10.200.0.2/32\t1700000000\t1\t2\t25\n"
        ),
        "/.commands/chronyc": "C0A80101,router.anna.example,3,1,2,3,4,5,6,7,8,9,10,Normal\n",
        "/.commands/units": "Id=ssh@attic-nuc.service\nLoadState=loaded\nActiveState=active\nSubState=running\n",
    }
    for path, text in texts.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root
