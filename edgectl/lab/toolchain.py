"""Finds a Go toolchain that can build the pinned modules, or fetches a pinned one through the Go module proxy."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import urllib.request
import zipfile
from pathlib import Path

from edgectl.errors import EdgectlError
from edgectl.lab.machine import run
from edgectl.lab.parts import one_at_a_time
from edgectl.lab.paths import cache_dir
from edgectl.lab.progress import Progress

# From 1.21 on a toolchain fetches a newer one by itself when go.mod asks for it.
OLDEST = (1, 21)
FETCHED = "go1.25.5"
# Sums of the module golang.org/toolchain at FETCHED, as Go's checksum database has them.
SUMS = {"amd64": "h1:IkknVKy/4hLMR+ZwWfP4Oqhjz2sKqNtEXz1meP8P3Nc="}


def find_or_fetch(arch: str, progress: Progress) -> Path:
    """Path of a usable `go`. arch: Go's name of this machine's architecture."""
    fetched = cache_dir() / f"{FETCHED}-{arch}"
    candidates = [
        shutil.which("go"),
        "/usr/local/go/bin/go",
        *sorted(Path("/usr/lib").glob("go-*/bin/go")),
        fetched / "bin" / "go",
    ]
    for candidate in candidates:
        if candidate and _usable(Path(candidate)):
            return Path(candidate)
    if arch not in SUMS:
        raise _no_toolchain(f"none is pinned for {arch}")
    if not _proxy():
        raise _no_toolchain("GOPROXY names no module proxy to fetch one from")
    with one_at_a_time(fetched.name, progress):
        if not _usable(fetched / "bin" / "go"):  # another run may have fetched it meanwhile
            with progress.phase(f"fetch {FETCHED}"):
                _fetch(arch, fetched)
    return fetched / "bin" / "go"


def _usable(go: Path) -> bool:
    return go.exists() and version(go) >= OLDEST


def version(go: Path) -> tuple[int, ...]:
    """Version of a toolchain, as numbers."""
    said = run([go, "version"], env={"GOTOOLCHAIN": "local"}, check=False).stdout
    found = re.search(r"\bgo(\d+)\.(\d+)", said)
    return tuple(int(number) for number in found.groups()) if found else ()


def _fetch(arch: str, target: Path) -> None:
    module = f"golang.org/toolchain@v0.0.1-{FETCHED}.linux-{arch}"
    url = f"{_proxy()}/golang.org/toolchain/@v/v0.0.1-{FETCHED}.linux-{arch}.zip"
    archive = target.with_name(target.name + ".zip")
    archive.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urllib.request.urlopen(url, timeout=60) as reply, archive.open("wb") as file:  # noqa: S310
            shutil.copyfileobj(reply, file)
    except OSError as error:
        raise _no_toolchain(f"{url}: {error}") from error
    with zipfile.ZipFile(archive) as zipped:
        if module_sum(zipped) != SUMS[arch]:
            raise EdgectlError(f"{url} is not the pinned toolchain", f"its sum is {module_sum(zipped)}")
        unpack(zipped, module + "/", target)
    archive.unlink()


def _no_toolchain(why: str) -> EdgectlError:
    return EdgectlError(
        "there is no Go toolchain here and none can be fetched",
        why,
        "install Go 1.21 or newer into /usr/local/go, then edgectl lab build",
    )


def _proxy() -> str:
    """The first module proxy that the user's GOPROXY names, or nothing."""
    named = re.split(r"[,|]", os.environ.get("GOPROXY", ""))[0]
    return named.rstrip("/") if named.startswith("http") else ""


def module_sum(zipped: zipfile.ZipFile) -> str:
    """Go's `h1:` sum of a module: sha256 over the sorted list of the files' sha256 and names."""
    listing = hashlib.sha256()
    for name in sorted(zipped.namelist()):
        digest = hashlib.sha256(zipped.read(name)).hexdigest()
        listing.update(f"{digest}  {name}\n".encode())
    return "h1:" + base64.b64encode(listing.digest()).decode()


def unpack(zipped: zipfile.ZipFile, prefix: str, target: Path) -> None:
    """Unpack a toolchain's module; the form of modules has no file modes, so its programs are made executable."""
    partial = target.with_name(target.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    for entry in zipped.infolist():
        path = partial / entry.filename.removeprefix(prefix)
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipped.open(entry) as source, path.open("wb") as file:
            shutil.copyfileobj(source, file)
        if path.parent.name == "bin" or "pkg/tool/" in entry.filename:
            path.chmod(0o755)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
