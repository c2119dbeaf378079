"""Which tags an image has: by the catalogue's own list, else as its registry tells them.

The API is that of the OCI distribution specification, "Listing Tags", with the token that Docker's registries ask for.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from functools import cache
from typing import Any

from edgectl.errors import UsageError
from edgectl.workloads.catalogue import directory

FILE = "tags.yml"
# Docker's API is served under another name than the one that images are called by.
_HOSTS = {"docker.io": "registry-1.docker.io"}
_TIMEOUT = 10
_PAGES = 20
_LARGEST = 4 << 20


@cache
def known() -> dict[str, list[str]]:
    """Repository -> tags that name an L4T release, by the catalogue's list."""
    import yaml

    found = yaml.safe_load((directory() / FILE).read_text(encoding="utf-8"))
    return {str(repository): [str(tag) for tag in tags] for repository, tags in found.items()}


def tags(repository: str, *, scheme: str = "https") -> list[str]:
    """All tags of a repository such as `docker.io/dustynv/ros`. Raises UsageError where its registry does not tell."""
    host, _, path = repository.partition("/")
    url = f"{scheme}://{_HOSTS.get(host, host)}/v2/{path}/tags/list?n=1000"
    found: list[str] = []
    token = ""
    try:
        for _ in range(_PAGES):
            answer, following, token = _page(url, token)
            found += [str(tag) for tag in answer.get("tags") or []]
            if not following:
                break
            url = urllib.parse.urljoin(url, following)
    except (OSError, ValueError, AttributeError) as error:
        why = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else str(error)
        raise UsageError(f"{host} does not tell which tags {path} has", why, f"name one: {repository}:TAG") from error
    return found


def _page(url: str, token: str) -> tuple[dict[str, Any], str, str]:
    """An answer, the address of the next, and the token by which both are got."""
    try:
        return *_get(url, token), token
    except urllib.error.HTTPError as error:
        challenge = error.headers.get("WWW-Authenticate", "")
        if error.code != 401 or token or not challenge.lower().startswith("bearer "):
            raise
    token = _token(challenge)
    return *_get(url, token), token


def _token(challenge: str) -> str:
    """What anybody is given who asks: these images are public."""
    told = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    if not told.get("realm", "").startswith(("https://", "http://127.0.0.1:")):
        raise ValueError("it asks for a login in a way that is not known")
    query = urllib.parse.urlencode({key: told[key] for key in ("service", "scope") if key in told})
    answer, _ = _get(f"{told['realm']}?{query}", "")
    return str(answer.get("token") or answer.get("access_token") or "")


def _get(url: str, token: str) -> tuple[dict[str, Any], str]:
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - http(s), above
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310 - as above
        document = json.loads(answer.read(_LARGEST))
        following = re.search(r'<([^>]+)>;\s*rel="?next', answer.headers.get("Link", ""))
    if not isinstance(document, dict):
        raise ValueError("it answers with something else")  # noqa: TRY004 - of what was read, as JSON's own errors
    return document, following.group(1) if following else ""
