"""The lab's own Go programs pass their own tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted({path.parent.relative_to(ROOT / "lab") for path in (ROOT / "lab").rglob("*_test.go")})


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
@pytest.mark.parametrize("module", MODULES, ids=str)
def test_the_modules_tests_pass(module: Path) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
    for verb in ("vet", "test"):
        done = subprocess.run(
            ["go", verb, "./..."],
            cwd=ROOT / "lab" / module,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_such_modules() -> None:
    assert Path("nvidia/deviceplugin") in MODULES
