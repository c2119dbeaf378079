"""Which tag of an image runs on a Jetson: pure functions over tags such as `2.7-r36.4.0-cu128-24.04`.

The form and the rules are those of jetson-containers (jetson_containers/l4t_version.py, l4t_version_compatible, and
find_container in container.py: [VERSION-]rL4T[-cuNNN-UBUNTU]), stricter where those are too lax: they run any image on
R38 and R39, also one of CUDA 12, which has no code for Thor's GPU.

Standard library only, Python 3.8 upwards.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

# CUDA of each Jetson Linux release, by its major. (NVIDIA's release notes; JetPack 5: 11.4, 6: 12.2 to 12.6, 7: 13)
CUDA_OF_L4T = {32: 10, 34: 11, 35: 11, 36: 12, 38: 13, 39: 13}
_PART = re.compile(r"[-_]")
# `r36.4.tegra` and `r38.2.arm64` are those that jetson-containers builds now.
_RELEASE = re.compile(r"r(\d+(?:\.\d+){0,2})(?:\.[a-z].*)?")
_CUDA = re.compile(r"cu(\d{2})(\d)")


def release_of(tag: str) -> tuple[int, ...]:
    """The L4T release that a tag names, such as (36, 4, 0); empty for a tag that names none."""
    for part in _PART.split(tag):
        found = _RELEASE.fullmatch(part)
        if found and int(found.group(1).partition(".")[0]) >= 28:
            return tuple(int(number) for number in found.group(1).split("."))
    return ()


def cuda_of(tag: str) -> int:
    """The major of CUDA that a tag names (`cu128` is 12); 0 for one that names none."""
    found = next(filter(None, map(_CUDA.fullmatch, _PART.split(tag))), None)
    return int(found.group(1)) if found else 0


def runs(tag: str, l4t: str, cuda: int = 0) -> bool:
    """Whether an image of that tag runs on a host of that release. cuda: the host's major, by default its release's.

    A tag without a release promises nothing.
    """
    image, host = release_of(tag), tuple(int(number) for number in l4t.split("."))
    if not image:
        return False
    wanted = cuda or CUDA_OF_L4T.get(host[0], 0)
    if cuda_of(tag) and wanted and cuda_of(tag) != wanted:
        return False
    if host[0] != image[0]:
        return False
    if host[0] == 36:
        # 36.4 came with CUDA 12.6 and another layout of the driver's libraries; r36 alone is told by nobody.
        return len(image) > 1 and (host[1:2] >= (4,)) == (image[1] >= 4)
    if host[0] in (34, 35, 38, 39):
        return True
    if host[0] == 32 and host[1:2] >= (7,):
        return image[1:2] >= (7,)
    return host == image


def choose_tag(tags: Sequence[str], l4t: str, cuda: int = 0, prefix: str = "") -> str:
    """The tag to take on a host of that release; empty where none runs there.

    Of those that run: the newest release that is not newer than the host's, of these the highest version, and of these
    the shortest tag. prefix: only tags that begin with it as a whole (`humble` is that of `humble-desktop-r36.4.0`).
    """
    host = _three(tuple(int(number) for number in l4t.split(".")))
    fit = [tag for tag in tags if runs(tag, l4t, cuda) and begins(tag, prefix)]

    def order(tag: str) -> tuple[bool, tuple[int, ...], tuple[tuple[int, int, str], ...], int, str]:
        release = _three(release_of(tag))
        near = release if release <= host else tuple(-number for number in release)
        return release <= host, near, _version(tag), -len(tag), tag

    return max(fit, key=order, default="")


def begins(tag: str, prefix: str) -> bool:
    """Whether a tag is this word, or goes on after it with another part."""
    return not prefix or tag == prefix or tag.startswith((prefix + "-", prefix + "_"))


def _three(release: tuple[int, ...]) -> tuple[int, ...]:
    return (*release, 0, 0)[:3]


def _version(tag: str) -> tuple[tuple[int, int, str], ...]:
    """What stands before the release, so that 0.10 is more than 0.9 and `v1` less than `v2`."""
    before = re.split(r"(?:^|[-_])r\d", tag)[0]
    words = re.findall(r"\d+|[a-z]+", before.lower())
    return tuple((1, int(word), "") if word.isdigit() else (0, 0, word) for word in words)
