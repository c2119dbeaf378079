#!/usr/bin/python
"""Decide where a workload of the catalogue runs, with which image, and what its objects are."""

from __future__ import annotations

from ansible.module_utils import edgectl_workload_entry as form
from ansible.module_utils import edgectl_workload_fit as fitting
from ansible.module_utils import edgectl_workload_objects as made
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError
from ansible.module_utils.edgectl_workload_kinds import OBJECTS
from ansible.module_utils.edgectl_workload_labels import selector

DOCUMENTATION = r"""
module: edgectl_workload_plan
short_description: Chooses node and image for a workload, and makes its objects
description:
  - Looks at the nodes and their pods, on a host that has kubectl and may administer the cluster. Changes nothing.
  - A workload that is there already stays on its node, where its data is.
  - Refuses what does not fit, with the reason for each node.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  name: {type: str, required: true, description: Name of the entry.}
  entry: {type: dict, required: true, description: The entry of the catalogue.}
  parameters: {type: dict, default: {}, description: Values of its parameters.}
  hosts: {type: dict, required: true, description: What the probe knows of each host (filter edgectl_workload_hosts).}
  namespace: {type: str, required: true, description: Where it runs.}
  node: {type: str, default: "", description: Only this node.}
  platform: {type: str, default: "", description: "Only nodes of this platform: jetson, dgpu or cpu."}
  cpu: {type: bool, default: false, description: Whether it runs without a GPU though it wants one.}
  file_bytes: {type: int, default: 0, description: Size of the file that is brought as its model.}
  runtime_class: {type: str, default: nvidia, description: RuntimeClass of NVIDIA's runtime.}
  data_directory: {type: str, required: true, description: Directory of the nodes below which data is kept.}
  storage_class: {type: str, default: "", description: "StorageClass for its data, instead of the node's directory."}
  storage_gib: {type: int, default: 50, description: Size of a volume of that class.}
  replicas: {type: int, default: 1, description: "How many pods, all on the node."}
  expose: {type: str, default: "", description: "How it is reached from outside: nodeport or ingress=HOST."}
  beside:
    description: Answers of this module for what is deployed before it in the same run; they count as if it was there.
    type: list
    elements: dict
    default: []
  brought:
    description:
      - Images that an artifacts directory has, each with its architectures; these are named by their tag even where a
        digest is known.
    type: dict
    default: {}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Where Ollama runs
  edgectl_workload_plan:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    name: ollama
    entry: "{{ lookup('ansible.builtin.file', 'workloads/ollama/workload.yml') | from_yaml }}"
    hosts: {orin1: {platform: jetson, l4t: 36.4.3}}
    namespace: workloads
    data_directory: /var/lib/edgectl/workloads
"""

RETURN = r"""
node: {description: The node., type: str, returned: always}
image: {description: The image., type: str, returned: always}
parameters: {description: The value of every parameter., type: dict, returned: always}
objects: {description: "Namespace, Deployment, Service and claims.", type: list, elements: dict, returned: always}
"""


# (Kubernetes documentation, "Default IngressClass".)
DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


class Refusal(Exception):
    """It can't be deployed like this."""


