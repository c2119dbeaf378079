#!/usr/bin/python
"""Bring a release of a Helm chart into a cluster, or take it out."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import platform

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_digest import file_digest
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError

DOCUMENTATION = r"""
module: edgectl_helm_release
short_description: A release of a Helm chart, by a helm that is on the host only while it is needed
description:
  - The release carries a digest of the chart and its values. Where that is the wanted one and all objects of the
    release are there, nothing is transferred and helm is not run.
  - Runs on a host that has kubectl and may administer the cluster.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  release: {type: str, required: true, description: Name of the release.}
  namespace: {type: str, required: true, description: "Its namespace, which has to be there."}
  values: {type: dict, default: {}, description: What differs from the chart's own values.}
  crd_group:
    description: >-
      API group of the definitions (CRDs) that the chart brings. Helm leaves them behind; those that were not there
      before are taken away with the release.
    type: str
    default: ""
  files:
    description: The chart, and helm for one or more architectures.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: "C(chart), or C(helm-) and Go's name of the architecture."}
      src: {type: path, required: true, description: The file on the controller.}
      sha256: {type: str, required: true, description: 'Its digest, 64 hexadecimal digits.'}
  state: {type: str, choices: [present, absent], default: present, description: What to bring about.}
  uploaded: {type: dict, default: {}, description: 'Set by the action plugin: name -> where the file lies now.'}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: NVIDIA's chart
  edgectl_helm_release:
    kubectl: [kubectl, --kubeconfig=/etc/kubernetes/admin.conf]
    release: nvidia-device-plugin
    namespace: nvidia-device-plugin
    values: {runtimeClassName: nvidia}
    files:
      - {name: helm-amd64, src: /srv/artifacts/helm, sha256: "{{ helm_digest }}"}
      - {name: chart, src: /srv/artifacts/nvidia-device-plugin-0.20.0.tgz, sha256: "{{ chart_digest }}"}
"""

RETURN = r"""
needed: {description: Files that have still to be transferred., type: list, elements: str, returned: always}
damaged: {description: The source of a file that arrived with another digest., type: str, returned: on that failure}
"""

INPUTS = "edgectl.io/inputs"
OURS = {"app.kubernetes.io/managed-by": "edgectl", "app.kubernetes.io/part-of": "edgectl-device-plugin"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Helm's own limit for hooks and deletions.
TIMEOUT = "120s"


class Release:
    """A release as its newest Secret has it (helm.sh/docs/topics/advanced, "Storage backends").

    secret: none where there is no release.
    """

    def __init__(self, kubectl: Kubectl, namespace: str, name: str) -> None:
        selector = "owner=helm,name={}".format(name)
        secrets = kubectl.items("secrets", "--namespace", namespace, "--selector", selector)
        newest = sorted(secrets, key=lambda secret: int(secret["metadata"]["labels"]["version"]))[-1:]
        self.secret = newest[0] if newest else None
        self.labels = self.secret["metadata"]["labels"] if self.secret else {}

    @property
    def manifest(self) -> str:
        """Its objects, as YAML: the Secret's data is JSON, gzipped, in base64 twice."""
        packed = base64.b64decode(base64.b64decode(self.secret["data"]["release"]))
        return json.loads(gzip.decompress(packed))["manifest"]


