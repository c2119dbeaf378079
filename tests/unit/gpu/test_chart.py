"""NVIDIA's Helm chart: its files and values, who has its plugin, and the module that installs a release."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import stat
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

chart = plugin("filter/edgectl_chart.py")
IMAGE = "registry.local:5000/nvidia/k8s-device-plugin:v0.19.0"

# A kubectl over secrets and definitions in a file; what the release's manifest names is there but for `gone`.
KUBECTL = """
import json, sys
from pathlib import Path
file = Path(__file__).with_name("cluster.json")
cluster = json.loads(file.read_text())
words = [word for word in sys.argv[1:] if not word.startswith(("--request-timeout", "--kubeconfig"))]
cluster["told"].append(words)
if words[:2] == ["get", "secrets"]:
    print(json.dumps({"items": cluster["secrets"]}))
elif words[:2] == ["get", "crd"]:
    print("\\n".join(cluster["definitions"]))
elif words[:2] == ["get", "--namespace"]:
    cluster["manifest"] = sys.stdin.read()
    file.write_text(json.dumps(cluster))
    sys.exit(1 if cluster["gone"] else 0)
elif words[:2] == ["delete", "secret"]:
    cluster["secrets"] = [one for one in cluster["secrets"] if one["metadata"]["name"] != words[2]]
file.write_text(json.dumps(cluster))
"""

# A helm that does with the same file what helm does with Secrets.
HELM = """#!{python}
import json, sys
from pathlib import Path
file = Path({cluster!r})
cluster = json.loads(file.read_text())
if any(one["metadata"]["labels"]["status"].startswith("pending") for one in cluster["secrets"]):
    sys.exit("Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress")
cluster["helm"].append(sys.argv[1:])
cluster["secrets"] = []
if sys.argv[1] == "upgrade":
    cluster["values"] = json.loads(sys.stdin.read())
    key, _, value = sys.argv[sys.argv.index("--labels") + 1].partition("=")
    labels = {{"owner": "helm", "version": "2", "status": "deployed", key: value}}
    cluster["secrets"] = [{{"metadata": {{"name": "v2", "labels": labels}}, "data": {{"release": {data!r}}}}}]
    cluster["definitions"].append("customresourcedefinition.apiextensions.k8s.io/nodefeatures.nfd.k8s-sigs.io")
file.write_text(json.dumps(cluster))
"""


def packed(manifest: str) -> str:
    """A release as helm keeps it in a Secret."""
    release = gzip.compress(json.dumps({"manifest": manifest}).encode())
    return base64.b64encode(base64.b64encode(release)).decode()


class Release:
    """Module edgectl_helm_release over that kubectl and that helm."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.file, self.capsys = directory / "cluster.json", capsys
        self.kubectl, self.helm, self.chart = (directory / name for name in ("kubectl.py", "helm", "chart.tgz"))
        self.kubectl.write_text(textwrap.dedent(KUBECTL))
        self.helm.write_text(HELM.format(python=sys.executable, cluster=str(self.file), data=packed("kind: List\n")))
        self.chart.write_bytes(b"chart")
        self.put(secrets=[], definitions=[], gone=False, told=[], helm=[])

    def put(self, **values: object) -> None:
        known = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.file.write_text(json.dumps({**known, **values}))

    def __getitem__(self, key: str) -> Any:
        return json.loads(self.file.read_text())[key]

    def __call__(self, *, upload: bool = True, check: bool = False, **options: Any) -> dict[str, Any]:
        sources = {f"helm-{arch}": self.helm for arch in ("amd64", "arm64")} | {"chart": self.chart}
        digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sources.items()}
        arguments = {
            "kubectl": [sys.executable, "-IS", str(self.kubectl), "--kubeconfig=/etc/admin.conf"],
            "release": "plugin",
            "namespace": "gpu",
            "values": {"runtimeClassName": "nvidia"},
            "crd_group": "nfd.k8s-sigs.io",
            "files": [{"name": name, "src": str(path), "sha256": digests[name]} for name, path in sources.items()],
            "uploaded": {name: str(path) for name, path in sources.items()} if upload else {},
            "_ansible_check_mode": check,
            **options,
        }
        with patch_module_args(arguments), pytest.raises(SystemExit):
            plugin("modules/edgectl_helm_release.py").main()
        answer: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return answer


@pytest.fixture
def release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Release:
    return Release(tmp_path, capsys)


def test_a_release_is_made_once_with_its_values_and_then_left_alone(release: Release) -> None:
    assert release(upload=False)["needed"][0] == "chart"
    assert release["helm"] == []
    assert release()["changed"]
    [words] = release["helm"]
    assert words[:4] == ["upgrade", "--install", "plugin", str(release.chart)]
    assert words[-3:] == ["--namespace", "gpu", "--kubeconfig=/etc/admin.conf"]
    assert release["values"] == {"runtimeClassName": "nvidia"}
    assert release.helm.stat().st_mode & stat.S_IXUSR
    again = release(upload=False)
    assert (again["changed"], again["needed"]) == (False, [])
    assert release["manifest"].strip() == "kind: List"


