"""Figures for the README, printed and not asserted: `make bench`."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.e2e.cluster import EDGECTL, edgectl, lab_status

LAB = "bench"


def seconds(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=1800)
    return time.monotonic() - started


def fresh_lab() -> str:
    edgectl("lab", "down", "--name", LAB)
    edgectl("lab", "up", "--name", LAB, timeout=3000)
    inventory: str = lab_status(LAB)["inventory"]
    return inventory


def test_bootstrap_of_three_machines_beside_the_same_steps_by_a_bare_shell_script() -> None:
    try:
        inventory = fresh_lab()
        first = seconds([EDGECTL, "bootstrap", inventory, "--yes"])
        again = min(seconds([EDGECTL, "bootstrap", inventory, "--yes"]) for _ in range(2))
        fresh_lab()
        by_hand = seconds([str(Path(__file__).parent / "by_hand.sh"), LAB])
    finally:
        edgectl("lab", "down", "--name", LAB)
    print(f"\nbootstrap {first:.0f} s, bare shell script {by_hand:.0f} s, ratio {first / by_hand:.2f}")
    print(f"bootstrap with nothing to do {again:.1f} s")


def test_time_until_help_is_on_the_screen() -> None:
    bare = min(seconds(["python3", "-c", "pass"]) for _ in range(5))
    help_screen = min(seconds([EDGECTL, "--help"]) for _ in range(5))
    print(f"\nedgectl --help {help_screen:.2f} s, Python alone {bare:.2f} s")
