"""Filters for role nvidia_driver: which of a distribution's drivers, and where Debian keeps its own."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from edgectl_checks.gpu import runs_cuda

# nvidia-driver-580-server, (kernel modules provided by linux-modules-nvidia-580-server-generic)
_LISTED = re.compile(r"^nvidia-driver-((\d+)\S*?),? \(kernel modules provided by (\S+)\)", re.MULTILINE)


def ubuntu_driver(listed: str, branch: str = "", cuda: str = "") -> dict[str, Any]:
    """The driver to install of those that `ubuntu-drivers list --gpgpu` names; empty where none of them fits.

    branch: `580`, or more exactly `580-server-open`. cuda: the CUDA release it must run. Ubuntu's advice for servers:
    a -server driver before others, and before a newer one whose module has to be built here one whose module Ubuntu has
    built and signed. (documentation.ubuntu.com/server, NVIDIA drivers installation, 2026-08)
    """
    fitting = [
        (name, number, modules)
        for name, number, modules in _LISTED.findall(listed)
        if runs_cuda(number, cuda) and (not branch or name == branch or name.partition("-")[0] == branch)
    ]
    if not fitting:
        return {}

    def merit(entry: tuple[str, str, str]) -> tuple[bool, bool, bool, int, bool]:
        name, number, modules = entry
        return (
            "-" in branch and name == branch,
            "-server" in name,
            _is_built(modules),
            int(number),
            not name.endswith("-open"),
        )

    name, _, modules = max(fitting, key=merit)
    return {
        "branch": name,
        "built": _is_built(modules),
        "packages": [modules, f"nvidia-headless-no-dkms-{name}", f"nvidia-utils-{name.removesuffix('-open')}"],
    }


def _is_built(modules: str) -> bool:
    return modules.startswith("linux-modules-nvidia-")


def debian_source(sources: str, codename: str, components: list[str]) -> str:
    """A source of apt, in its deb822 form, for more components of the Debian that the host has already; "" if none.

    sources: all source files of the host, an empty line between two. Address and key are the host's own: two sources
    of one address with different keys are an error to apt.
    """
    for fields in _sources(sources):
        suites, uris = fields.get("suites", "").split(), fields.get("uris", "")
        is_main = "main" in fields.get("components", "").split() and fields.get("enabled", "yes") != "no"
        if is_main and {codename, "stable", "oldstable"} & set(suites) and "deb" in fields.get("types", "").split():
            suite = next(suite for suite in (codename, "stable", "oldstable") if suite in suites)
            lines = ["Types: deb", f"URIs: {uris}", f"Suites: {suite}", f"Components: {' '.join(components)}"]
            more = {"signed-by": "Signed-By", "trusted": "Trusted"}
            lines += [f"{more[key]}: {fields[key]}" for key in more if key in fields]
            return "\n".join(["# Written by edgectl (role nvidia_driver).", *lines, ""])
    return ""


def _sources(text: str) -> list[dict[str, str]]:
    """Fields by their names in small letters, of sources in either form."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        old = [re.match(r"(deb(?:-src)?)\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)((?:\s+[^#\s]+)*)", line) for line in lines]
        for entry in filter(None, old):
            types, options, uri, suite, components = entry.groups()
            fields = {"types": types, "uris": uri, "suites": suite, "components": components}
            found.append({**fields, **dict(pair.partition("=")[::2] for pair in (options or "").split())})
        # A line that begins with a blank goes on with the field before it, as a key does that stands in the file.
        found.append(
            {
                name.lower(): value.strip()
                for name, value in re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)", "\n".join(lines), re.MULTILINE)
            }
        )
    return found


class FilterModule:
    """Makes the filters known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {
            "edgectl_ubuntu_driver": ubuntu_driver,
            "edgectl_debian_source": debian_source,
            "edgectl_runs_cuda": runs_cuda,
        }
