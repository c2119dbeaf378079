"""Helm 3 and NVIDIA's chart, which role device_plugin takes with `device_plugin_install: chart`.

Helm: `helm3-latest-version`, archives with `linux-ARCH/helm` and `.sha256` beside them (helm/helm, scripts/get-helm-3).
The chart: the index of NVIDIA's Helm repository has `version`, `urls` and `digest` of each (helm.sh, "The Chart
Repository Guide"; NVIDIA/k8s-device-plugin, README: the repository's address).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urljoin

import yaml

from edgectl.errors import EdgectlError, UsageError
from edgectl.upstream import file
from edgectl.upstream.file import File
from edgectl.upstream.web import Web, checksum

HELM = "https://get.helm.sh"
CHARTS = "https://nvidia.github.io/k8s-device-plugin"
CHART = "nvidia-device-plugin"
# As role device_plugin looks for it in a manifest (plugins/filter/edgectl_chart.py).
CHART_ARTIFACT = "nvidia-device-plugin-chart"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def newest_helm(web: Web) -> str:
    """The newest release of Helm 3, such as v3.22.0."""
    url = f"{HELM}/helm3-latest-version"
    told = web.text(url).strip()
    if not re.fullmatch(r"v3\.\d+\.\d+", told):
        raise EdgectlError(f"{web.at(url)} names no release of Helm 3", f"it says {told[:60]!r}")
    return told


def helm_files(web: Web, version: str) -> Iterator[File]:
    """The program for each architecture."""
    for arch in file.ARCHITECTURES:
        url = f"{HELM}/helm-{version}-linux-{arch}.tar.gz"
        yield File(
            name="helm",
            kind="binary",
            version=version,
            arch=arch,
            path=f"helm/{version}/linux-{arch}/helm",
            url=url,
            sha256=checksum(web.text(f"{url}.sha256"), web.at(f"{url}.sha256")),
            size=web.size(url),
            member=f"linux-{arch}/helm",
        )


def chart_files(web: Web, version: str) -> Iterator[File]:
    """The chart of a release (0.20.0), one file for all architectures."""
    index = f"{CHARTS}/index.yaml"
    try:
        charts = yaml.load(web.text(index), Loader=_LOADER)["entries"][CHART]  # noqa: S506 - the safe loader's C form
        found = {str(one["version"]).lstrip("v"): one for one in charts}
        wanted = found.get(version)
        url = urljoin(index, str(wanted["urls"][0])) if wanted else ""
        digest = str(wanted["digest"]).removeprefix("sha256:") if wanted else ""
    except (yaml.YAMLError, KeyError, TypeError, IndexError) as error:
        raise EdgectlError(
            f"{web.at(index)} is not the index of a Helm repository", str(error).splitlines()[0]
        ) from error
    if wanted is None:
        raise UsageError(
            f"NVIDIA has no chart {version}",
            f"{web.at(index)} has {', '.join(list(found)[:5]) or 'none'}",
            "set device_plugin_image to the image of one of these",
        )
    if not url.startswith("https://"):
        raise EdgectlError(f"{web.at(index)} names {url}", "a chart is taken by https alone")
    yield File(
        name=CHART_ARTIFACT,
        kind="chart",
        version=version,
        arch="any",
        path=f"nvidia/chart/{version}/{CHART}-{version}.tgz",
        url=url,
        sha256=checksum(digest, web.at(index)),
        size=web.size(url),
    )
