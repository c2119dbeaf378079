"""Makes the container image of the tests' pods: one static Go program, no base image, nothing fetched."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

IMAGE = "edgectl.test/netcheck:1"


def build(directory: Path) -> Path:
    """Build the program and wrap it into an archive that `ctr images import` reads; returns the archive's path."""
    program = directory / "netcheck"
    go = next((path for path in ("/usr/local/go/bin/go", "/usr/bin/go") if Path(path).exists()), "go")
    subprocess.run(
        [go, "build", "-buildvcs=false", "-trimpath", "-o", str(program), "."],
        cwd=Path(__file__).parent / "netcheck",
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
    )
    layer = _tar({"netcheck": (program.read_bytes(), 0o755)})
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": ["/netcheck"], "Cmd": ["serve", "8080"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]).encode()
    archive = directory / "netcheck.tar"
    archive.write_bytes(
        _tar({"manifest.json": (manifest, 0o644), "config.json": (config, 0o644), "layer.tar": (layer, 0o644)})
    )
    return archive


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    """A docker-archive wants plain tar files; the form is described in the image specification v1.2 of moby."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