class Cluster:
    """The release in its cluster, and the files that it takes to change it."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.namespace, self.name = module.params["namespace"], module.params["release"]
        self.kubectl = Kubectl(module, module.params["kubectl"])
        self.files = {file["name"]: file for file in module.params["files"]}
        self.helm_name = "helm-" + ARCHITECTURES.get(platform.machine(), platform.machine())

    def present(self) -> "dict[str, object]":
        inputs = self.inputs()
        release = Release(self.kubectl, self.namespace, self.name)
        if release.labels.get("status") == "deployed" and release.labels.get(INPUTS) == inputs and self.whole(release):
            return {"changed": False, "needed": []}
        if self.lacks_files("chart", self.helm_name):
            return {"changed": True, "needed": ["chart", self.helm_name]}
        if release.labels.get("status", "").startswith("pending-"):
            # Of a helm that was ended in the middle; it would refuse to go on, and takes over what that one made.
            self.kubectl.run("delete", "secret", release.secret["metadata"]["name"], "--namespace", self.namespace)
        before = self.definitions()
        words = ["upgrade", "--install", self.name, self.uploaded("chart"), "--values", "-", "--history-max", "1"]
        self.helm(*words, "--labels", "{}={}".format(INPUTS, inputs), data=json.dumps(self.module.params["values"]))
        brought = sorted(self.definitions() - before)
        if brought:
            self.kubectl.run("label", *brought, "--overwrite", *map("=".join, sorted(OURS.items())))
        return {"changed": True, "needed": []}

    def absent(self) -> "dict[str, object]":
        release = Release(self.kubectl, self.namespace, self.name)
        if release.secret is None:
            return {"changed": False, "needed": []}
        if self.lacks_files(self.helm_name):
            return {"changed": True, "needed": [self.helm_name]}
        self.helm("uninstall", self.name, "--wait", "--timeout", TIMEOUT)
        if self.module.params["crd_group"]:
            ours = ",".join(map("=".join, sorted(OURS.items())))
            self.kubectl.run("delete", "crd", "--selector", ours, "--ignore-not-found", "--timeout", TIMEOUT)
        return {"changed": True, "needed": []}

    def inputs(self) -> str:
        """A digest of what the release is made from, as long as a label's value may be."""
        made_from = [self.files.get("chart", {}).get("sha256", "").lower(), self.module.params["values"]]
        return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:40]

    def whole(self, release: Release) -> bool:
        """Whether the cluster has all objects of the release."""
        command = [*self.kubectl.command, "get", "--namespace", self.namespace, "--filename=-", "--output=name"]
        return self.module.run_command(command, data=release.manifest)[0] == 0

    def lacks_files(self, *names: str) -> bool:
        """Whether files have still to be brought here; those that nobody has are an error."""
        nowhere = [name for name in names if name not in self.files]
        if nowhere:
            self.module.fail_json(
                msg="release {} needs {}, which this run does not have".format(self.name, " and ".join(nowhere))
            )
        return self.module.check_mode or any(name not in self.module.params["uploaded"] for name in names)

    def uploaded(self, name: str) -> str:
        path, expected = self.module.params["uploaded"][name], self.files[name]["sha256"].lower()
        seen = file_digest(path)
        if seen != expected:
            self.module.fail_json(
                msg="the copy of {} that reached this host is damaged (sha256 {}, expected {}); the release is left as "
                "it was".format(self.files[name]["src"], seen, expected),
                damaged=self.files[name]["src"],
            )
        return path

    def definitions(self) -> "set[str]":
        """Names of the definitions of the chart's API group, as kubectl takes them."""
        group = self.module.params["crd_group"]
        if not group:
            return set()
        return {name for name in self.kubectl.run("get", "crd", "--output=name").split() if name.endswith("." + group)}

    def helm(self, *words: str, data: "str | None" = None) -> None:
        program = self.uploaded(self.helm_name)
        os.chmod(program, 0o700)
        places = {"HELM_{}_HOME".format(kind): self.module.tmpdir for kind in ("CACHE", "CONFIG", "DATA")}
        config = [word for word in self.kubectl.command if word.startswith("--kubeconfig=")]
        command = [program, *words, "--namespace", self.namespace, *config]
        rc, out, err = self.module.run_command(command, data=data, environ_update=places)
        if rc != 0:
            said = [line for line in (err or out).splitlines() if line.strip()]
            self.module.fail_json(msg="helm {} {}: {}".format(words[0], self.name, " / ".join(said)))


def main() -> None:
    file = {
        "name": {"type": "str", "required": True},
        "src": {"type": "path", "required": True},
        "sha256": {"type": "str", "required": True},
    }
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "release": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "values": {"type": "dict", "default": {}},
            "crd_group": {"type": "str", "default": ""},
            "files": {"type": "list", "elements": "dict", "default": [], "options": file},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "uploaded": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    cluster = Cluster(module)
    try:
        result = cluster.absent() if module.params["state"] == "absent" else cluster.present()
    except KubectlError as error:
        module.fail_json(msg="the API does not tell about release {}: {}".format(module.params["release"], error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
