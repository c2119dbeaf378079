"""The only way by which upstreams are asked: directly, or a mirror that has what they have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from edgectl import content
from edgectl.errors import EdgectlError

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Web:
    """mirror: an address that has each upstream below its host name, as `wget --force-directories` leaves it; or ""."""

    mirror: str = ""

    def text(self, url: str, accept: str = "*/*") -> str:
        """A small text file, in one of the forms that `accept` names. Raises EdgectlError."""
        try:
            return str(_fetch().text(self.at(url), accept))
        except _fetch().FetchError as error:
            raise self._failure(error) from error

    def find(self, url: str) -> str | None:
        """A small text file; None where upstream has no such file."""
        try:
            return str(_fetch().text(self.at(url)))
        except _fetch().FetchError as error:
            if error.missing:
                return None
            raise self._failure(error) from error

    def size(self, url: str) -> int | None:
        """Bytes of a file that must be there; None where the server does not say."""
        try:
            found: int | None = _fetch().size(self.at(url))
        except _fetch().FetchError as error:
            raise self._failure(error) from error
        return found

    def fetch(self, url: str, sha256: str, target: Path) -> bool:
        """Bring a file, unless it is there; whether anything was fetched. Raises EdgectlError; what came stays."""
        try:
            return bool(_fetch().fetch(self.at(url), sha256, str(target)))
        except _fetch().FetchError as error:
            raise self._failure(error, again="the same command goes on where this one ended") from error

    def at(self, url: str) -> str:
        """Where a file of upstream's is asked for."""
        return str(_fetch().behind(self.mirror, url))

    def _failure(self, error: Exception, again: str = "") -> EdgectlError:
        if getattr(error, "other", False):
            fix, again = "do not use it; the lock has what upstream published when it was made", ""
        elif self.mirror:
            fix = "see that cluster_artifacts_mirror has that file, or leave the option out"
        elif getattr(error, "missing", False):
            fix = "see that this release still exists upstream"
        else:
            fix = "see that this machine reaches it (https_proxy), or set cluster_artifacts_mirror"
        url, why = getattr(error, "url", ""), getattr(error, "why", str(error))
        return EdgectlError(f"cannot fetch {url}", why, f"{fix}; {again}" if again else fix)


def checksum(text: str, url: str, name: str = "") -> str:
    """The sha256 in a checksum file: that of `name` among lines of `sha256sum`, or the only one."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    found = [words[0].lower() for words in lines if not name or words[1:] in ([name], [f"*{name}"])]
    if len(found) != 1 or not _SHA256.fullmatch(found[0]):
        what = f"no sha256 of {name}" if name else "no single sha256"
        raise EdgectlError(f"{url} has {what}", "it is not a checksum file as upstream publishes it")
    return found[0]


def _fetch() -> ModuleType:
    """The code that the roles fetch with, too."""
    return content.module_util("edgectl_fetch")
