"""A recording as one YAML file: read, checked, written, laid out as a root directory, replayed through the probe."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from edgectl import content
from edgectl.errors import EdgectlError, UsageError

SCHEMA_VERSION = 1
_PCI_VENDOR = r"/sys/bus/pci/devices/[^/]+/vendor"
Kind = Literal["captured", "constructed"]


@dataclass(frozen=True)
class Recording:
    """A host as the probe sees it.

    kind: `captured` from a real host, or `constructed` from documentation, with its `sources` then.
    title: what the host is, for people. date: YYYY-MM-DD. edgectl: the version that wrote it.
    files: text by absolute path; a path that ends in .gz is packed when it is laid out.
    present: paths of which only the existence is known. commands: outputs by the probe's names for them.
    measured: what neither a file nor a command tells, such as the time. document: what the probe says of all this;
    empty in a constructed recording, which no probe has seen on a board.
    """

    kind: Kind
    title: str
    date: str
    edgectl: str
    sources: list[str] = field(default_factory=list)
    taken_out: list[str] = field(default_factory=list)
    not_readable: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    present: list[str] = field(default_factory=list)
    commands: dict[str, str] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)

    @property
    def is_jetson(self) -> bool:
        """Whether the recorded host runs NVIDIA's Jetson Linux."""
        return "/etc/nv_tegra_release" in self.files

    @property
    def has_discrete_gpu(self) -> bool:
        """Whether the recorded host has an NVIDIA GPU on its PCI bus, and is no Jetson."""
        return not self.is_jetson and any(
            text.strip() == "0x10de" for path, text in self.files.items() if re.fullmatch(_PCI_VENDOR, path)
        )

    def lay_out(self, root: Path) -> None:
        """Write the recording as a directory that the probe takes for a host's root."""
        lay_out_files(self.files, root)
        for path in self.present:
            _write(root, path, b"")
        for name, text in self.commands.items():
            _write(root, f"/.commands/{name}", text.encode())
        _write(root, "/.commands/measured", json.dumps(self.measured).encode())

    def replay(self) -> dict[str, Any]:
        """The probe's document of this recording, without the time that the probe took."""
        script = content.root() / "plugins" / "module_utils" / "edgectl_probe.py"
        with tempfile.TemporaryDirectory(prefix="edgectl-recording-") as root:
            self.lay_out(Path(root))
            answer = subprocess.run([sys.executable, script, root], capture_output=True, text=True, check=True)
        document: dict[str, Any] = json.loads(answer.stdout)
        del document["duration_s"]
        return document

    def to_yaml(self) -> str:
        """The file's text: what a person looks at first comes first, texts stand as they are."""
        import yaml

        class Dumper(yaml.SafeDumper):
            """Writes texts of several lines as blocks, and nothing as a reference to something above."""

            def ignore_aliases(self, data: object) -> bool:
                return True

        def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
            style = "|" if "\n" in value and "\t" not in value else None
            return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

        Dumper.add_representer(str, text)
        whole = {"schema_version": SCHEMA_VERSION, **asdict(self)}
        return "---\n" + yaml.dump(whole, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)


def lay_out_files(files: Mapping[str, str], root: Path) -> None:
    """Write files of a recording below a directory."""
    for path, text in files.items():
        packed = path.endswith(".gz")
        _write(root, path, gzip.compress(text.encode(), mtime=0) if packed else text.encode())


def _write(root: Path, path: str, data: bytes) -> None:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def load(path: Path) -> Recording:
    """Read a recording; raises UsageError with the reason when the file holds none."""
    import yaml

    try:
        whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the recording {path} cannot be read", str(error.strerror or error)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no recording", f"it is not YAML: {str(error).splitlines()[0]}") from error
    trouble = _trouble(whole)
    if trouble:
        raise UsageError(f"{path} is no recording", trouble, "edgectl probe HOST --record FILE writes one")
    del whole["schema_version"]
    return Recording(**whole)


def _trouble(whole: object) -> str:
    """What is wrong with a document that should be a recording; "" when nothing is."""
    if not isinstance(whole, dict):
        return "it holds no mapping"
    if whole.get("schema_version") != SCHEMA_VERSION:
        return f"its schema_version is {whole.get('schema_version')}, and this edgectl knows {SCHEMA_VERSION}"
    known = {known.name for known in fields(Recording)} | {"schema_version"}
    needed = {"captured": "document", "constructed": "sources"}.get(str(whole.get("kind")), "kind")
    missing = {"kind", "title", "date", "edgectl", "files", needed} - set(whole)
    if missing or set(whole) - known:
        wrong = [f"{name} is missing" for name in sorted(missing)]
        return ", ".join(wrong + [f"{name} is unknown" for name in sorted(map(str, set(whole) - known))])
    if whole["kind"] not in ("captured", "constructed"):
        return f"its kind is {whole['kind']!r}, neither captured nor constructed"
    texts = [*whole["files"].items(), *whole.get("commands", {}).items()]
    outside = [path for path in [*whole["files"], *whole.get("present", [])] if not _is_plain(path)]
    if outside:
        return f"{outside[0]!r} is no absolute path below the root"
    odd = [name for name, text in texts if not isinstance(text, str)] + [
        name for name in whole.get("commands", {}) if "/" in name
    ]
    return f"{odd[0]} holds no text" if odd else ""


def _is_plain(path: object) -> bool:
    """An absolute path that leads nowhere else: a recording may come from somebody we do not know."""
    return isinstance(path, str) and path.startswith("/") and ".." not in path.split("/")


def save(recording: Recording, path: Path) -> None:
    """Write a new file; an existing one is not replaced."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(recording.to_yaml())
    except FileExistsError as error:
        raise UsageError(f"{path} exists", fix="give --record the name of a new file") from error
    except OSError as error:
        raise EdgectlError(f"the recording cannot be written to {path}", str(error.strerror or error)) from error
