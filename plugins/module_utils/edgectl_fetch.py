"""Files of upstream over HTTP: a text, a size, or a whole file, checked by its sha256, that goes on where it ended.

Runs on the controller only: for the command line, and for the roles that take what the lock names. Standard library.
"""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import os
import re
import urllib.error
import urllib.parse
import urllib.request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Optional

TIMEOUT = 30
# Checksums, channels, a Helm repository's index; none is larger than some hundred KiB.
_LARGEST_TEXT = 8 << 20
_BLOCK = 1 << 20


class FetchError(Exception):
    """Why a URL gave no file; `missing`: upstream says that there is none; `other`: it gave another one."""

    def __init__(self, url: str, why: str, missing: bool = False, other: bool = False) -> None:
        super().__init__("{}: {}".format(url, why))
        self.url = url
        self.why = why
        self.missing = missing
        self.other = other


class _KeepEncrypted(urllib.request.HTTPRedirectHandler):
    """Checksums have nothing else to be believed for than the connection they came by."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if req.type == "https" and not newurl.startswith("https://"):
            raise FetchError(req.full_url, "it redirects to {}, which is not encrypted".format(newurl))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_KeepEncrypted)


def behind(mirror: str, url: str) -> str:
    """Where a mirror has what upstream has at `url`: below upstream's host name, as `wget --force-directories`."""
    return "{}/{}".format(mirror.rstrip("/"), url.partition("://")[2]) if mirror else url


def get(url: str, headers: Optional[dict[str, str]] = None) -> Any:
    """An open answer, to be closed by the caller."""
    request = urllib.request.Request(url, headers={"User-Agent": "edgectl", **(headers or {})})  # noqa: S310
    try:
        return _OPENER.open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError(url, "HTTP {}".format(error.code), missing=error.code in (404, 410)) from error
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(url, _reason(error)) from error


def text(url: str, accept: str = "*/*") -> str:
    """A small text file. accept: which forms of it, for a server that has several."""
    with get(url, {"Accept": accept}) as answer:
        try:
            found = answer.read(_LARGEST_TEXT + 1)
        except (OSError, http.client.HTTPException) as error:
            raise FetchError(url, _reason(error)) from error
    if len(found) > _LARGEST_TEXT:
        raise FetchError(url, "it is far larger than it should be")
    try:
        return found.decode()
    except UnicodeDecodeError as error:
        raise FetchError(url, "it is no text") from error


def size(url: str) -> Optional[int]:
    """Bytes of a file, without reading it; None where the server does not say."""
    with get(url, {"Range": "bytes=0-0"}) as answer:
        if answer.status == 206:
            told = answer.headers.get("Content-Range", "").rpartition("/")[2]
        else:
            told = answer.headers.get("Content-Length", "")
    return int(told) if told.isdigit() else None


def digest_of(path: str) -> Optional[str]:
    """The sha256 of a file, in hexadecimal; None when there is no such file."""
    try:
        with open(path, "rb") as file:
            return _digest(file)
    except FileNotFoundError:
        return None


def fetch(url: str, sha256: str, target: str) -> bool:
    """Bring a file to `target`, unless it is there already; whether anything was fetched.

    What has arrived lies in `target`.part until all of it is there and has the right sha256; `target` itself is
    replaced in one step. Raises FetchError. Others who want the same file meanwhile wait for it.
    """
    if digest_of(target) == sha256:
        return False
    os.makedirs(os.path.dirname(target), exist_ok=True)
    part = target + ".part"
    with _alone(part) as file:
        if digest_of(target) == sha256:  # somebody else has just brought it
            os.unlink(part)
            return False
        begun = _end(file)
        _append(url, file, begun)
        seen = _digest_from_start(file)
        if seen != sha256 and begun:  # of another file with the same name, perhaps
            file.truncate(0)
            _append(url, file, 0)
            seen = _digest_from_start(file)
        if seen != sha256:
            os.unlink(part)
            raise FetchError(url, "its sha256 is {}, expected {}".format(seen, sha256), other=True)
        os.replace(part, target)
    return True


def _alone(part: str) -> IO[bytes]:
    """The file, open for appending, ours alone."""
    while True:
        file = open(part, "a+b")  # noqa: SIM115 - the caller closes it
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(file.fileno()), os.stat(part)):
                return file
        except FileNotFoundError:
            pass
        file.close()  # the one who had it has finished, and it is no part any more


def _append(url: str, file: IO[bytes], begun: int) -> None:
    """Fetch the rest of a file of which `begun` bytes are there; all of it, where the server can't tell the rest."""
    try:
        answer = get(url, {"Range": "bytes={}-".format(begun)} if begun else None)
    except FetchError as error:
        if begun and error.why == "HTTP 416":  # nothing is left to fetch
            return
        raise
    with answer:
        if begun and answer.status != 206:
            file.truncate(0)
        expected, got = answer.headers.get("Content-Length", ""), 0
        try:
            for block in iter(lambda: answer.read(_BLOCK), b""):
                file.write(block)
                got += len(block)
        except (OSError, http.client.HTTPException) as error:
            raise FetchError(url, _reason(error)) from error
        finally:
            file.flush()
    if expected.isdigit() and got < int(expected):
        raise FetchError(url, "the connection ended after {} of {} bytes".format(got, expected))


def _end(file: IO[bytes]) -> int:
    return file.seek(0, os.SEEK_END)


def _digest_from_start(file: IO[bytes]) -> str:
    file.flush()
    file.seek(0)
    return _digest(file)


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    for block in iter(lambda: file.read(_BLOCK), b""):
        digest.update(block)
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return re.sub(r"^_ssl\.c:\d+: ", "", str(said))
