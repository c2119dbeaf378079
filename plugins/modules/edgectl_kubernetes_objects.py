#!/usr/bin/python
"""Bring objects of a cluster into the state that is wanted, and say what changed."""

from __future__ import annotations

import json

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_kubernetes_objects
short_description: Applies objects to a Kubernetes cluster
description:
  - Server-side apply, so only the fields named here are ours; a label or a field that a later version of an object no
    longer names is taken back, and what others have set stays.
  - Runs on a host that has kubectl and may administer the cluster.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  objects: {type: list, elements: dict, required: true, description: The objects, in the order in which they are made.}
  manager: {type: str, required: true, description: Under which name the fields are owned.}
  state: {type: str, choices: [present, absent], default: present, description: C(absent) deletes them.}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: NVIDIA's runtime can be asked for
  edgectl_kubernetes_objects:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    manager: edgectl
    objects:
      - {apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: nvidia}, handler: nvidia}
"""

RETURN = r"""
changed_objects: {description: Kind and name of those that changed., type: list, elements: str, returned: always}
"""

# What the API server keeps for itself, and what is none of a manifest's.
_NOT_OURS = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")


class Kubectl:
    """kubectl, with documents on its input and its output."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module

    def run(self, arguments: "list[str]", documents: "list[dict]") -> "tuple[int, str, str]":
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        return self.module.run_command([*self.module.params["kubectl"], *arguments], data=text)

    def must(self, arguments: "list[str]", documents: "list[dict]", doing: str) -> str:
        rc, out, err = self.run(arguments, documents)
        if rc != 0:
            self.module.fail_json(msg="cannot {}: {}".format(doing, err.strip() or "kubectl ended with {}".format(rc)))
        return out


def named(document: "dict") -> "tuple[str, str, str]":
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace") or "", metadata["name"]


def by_name(text: str) -> "dict[tuple[str, str, str], dict]":
    """Documents that kubectl printed: none, one, or a list of them."""
    if not text.strip():
        return {}
    document = json.loads(text)
    items = document["items"] if document["kind"] == "List" else [document]
    return {named(item): pruned(item) for item in items}


def pruned(document: "dict") -> "dict":
    """A document without its status and what the server keeps for itself, so that two of them can be compared."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in _NOT_OURS}
    return {**{key: value for key, value in document.items() if key != "status"}, "metadata": metadata}


def apply(module: AnsibleModule, kubectl: Kubectl) -> "dict[str, object]":
    wanted = module.params["objects"]
    before = by_name(kubectl.must(["get", "-f", "-", "-o", "json", "--ignore-not-found"], wanted, "read the objects"))
    owner = ["apply", "--server-side", "--force-conflicts", "--field-manager", module.params["manager"], "-f", "-"]
    if module.check_mode:
        # An object in a namespace that is not there yet cannot even be tried.
        known = [document for document in wanted if named(document) in before]
        tried = kubectl.must([*owner, "--dry-run=server", "-o", "json"], known, "try the objects") if known else ""
        after = {**{named(document): document for document in wanted}, **by_name(tried)}
    else:
        after = by_name(kubectl.must([*owner, "-o", "json"], wanted, "apply the objects"))
    differing = [name for name in after if after[name] != before.get(name)]
    return {
        "changed": bool(differing),
        "changed_objects": [title(name) for name in differing],
        "diff": [
            {
                "before": text(before.get(name)),
                "after": text(after[name]),
                "before_header": title(name),
                "after_header": title(name),
            }
            for name in differing
        ],
    }


def delete(module: AnsibleModule, kubectl: Kubectl) -> "dict[str, object]":
    wanted = module.params["objects"]
    before = by_name(kubectl.must(["get", "-f", "-", "-o", "json", "--ignore-not-found"], wanted, "read the objects"))
    there = [document for document in wanted if named(document) in before]
    if there and not module.check_mode:
        kubectl.must(["delete", "-f", "-", "--ignore-not-found", "--timeout=120s"], there, "delete the objects")
    return {"changed": bool(there), "changed_objects": [title(named(document)) for document in there]}


def title(name: "tuple[str, str, str]") -> str:
    kind, namespace, own = name
    return "{} {}".format(kind, namespace + "/" + own if namespace else own)


def text(document: "dict | None") -> str:
    return "" if document is None else json.dumps(document, indent=2, sort_keys=True) + "\n"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "objects": {"type": "list", "elements": "dict", "required": True},
            "manager": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    kubectl = Kubectl(module)
    if not module.params["objects"]:
        module.exit_json(changed=False, changed_objects=[])
    module.exit_json(**(apply if module.params["state"] == "present" else delete)(module, kubectl))


if __name__ == "__main__":
    main()
