"""Figures for the README, printed and not asserted: `make bench`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgectl.lab import machine
from edgectl.lab.lifecycle import INOTIFY_PER_NODE
from tests.e2e.cluster import EDGECTL, Cluster, edgectl, lab_status

LAB = "bench"
THREE = ["nuc1:control_plane", "nuc2", "nuc3"]  # no GPU: the shell script sets none up
TEN = ["nuc1:control_plane", *(f"nuc{number}" for number in range(2, 11))]


def seconds(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=1800)
    return time.monotonic() - started


def plain_ansible(inventory: str) -> float:
    started = time.monotonic()
    Cluster(LAB, Path(inventory)).playbook("bootstrap")
    return time.monotonic() - started


def fresh_lab(*options: str) -> str:
    edgectl("lab", "down", "--name", LAB)
    edgectl("lab", "up", "--name", LAB, *options, timeout=3000)
    inventory: str = lab_status(LAB)["inventory"]
    return inventory


def nothing_to_do(inventory: str) -> None:
    again = min(seconds([EDGECTL, "bootstrap", inventory, "--yes"]) for _ in range(5))
    by_ansible = min(plain_ansible(inventory) for _ in range(3))
    print(f"\nwith nothing to do: edgectl bootstrap {again:.2f} s, ansible-playbook {by_ansible:.1f} s")


def test_bootstrap_of_three_machines_beside_the_same_steps_by_a_bare_shell_script() -> None:
    try:
        inventory = fresh_lab("--nodes", ",".join(THREE))
        first = seconds([EDGECTL, "bootstrap", inventory, "--yes"])
        nothing_to_do(inventory)
        fresh_lab("--nodes", ",".join(THREE))
        by_hand = seconds([str(Path(__file__).parent / "by_hand.sh"), LAB])
    finally:
        edgectl("lab", "down", "--name", LAB)
    print(f"bootstrap {first:.0f} s, bare shell script {by_hand:.0f} s, ratio {first / by_hand:.2f}")


def test_ten_machines_with_nothing_to_do() -> None:
    left = machine.inotify_instances_left()
    if left is not None and left < len(TEN) * INOTIFY_PER_NODE:
        pytest.skip("ten nodes want more inotify instances: sudo sysctl fs.inotify.max_user_instances=1024")
    try:
        inventory = fresh_lab("--nodes", ",".join(TEN))
        first = seconds([EDGECTL, "bootstrap", inventory, "--yes"])
        print(f"\nbootstrap of ten machines {first:.0f} s")
        nothing_to_do(inventory)
    finally:
        edgectl("lab", "down", "--name", LAB)


def test_time_until_help_is_on_the_screen() -> None:
    python = [sys.executable, "-c"]
    alone = min(seconds([*python, "pass"]) for _ in range(5))
    typer = min(seconds([*python, "import typer"]) for _ in range(5))
    help_screen = min(seconds([EDGECTL, "--help"]) for _ in range(5))
    print(f"\nedgectl --help {help_screen:.2f} s, `import typer` {typer:.2f} s, ratio {help_screen / typer:.1f}")
    print(f"Python alone {alone:.2f} s")
