"""Makes Debian packages and a repository of them that apt reads, with nothing but dpkg-deb."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgectl.lab.machine import run

# What dpkg runs; all else below DEBIAN/ it reads.
_SCRIPTS = ("preinst", "postinst", "prerm", "postrm")


@dataclass(frozen=True)
class Package:
    """A package's fields. description: one line. depends: as in a control file, "" for nothing."""

    name: str
    version: str
    architecture: str
    description: str
    depends: str = ""

    @property
    def control(self) -> str:
        """The control file."""
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": self.architecture,
            "Maintainer": "edgectl lab <nobody@localhost>",
            "Section": "misc",
            "Priority": "optional",
            "Depends": self.depends,
            "Description": self.description,
        }
        return "".join(f"{key}: {value}\n" for key, value in fields.items() if value)

    @property
    def filename(self) -> str:
        """Name of the archive."""
        return f"{self.name}_{self.version}_{self.architecture}.deb"


def build(package: Package, content: Path, into: Path) -> Path:
    """Make the archive of a package. content: its files, with DEBIAN/ where it has scripts; gets the control file."""
    control = content / "DEBIAN"
    control.mkdir(parents=True, exist_ok=True)
    (control / "control").write_text(package.control)
    for path in (content, *content.rglob("*")):
        if path.is_symlink():
            continue
        program = path.parent.name == "bin" or (path.parent == control and path.name in _SCRIPTS)
        path.chmod(0o755 if path.is_dir() or program else 0o644)
    into.mkdir(parents=True, exist_ok=True)
    archive = into / package.filename
    # Fast: it takes longer to save the lab's disk some space than it is worth.
    run(
        ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", content, archive],
        env={"SOURCE_DATE_EPOCH": "0"},
    )
    return archive


def write_index(repository: Path, distribution: str, architecture: str, packages: Mapping[Path, Package]) -> None:
    """Write the lists of a repository. packages: archive below it -> its fields. distribution: "" makes a flat one."""
    place = repository / "dists" / distribution if distribution else repository
    relative = f"main/binary-{architecture}/Packages" if distribution else "Packages"
    (place / relative).parent.mkdir(parents=True, exist_ok=True)
    (place / relative).write_text("\n".join(_entry(repository, path, package) for path, package in packages.items()))
    data = (place / relative).read_bytes()
    named = f"Suite: {distribution}\nCodename: {distribution}\nComponents: main\n" if distribution else ""
    (place / "Release").write_text(
        f"Origin: edgectl lab\n{named}Architectures: {architecture}\nDate: Thu, 01 Jan 1970 00:00:00 UTC\n"
        f"SHA256:\n {hashlib.sha256(data).hexdigest()} {len(data)} {relative}\n"
    )


def _entry(repository: Path, archive: Path, package: Package) -> str:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return (
        f"{package.control}Filename: {archive.relative_to(repository)}\n"
        f"Size: {archive.stat().st_size}\nSHA256: {digest}\n"
    )


def lay_out(content: Path, trees: Sequence[Path], files: Mapping[str, Path], links: Mapping[str, str]) -> None:
    """Lay a package's content out anew. trees: directories to copy. files, links: path in the package -> what it is."""
    shutil.rmtree(content, ignore_errors=True)
    content.mkdir(parents=True)
    for tree in trees:
        shutil.copytree(tree, content, dirs_exist_ok=True)
    for name, source in files.items():
        path = content / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
    for name, target in links.items():
        path = content / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