@pytest.mark.parametrize("difference", ["values", "chart", "object"])
def test_what_differs_from_the_release_makes_it_anew(release: Release, difference: str) -> None:
    release()
    release.put(gone=difference == "object")
    if difference == "chart":
        release.chart.write_bytes(b"another")
    assert release(values={} if difference == "values" else {"runtimeClassName": "nvidia"})["changed"]
    assert len(release["helm"]) == 2


def test_check_mode_changes_nothing(release: Release) -> None:
    assert release(check=True)["changed"]
    assert release["helm"] == []


def test_an_install_that_was_ended_in_the_middle_does_not_block_the_next(release: Release) -> None:
    labels = {"owner": "helm", "version": "1", "status": "pending-install"}
    release.put(secrets=[{"metadata": {"name": "v1", "labels": labels}}])
    assert release()["changed"]
    assert release["secrets"][0]["metadata"]["labels"]["status"] == "deployed"


def test_definitions_that_the_chart_brought_are_ours_and_go_with_it(release: Release) -> None:
    mine = "customresourcedefinition.apiextensions.k8s.io/nodefeaturegroups.nfd.k8s-sigs.io"
    release.put(definitions=[mine])
    release()
    [labelled] = [words for words in release["told"] if words[0] == "label"]
    assert labelled[1].endswith("/nodefeatures.nfd.k8s-sigs.io")
    assert mine not in labelled
    assert release(state="absent")["changed"]
    assert release["helm"][-1][:2] == ["uninstall", "plugin"]
    [deleted] = [words for words in release["told"] if words[:2] == ["delete", "crd"]]
    assert "app.kubernetes.io/part-of=edgectl-device-plugin" in " ".join(deleted)


def test_a_release_that_is_not_there_takes_no_helm_to_be_absent(release: Release) -> None:
    answer = release(state="absent", upload=False, files=[])
    assert (answer["changed"], answer["needed"]) == (False, [])


def test_without_helm_a_release_stays_and_that_is_an_error(release: Release) -> None:
    release()
    assert "release plugin needs helm-" in release(state="absent", files=[])["msg"]


def test_a_damaged_copy_is_refused(release: Release) -> None:
    release()
    wrong = [{"name": f"helm-{arch}", "src": "/srv/helm", "sha256": "0" * 64} for arch in ("amd64", "arm64")]
    answer = release(state="absent", files=wrong)
    assert answer["damaged"] == "/srv/helm"
    assert len(release["helm"]) == 1


def test_chart_and_helm_come_from_the_artifacts_or_from_options() -> None:
    artifacts = [
        {"name": "helm", "arch": "amd64", "path": "a/helm", "sha256": "1"},
        {"name": "nvidia-device-plugin-chart", "arch": "amd64", "path": "c.tgz", "sha256": "2"},
        {"name": "kubectl", "arch": "amd64", "path": "kubectl", "sha256": "3"},
    ]
    assert chart.files(artifacts, "/srv", {}, {}) == [
        {"name": "chart", "src": "/srv/c.tgz", "sha256": "2"},
        {"name": "helm-amd64", "src": "/srv/a/helm", "sha256": "1"},
    ]
    own = chart.files(artifacts, "/srv", {"path": "/h", "sha256": "4"}, {"path": "/c", "sha256": "5"})
    assert {file["src"] for file in own} == {"/h", "/c"}
    assert chart.files([], "", {"path": "/h"}, {"sha256": "5"}) == []


def test_the_charts_plugin_goes_only_to_nodes_that_are_to_have_it() -> None:
    values = chart.values(IMAGE, "nvidia", False)
    assert values["image"] == {"repository": IMAGE.rpartition(":")[0], "tag": "v0.19.0"}
    affinity = values["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    [[term]] = [terms["matchExpressions"] for terms in affinity["nodeSelectorTerms"]]
    profiled = {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/device-plugin.config": "dgpu",
        "nvidia.com/gpu.count": "1",
    }
    for discovery in (True, False):
        labels = chart.labels(profiled, "none", discovery)
        assert labels[term["key"]] in term["values"]
        # What NVIDIA's discovery tells, edgectl does not.
        assert ("nvidia.com/gpu.count" in labels) is not discovery
    assert chart.labels(profiled, "mps", False)["nvidia.com/mps.capable"] == "true"


def test_nodes_are_told_apart_by_how_their_plugin_is_installed() -> None:
    profile = {"nvidia.com/device-plugin.config": "jetson"}
    labels = [profile, {**profile, **chart.LABEL}, {}]
    nodes = [{"metadata": {"labels": each}} for each in labels]
    assert chart.asked(nodes) == {"manifests": ["jetson"], "chart": ["jetson"]}
    assert chart.asked([{"metadata": {}}]) == {"manifests": [], "chart": []}
