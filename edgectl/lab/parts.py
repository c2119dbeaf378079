"""Parts of the artifact directory, each made from one directory of sources.

A part lies in the user's cache under a name that changes with what it is made from, so that a change of one part does
not make the others again. All labs share it.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgectl.lab import manifest
from edgectl.lab.machine import architecture
from edgectl.lab.manifest import Artifact
from edgectl.lab.paths import cache_dir
from edgectl.lab.progress import Progress


@dataclass(frozen=True)
class Part:
    """One part. form: raise it when the same sources are made into something else. fill: makes the files in a
    directory; what the programs say that it runs goes to a log.

    inputs: what decides about it besides its sources. needs: parts that are made before, and that it is made from.
    """

    name: str
    source: Path
    form: int
    fill: Callable[[Path, Path, Progress], list[Artifact]]
    inputs: str = ""
    needs: tuple[Part, ...] = ()

    @property
    def directory(self) -> Path:
        """Where the part of these sources is, made or not."""
        digest = hashlib.sha256(f"{self.form} {architecture()}".encode())
        for path in sorted(self.source.rglob("*")):
            if path.is_file() and not path.name.endswith("_test.go"):
                digest.update(f"{path.relative_to(self.source)}\0".encode() + path.read_bytes() + b"\0")
        digest.update(" ".join([self.inputs, *(part.directory.name for part in self.needs)]).encode())
        return cache_dir() / f"{self.name}-{digest.hexdigest()[:16]}"

    def build(self, progress: Progress) -> Path:
        """Make the part unless it is complete; its directory."""
        wanted = self.directory
        if not manifest.complete(wanted):
            for part in self.needs:
                part.build(progress)
            with one_at_a_time(self.name, progress):
                if not manifest.complete(wanted):
                    wanted.mkdir(parents=True, exist_ok=True)
                    log = build_log(self.name)
                    log.write_text("")
                    artifacts = self.fill(wanted, log, progress)
                    with progress.phase("manifest"):
                        manifest.write(wanted, artifacts)
        return wanted


def build_log(what: str) -> Path:
    """Where the programs that make this thing write what they say. what: as for one_at_a_time."""
    return cache_dir() / f"{what}.log"


@contextmanager
def one_at_a_time(what: str, progress: Progress) -> Iterator[None]:
    """Keep other runs of edgectl from making the same thing at the same time. what: its name in the cache."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with (cache_dir() / f"{what}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.line(f"another edgectl makes {what}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
