"""Ask containerd what it makes of a configuration, and tell settings of one version of its format from another's."""

from __future__ import annotations

import glob
import os

from ansible.module_utils import edgectl_toml as toml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

# Where role nvidia_toolkit says what its runtime is. On containerd 1.x the file repeats the CRI plugin's whole section,
# so whoever asks for the effective settings of everybody else leaves it out.
RUNTIME_DROP_IN = "/etc/containerd/conf.d/50-edgectl-nvidia.toml"

# The table of the CRI plugin that holds runtimes, by the version of the configuration's format.
CRI_V2 = ("plugins", "io.containerd.grpc.v1.cri")
CRI_V3 = ("plugins", "io.containerd.cri.v1.runtime")
# Names by which `disabled_plugins` switches it off, of containerd 1.x and 2.x.
CRI_PLUGINS = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")


class Rejected(Exception):
    """containerd does not accept a configuration; the text is its last word on it."""


def format_of(text: str) -> int:
    """Version of a configuration's format; 0 where it says none."""
    return int(toml.get(text, ("version",)) or 0)


def cri_table(text: str) -> "tuple[str, ...]":
    """The table with the CRI plugin's runtimes, in a configuration or in what `containerd config dump` prints."""
    return CRI_V3 if format_of(text) >= 3 else CRI_V2


def settings(text: str) -> "dict[tuple[str, ...], str]":
    """Every setting of a configuration with its raw value."""
    return {item.path: item.value for item in toml.statements(text) if isinstance(item, toml.Assignment)}


def imported(text: str, path: str) -> "list[str]":
    """Files that a configuration imports, in their order; patterns are relative to the place of the file, `path`."""
    found = []  # type: list[str]
    for pattern in toml.strings(toml.get(text, ("imports",))):
        found += sorted(glob.glob(os.path.join(os.path.dirname(path), pattern)))
    return found


def importing(text: str, files: "Iterable[str]") -> str:
    """The configuration with these imports and no others."""
    names = list(files)
    if not names and toml.get(text, ("imports",)) is None:
        return text
    return toml.put(text, ("imports",), toml.quoted(names))


def dump(module: "Any", path: str, text: str, leave_out: "Iterable[str]" = (), add: "Iterable[str]" = ()) -> str:
    """What containerd makes of a configuration that would stand at `path`, imports included.

    leave_out, add: imported files that are not to count, and further ones that are.
    """
    files = [name for name in imported(text, path) if name not in set(leave_out)] + list(add)
    directory = os.path.dirname(path)
    candidate = os.path.join(directory if os.path.isdir(directory) else module.tmpdir, ".edgectl-candidate")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        with open(os.open(candidate, flags, 0o600), "w", encoding="utf-8") as stream:
            stream.write(importing(text, files))
        rc, out, err = module.run_command(["containerd", "--config", candidate, "config", "dump"])
    finally:
        os.unlink(candidate)
    if rc != 0:
        raise Rejected((err.strip().splitlines() or ["exit code {}".format(rc)])[-1])
    return str(out)
