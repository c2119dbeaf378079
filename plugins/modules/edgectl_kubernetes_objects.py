#!/usr/bin/python
"""Bring objects of a cluster into the state that is wanted, and say what changed."""

from __future__ import annotations

import json

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError

DOCUMENTATION = r"""
module: edgectl_kubernetes_objects
short_description: Applies objects to a Kubernetes cluster
description:
  - Server-side apply, so only the fields named here are ours; a label or a field that a later version of an object no
    longer names is taken back, and what others have set stays.
  - Runs on a host that has kubectl and may administer the cluster.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  objects: {type: list, elements: dict, default: [], description: The objects, in the order in which they are made.}
  manager: {type: str, required: true, description: Under which name the fields are owned.}
  state:
    description: C(absent) deletes them; C(made) makes those that are missing, and leaves others as they are.
    type: str
    choices: [present, made, absent]
    default: present
  others:
    description: With C(present), what is deleted beside it, wherever it is. What O(objects) names stays.
    type: dict
    suboptions:
      kind: {type: str, required: true, description: "As kubectl takes it, such as resourcequotas."}
      labels: {type: dict, required: true, description: The labels that such an object has.}
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


def named(document: "dict") -> "tuple[str, str, str]":
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace") or "", metadata["name"]


def by_name(document: "dict") -> "dict[tuple[str, str, str], dict]":
    """Documents that kubectl gave: none, one, or a list of them."""
    items = document["items"] if document.get("kind") == "List" else [document] if document else []
    return {named(item): pruned(item) for item in items}


def pruned(document: "dict") -> "dict":
    """A document without its status and what the server keeps for itself, so that two of them can be compared."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in _NOT_OURS}
    return {**{key: value for key, value in document.items() if key != "status"}, "metadata": metadata}


def present(module: AnsibleModule, kubectl: Kubectl) -> "dict[str, object]":
    wanted = module.params["objects"]
    before = there(kubectl, wanted)
    if module.params["state"] == "made":
        wanted = [document for document in wanted if named(document) not in before]
    owner = ["--server-side", "--force-conflicts", "--field-manager", module.params["manager"]]
    if module.check_mode:
        # An object in a namespace that is not there yet cannot even be tried.
        known = [document for document in wanted if named(document) in before]
        tried = applied(kubectl, known, *owner, "--dry-run=server") if known else {}
        after = {**{named(document): document for document in wanted}, **tried}
    else:
        after = applied(kubectl, wanted, *owner) if wanted else {}
    differing = [name for name in after if after[name] != before.get(name)]
    others = [document for document in found_others(module, kubectl) if named(document) not in set(map(named, wanted))]
    delete(module, kubectl, others)
    return {
        "changed": bool(differing or others),
        "changed_objects": [title(name) for name in [*differing, *map(named, others)]],
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


def absent(module: AnsibleModule, kubectl: Kubectl) -> "dict[str, object]":
    before = there(kubectl, module.params["objects"])
    found = [document for document in module.params["objects"] if named(document) in before]
    delete(module, kubectl, found)
    return {"changed": bool(found), "changed_objects": [title(named(document)) for document in found]}


def delete(module: AnsibleModule, kubectl: Kubectl, documents: "list[dict]") -> None:
    if documents and not module.check_mode:
        kubectl.run("delete", "--filename=-", "--ignore-not-found", "--timeout=120s", documents=documents)


def there(kubectl: Kubectl, documents: "list[dict]") -> "dict[tuple[str, str, str], dict]":
    """Those of some objects that the cluster has."""
    return by_name(kubectl.get("--filename=-", documents=documents)) if documents else {}


def found_others(module: AnsibleModule, kubectl: Kubectl) -> "list[dict]":
    others = module.params["others"]
    if not others:
        return []
    selector = ",".join("{}={}".format(*label) for label in sorted(others["labels"].items()))
    items = kubectl.items(others["kind"], "--all-namespaces", "--selector", selector)
    # No more than it takes to delete them: some have secrets in them.
    return [{key: item[key] for key in ("apiVersion", "kind", "metadata")} for item in items]


def applied(kubectl: Kubectl, documents: "list[dict]", *options: str) -> "dict[tuple[str, str, str], dict]":
    return by_name(json.loads(kubectl.run("apply", *options, "--filename=-", "--output=json", documents=documents)))


def title(name: "tuple[str, str, str]") -> str:
    kind, namespace, own = name
    return "{} {}".format(kind, namespace + "/" + own if namespace else own)


def text(document: "dict | None") -> str:
    return "" if document is None else json.dumps(document, indent=2, sort_keys=True) + "\n"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "objects": {"type": "list", "elements": "dict", "default": []},
            "manager": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "made", "absent"], "default": "present"},
            "others": {
                "type": "dict",
                "options": {
                    "kind": {"type": "str", "required": True},
                    "labels": {"type": "dict", "required": True},
                },
            },
        },
        supports_check_mode=True,
    )
    if not module.params["objects"] and not module.params["others"]:
        module.exit_json(changed=False, changed_objects=[])
    kubectl = Kubectl(module, module.params["kubectl"])
    try:
        result = (absent if module.params["state"] == "absent" else present)(module, kubectl)
    except KubectlError as error:
        doing = "delete" if module.params["state"] == "absent" else "apply"
        names = ", ".join(title(named(document)) for document in module.params["objects"])
        module.fail_json(msg="cannot {} {}: {}".format(doing, names, error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