def planned(options, kubectl):
    """The plan, and what a reader wants to know of it."""
    name, entry, namespace = options["name"], options["entry"], options["namespace"]
    wrong = form.problems(entry)
    if wrong:
        raise Refusal(told("workloads/{}/workload.yml".format(name), wrong))
    chosen, wrong = form.values(entry, options["parameters"])
    if wrong:
        raise Refusal(told("{}: parameter".format(name), wrong))
    try:
        need = fitting.memory(entry, chosen, options["file_bytes"])
    except fitting.Unknown as unknown:
        raise Refusal(told("{}: parameter".format(name), [unknown.problem])) from unknown
    wrong = refusal_to_share(options) or refusal_to_expose(options)
    if wrong:
        raise Refusal(wrong)
    there_then = [plan["name"] for plan in options["beside"]]
    for other in entry.get("requires", []):
        if other not in there_then and not kubectl.get("deployment", other, "--namespace", namespace):
            raise Refusal("{0} needs {1}, which is not in namespace {2}: edgectl deploy {1} first".format(
                name, other, namespace))  # fmt: skip
    refuse_another_kind(kubectl, entry, name, namespace)
    nodes = kubectl.items("nodes")
    fit = fitted(options, kubectl, nodes, chosen, need)
    node = next(node for node in nodes if node["metadata"]["name"] == fit["node"])
    plan = {
        **fit,
        "namespace": namespace,
        "hostname": node["metadata"].get("labels", {}).get(fitting.HOSTNAME, fit["node"]),
        "runtime_class": options["runtime_class"],
        "data_directory": "{}/{}/{}".format(options["data_directory"].rstrip("/"), namespace, name),
        "storage_class": options["storage_class"],
        "storage_gib": options["storage_gib"],
        "replicas": options["replicas"],
        "expose": options["expose"],
        "ingress_class": ingress_class(kubectl) if options["expose"].startswith("ingress") else "",
        "brought": options["brought"],
    }
    objects = made.objects(name, entry, chosen, plan)
    there = kubectl.get("namespace", namespace)
    if not there or there["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "edgectl":
        objects.insert(0, made.namespace(namespace))
    keys = ("node", "platform", "gpu", "gpus", "resource", "request_mib", "free_mib", "needs_mib", "simulated")
    keys += ("namespace", "replicas", "expose")
    return {
        **{key: plan[key] for key in keys},
        "name": name,
        "title": entry["title"],
        "kind": form.kind_of(entry),
        "volumes": bool(entry.get("volumes")),
        "expected": expected(entry, chosen, options["hosts"].get(fit["node"])) if fit["gpu"] else {},
        "image": fit["image"]["image"],
        "arch": node["status"]["nodeInfo"]["architecture"],
        "memory_mib": need,
        "data": "StorageClass " + plan["storage_class"] if plan["storage_class"] else plan["data_directory"],
        "parameters": chosen,
        "objects": objects,
    }


def refusal_to_share(options):
    """Why there can't be as many replicas."""
    if options["replicas"] == 1:
        return ""
    why = form.single(options["entry"], options["storage_class"]) if options["replicas"] > 1 else "there must be one"
    return "{}: {} replicas: {}; leave out --replicas".format(options["name"], options["replicas"], why) if why else ""


def refusal_to_expose(options):
    """Why it can't be reached like this."""
    try:
        way, _ = made.exposure(options["expose"])
    except ValueError as error:
        return "{}: --expose {}".format(options["name"], error)
    if way == "ingress" and not form.speaks_http(options["entry"]):
        return "{}: --expose ingress: it speaks no HTTP; --expose nodeport".format(options["name"])
    return ""


def ingress_class(kubectl):
    """The cluster's IngressClass. Raises Refusal where there is none, or several without a default."""
    found = kubectl.items("ingressclasses")
    default = [one for one in found if (one["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"]
    names = [one["metadata"]["name"] for one in default or found]
    if not names:
        raise Refusal(
            "--expose ingress: the cluster has no IngressClass; install an ingress controller, or --expose nodeport"
        )
    if len(names) > 1:
        raise Refusal("--expose ingress: the cluster has {}, and none is its default".format(", ".join(sorted(names))))
    return names[0]


def fitted(options, kubectl, nodes, chosen, need):
    """The node's fit that was chosen. Raises Refusal with the reason for each node that could have been meant."""
    name, entry = options["name"], fitting.with_brought(options["entry"], options["brought"])
    every = kubectl.items("pods", "--all-namespaces")
    apart = [made.labels(one) for one in [name, *(plan["name"] for plan in options["beside"])]]
    pods = [
        pod
        for pod in every
        if pod["metadata"]["namespace"] != options["namespace"]
        or not any(own.items() <= pod["metadata"].get("labels", {}).items() for own in apart)
    ]
    pods += [will_be(plan, number) for plan in options["beside"] for number in range(plan["replicas"])]
    fits = [
        fitting.assess(
            entry, need, node, pods, options["hosts"].get(node["metadata"]["name"]), options["cpu"], options["replicas"]
        )
        for node in nodes
    ]
    stays = stays_on(kubectl, entry, name, options["namespace"], nodes)
    wish = {"node": options["node"], "platform": options["platform"]}
    fit = fitting.choose(fits, wish, stays)
    if fit is not None:
        return fit
    if wish["node"] and wish["node"] not in [one["node"] for one in fits]:
        names = ", ".join(one["node"] for one in fits)
        raise Refusal("there is no node {}; the cluster has {}".format(wish["node"], names))
    meant = [one for one in fits if stays in ("", one["node"]) or wish["node"]]
    meant = [one for one in meant if wish["node"] in ("", one["node"])]
    lines = ["{} fits no node:".format(name)]
    for one in meant:
        other = wish["platform"] and one.get("platform") != wish["platform"]
        why = "its platform is {}".format(one.get("platform")) if other else one["why_not"]
        lines.append("{}: {}".format(one["node"], why))
    if stays and not wish["node"]:
        lines.append("its data is on {}: edgectl undeploy {} first, or --node for another".format(stays, name))
    lines += advice(entry, chosen, meant)
    raise Refusal("\n".join(lines))


def will_be(plan, number):
    """A pod that is made before, as far as it counts."""
    resources = {"requests": {"memory": "{}Mi".format(plan["request_mib"])}}
    if plan["gpu"]:
        resources["limits"] = {plan["resource"]: str(plan["gpus"])}
    note = {fitting.GPU_MEMORY: str(plan["needs_mib"])} if plan["gpu"] and plan["platform"] == "dgpu" else {}
    metadata = {"name": "{}-{}".format(plan["name"], number), "namespace": plan["namespace"], "annotations": note}
    spec = {"nodeName": plan["node"], "containers": [{"resources": resources}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def refuse_another_kind(kubectl, entry, name, namespace):
    """One name is one workload: a Service would lead to the pods of a job of the same name."""
    own = OBJECTS[form.kind_of(entry)]
    found = kubectl.items("deployments,jobs,cronjobs,pods", "--namespace", namespace, "--selector", selector(name))
    for one in found:
        if not one["metadata"].get("ownerReferences") and one.get("kind", own).lower() != own:
            raise Refusal("{0} is there already, as a {1}: edgectl undeploy {0} first, or another name".format(
                name, one["kind"]))  # fmt: skip


def stays_on(kubectl, entry, name, namespace, nodes):
    """The node that it runs on already; empty where it is not there, has no data there, or its node is gone."""
    kind = form.kind_of(entry)
    if kind not in ("service", "pod") and not entry.get("volumes"):
        return ""
    there = kubectl.get(OBJECTS[kind], name, "--namespace", namespace)
    if not there:
        return ""
    spec = there["spec"].get("jobTemplate", there)["spec"] if kind == "cronjob" else there["spec"]
    hostname = spec.get("template", there)["spec"].get("nodeSelector", {}).get(fitting.HOSTNAME)
    named = (n["metadata"]["name"] for n in nodes if n["metadata"]["labels"].get(fitting.HOSTNAME) == hostname)
    return next(named, "")


def advice(entry, chosen, fits):
    """What would fit, where it is the memory that does not."""
    rooms = [fit["room_mib"] for fit in fits if fit.get("room_mib") is not None]
    if rooms and entry.get("model"):
        model = fitting.largest(entry, chosen, max(rooms))
        if model:
            return ["the largest that fits: --set {}={}".format(entry["model"]["name"], model)]
    if fits and all(fit["why_not"] == fitting.NO_GPU for fit in fits):
        return ["--cpu runs it without a GPU, slowly"]
    return ["fix for {}: {}".format(fit["node"], fit["fix"]) for fit in fits if fit.get("fix")]


def expected(entry, chosen, host):
    """What others measured of this model on such a board: {board, tokens_per_s, source}; empty where nobody did.

    A board that is simulated computes nothing of its own.
    """
    model = entry.get("model", {})
    known = model.get("known", {}).get(chosen.get(model.get("name")), {})
    if not host or host.get("simulated"):
        return {}
    return next((one for one in known.get("expected", []) if one["board"] == host.get("board")), {})


def told(where, wrong):
    return "\n".join("{} {} {}; {}".format(where, key, what, fix) for key, what, fix in wrong)


def main():
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "name": {"type": "str", "required": True},
            "entry": {"type": "dict", "required": True},
            "parameters": {"type": "dict", "default": {}},
            "hosts": {"type": "dict", "required": True},
            "namespace": {"type": "str", "required": True},
            "node": {"type": "str", "default": ""},
            "platform": {"type": "str", "default": ""},
            "cpu": {"type": "bool", "default": False},
            "file_bytes": {"type": "int", "default": 0},
            "runtime_class": {"type": "str", "default": "nvidia"},
            "data_directory": {"type": "str", "required": True},
            "storage_class": {"type": "str", "default": ""},
            "storage_gib": {"type": "int", "default": 50},
            "replicas": {"type": "int", "default": 1},
            "expose": {"type": "str", "default": ""},
            "beside": {"type": "list", "elements": "dict", "default": []},
            "brought": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    try:
        plan = planned(module.params, Kubectl(module, module.params["kubectl"]))
    except (Refusal, KubectlError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, **plan)


if __name__ == "__main__":
    main()
