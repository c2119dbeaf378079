"""The program that proves a GPU, with a stand-in for NVIDIA's library that is compiled here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgectl import content

PROGRAM = content.root() / "roles" / "device_plugin" / "files" / "gpu_check.py"
SOURCE = Path(__file__).with_name("libcuda.c")
NODES = {
    "jetson": ["nvhost-gpu", "nvmap"],
    "jetson 6": ["nvgpu/igpu0/channel", "nvmap"],
    "thor": ["nvidia0", "nvidiactl"],
    "dgpu": ["nvidia0", "nvidiactl", "nvidia-uvm"],
}
# The program as it is, over a directory that holds dev/.
RUN = "import sys, runpy; sys.exit(runpy.run_path(sys.argv[1])['main'](sys.argv[3:], root=sys.argv[2]))"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles the stand-in; gives the directory that the linker has to look into."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here, so there is nothing that could stand for NVIDIA's library")

    def make(*options: str) -> Path:
        directory = tmp_path_factory.mktemp("lib")
        subprocess.run([compiler, "-shared", "-fPIC", *options, "-o", directory / "libcuda.so.1", SOURCE], check=True)
        return directory

    return make


@pytest.fixture(scope="session")
def working(library: Callable[..., Path]) -> Path:
    return library()


@pytest.fixture
def container(tmp_path: Path) -> Callable[..., Path]:
    """A root directory with the device nodes of a kind of machine."""

    def make(kind: str) -> Path:
        for node in NODES[kind]:
            file = tmp_path / "dev" / node
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        return tmp_path

    return make


def start(root: Path, library: Path | None, *arguments: str, **env: str) -> subprocess.Popen[str]:
    env = {"PATH": "/nowhere", "LD_LIBRARY_PATH": str(library or ""), "NVIDIA_VISIBLE_DEVICES": "0", **env}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, PROGRAM, root, *arguments], env=env, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def check(
    root: Path, library: Path | None = None, *, platform: str = "jetson", **env: str
) -> tuple[int, dict[str, Any]]:
    """Exit code and answer, which is one line on standard output and nothing else there."""
    process = start(root, library, "--platform", platform, **env)
    out, err = process.communicate(timeout=60)
    assert len(out.splitlines()) == 1, out + err
    return process.returncode, json.loads(out)


@pytest.mark.parametrize("kind", NODES)
def test_a_gpu_that_adds_a_million_numbers_rightly_is_proved(
    container: Callable[..., Path], working: Path, kind: str
) -> None:
    code, answer = check(container(kind), working, platform="dgpu" if kind == "dgpu" else "jetson")
    assert code == 0, answer
    assert answer["ok"]
    assert answer["computed"]
    assert not answer["simulated"]
    assert answer["problems"] == []
    assert answer["nodes"] == sorted(f"/dev/{node}" for node in NODES[kind])
    assert answer["library"] == str(working / "libcuda.so.1")
    seen = [answer[key] for key in ("name", "compute_capability", "cuda", "memory_mib", "devices", "visible_devices")]
    assert seen == ["Orin", "8.7", "12.6", 15656, 1, "0"]
    assert answer["computation"]["elements"] == 1 << 20


@pytest.mark.parametrize(
    ("behaviour", "what"),
    [
        ("wrong", "the GPU computes wrongly"),
        ("idle", "the GPU computes wrongly"),
        ("no-device", "CUDA finds no GPU"),
        ("no-init", "cuInit failed: CUDA_ERROR_UNKNOWN (unknown error)"),
        ("no-jit", "cuModuleLoadData failed: CUDA_ERROR_INVALID_PTX"),
    ],
)
def test_a_gpu_that_does_not_compute_is_told_by_the_step_that_failed(
    container: Callable[..., Path], working: Path, behaviour: str, what: str
) -> None:
    code, answer = check(container("jetson"), working, BEHAVIOUR=behaviour)
    assert code == 1
    assert not answer["ok"]
    assert not answer["computed"]
    assert [problem["what"] for problem in answer["problems"]] == [what]


def test_one_wrong_sum_among_a_million_is_counted_and_shown(container: Callable[..., Path], working: Path) -> None:
    _, answer = check(container("jetson"), working, BEHAVIOUR="wrong")
    assert answer["problems"][0]["evidence"].startswith("1 of 1048576 sums are wrong; number 1048575 is ")


def test_a_library_that_says_it_is_the_labs_is_not_asked_to_compute(
    container: Callable[..., Path], library: Callable[..., Path]
) -> None:
    code, answer = check(container("jetson"), library("-DSIMULATED"))
    assert code == 0
    assert (answer["ok"], answer["simulated"], answer["computed"]) == (True, True, False)
    assert "name" not in answer


def test_a_simulated_gpu_must_have_its_device_nodes_all_the_same(tmp_path: Path, library: Callable[..., Path]) -> None:
    code, answer = check(tmp_path, library("-DSIMULATED"))
    assert code == 1
    assert [problem["what"] for problem in answer["problems"]] == ["the GPU's device nodes are not in the container"]


def test_a_container_without_anything_of_nvidias_says_both_things_that_are_missing(tmp_path: Path) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has NVIDIA's driver, so its library can be loaded")
    code, answer = check(tmp_path, NVIDIA_VISIBLE_DEVICES="")
    assert code == 1
    nodes, loaded = answer["problems"]
    assert nodes["evidence"].endswith("none is there; NVIDIA_VISIBLE_DEVICES is not set")
    assert loaded["what"] == "libcuda.so.1 cannot be loaded in the container"
    assert "libcuda.so.1" in loaded["evidence"]


def test_a_discrete_gpu_without_unified_memory_is_not_enough(tmp_path: Path, container: Callable[..., Path]) -> None:
    container("dgpu")
    (tmp_path / "dev" / "nvidia-uvm").unlink()
    _, answer = check(tmp_path, platform="dgpu")
    assert "there is /dev/nvidia0, /dev/nvidiactl;" in answer["problems"][0]["evidence"]


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (
            "echo 'NVIDIA L4, 595.91.07, 23034 MiB'",
            {"gpus": [{"name": "NVIDIA L4", "driver": "595.91.07", "memory": "23034 MiB"}]},
        ),
        ("echo 'No devices were found'; exit 6", {"error": "No devices were found"}),
    ],
)
def test_nvidia_smi_is_reported_where_it_is_there(
    tmp_path: Path, container: Callable[..., Path], working: Path, said: str, answered: dict[str, Any]
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "nvidia-smi").write_text(f"#!/bin/sh\n{said}\n")
    (programs / "nvidia-smi").chmod(0o755)
    code, answer = check(container("dgpu"), working, platform="dgpu", PATH=f"{programs}:{os.environ['PATH']}")
    assert code == 0
    assert answer["nvidia_smi"] == answered


def test_it_holds_its_place_after_the_answer_until_it_is_asked_to_end(
    container: Callable[..., Path], working: Path
) -> None:
    process = start(container("jetson"), working, "--platform", "jetson", "--hold", "600")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["ok"]
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 0


@pytest.mark.parametrize(("capability", "target"), [((7, 2), 50), ((7, 5), 75), ((8, 7), 75), ((11, 0), 75)])
def test_the_program_is_text_for_a_gpu_that_the_driver_still_knows(capability: tuple[int, int], target: int) -> None:
    import runpy

    ptx = runpy.run_path(str(PROGRAM))["ptx_for"](capability)
    assert f".target sm_{target}\n" in ptx
    assert "{{" not in ptx


def test_nothing_in_it_is_newer_than_python_3_8() -> None:
    import ast

    ast.parse(PROGRAM.read_text(), feature_version=(3, 8))
