"""A kubectl over an API in a file (api.json, beside this program); a Deployment that is applied gets a pod.

`pod` in the file is the status that such a pod has; with phase Running the Deployment is ready. `job` are the
conditions of a Job that is applied.
"""

import base64
import json
import sys
from pathlib import Path

FILE = Path(__file__).with_name("api.json")
KINDS = {"deployment": "Deployment", "service": "Service", "namespace": "Namespace", "secret": "Secret", "node": "Node"}
KINDS |= {"ingresse": "Ingress", "ingress": "Ingress", "ingressclasse": "IngressClass"}
KINDS |= {"configmap": "ConfigMap", "job": "Job", "cronjob": "CronJob"}
KINDS |= {"pod": "Pod", "event": "Event", "persistentvolumeclaim": "PersistentVolumeClaim"}


def main():
    api = json.loads(FILE.read_text())
    words = [word for word in sys.argv[1:] if not word.startswith("--request-timeout")]
    api["said"].append(" ".join(words))
    options, plain = read(words)
    verb, *rest = plain
    answer = {"get": get, "apply": apply, "delete": delete, "logs": logs}[verb](api, options, rest)
    FILE.write_text(json.dumps(api))
    if answer is not None:
        print(answer if isinstance(answer, str) else json.dumps(answer))


def read(words):
    """Options by name, and the other words."""
    options, plain, at = {}, [], 0
    while at < len(words):
        word = words[at]
        if word in ("-f", "-o", "--namespace", "--selector", "--field-manager"):
            options[word.lstrip("-")] = words[at + 1]
            at += 1
        elif word.startswith("-"):
            name, _, value = word.lstrip("-").partition("=")
            options[{"output": "o", "filename": "f"}.get(name, name)] = value
        else:
            plain.append(word)
        at += 1
    return options, plain


def key(document):
    return "/".join([document["kind"], document["metadata"].get("namespace", ""), document["metadata"]["name"]])


def get(api, options, rest):
    if "f" in options:
        names = [key(one) for one in json.load(sys.stdin)["items"]]
        return {"kind": "List", "items": [api["objects"][name] for name in names if name in api["objects"]]}
    kinds = [KINDS.get(kind.rstrip("s"), kind) for kind in rest[0].split(",")]
    space = None if "all-namespaces" in options else options.get("namespace", "")
    if len(rest) > 1:
        return api["objects"].get("/".join([kinds[0], space or "", rest[1]]), "")
    wanted = dict(pair.split("=") for pair in options.get("selector", "").split(",") if pair)
    return {
        "kind": "List",
        "items": [
            one
            for name, one in api["objects"].items()
            if name.split("/")[0] in kinds
            and (space is None or name.split("/")[1] == space)
            and wanted.items() <= one["metadata"].get("labels", {}).items()
        ],
    }


def apply(api, options, _rest):
    document = json.load(sys.stdin)
    items = document["items"] if document["kind"] == "List" else [document]
    if "dry-run" not in options:
        for one in items:
            put(api, one)
    return {"kind": "List", "items": [api["objects"].get(key(one), one) for one in items]}


def put(api, one):
    name = key(one)
    before = api["objects"].get(name, {})
    same = before and all(before.get(part) == one[part] for part in one if part not in ("metadata", "spec"))
    same = same and json.dumps(before.get("asked")) == json.dumps(one.get("spec"))
    generation = before["metadata"]["generation"] + (0 if same else 1) if before else 1
    kept = {**one, "asked": one.get("spec"), "metadata": {**one["metadata"], "generation": generation}}
    if one["kind"] == "Service":
        kept["spec"] = {**one["spec"], "clusterIP": api["address"]}
        if one["spec"]["type"] == "NodePort":
            kept["spec"]["ports"] = [{**port, "nodePort": 30080} for port in one["spec"]["ports"]]
    if one["kind"] == "Secret":
        texts = kept.pop("stringData", {})
        kept["data"] = {**one.get("data", {}), **{k: base64.b64encode(v.encode()).decode() for k, v in texts.items()}}
    if one["kind"] == "Job":
        kept["metadata"]["uid"] = api["uid"]
        kept["status"] = {"conditions": api["job"]}
        pod(api, one)
    if one["kind"] == "Deployment":
        pod(api, one)
        running = api["pod"]["phase"] == "Running"
        counts = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 if running else 0}
        kept["status"] = {"observedGeneration": generation, **counts}
    api["objects"][name] = kept


def pod(api, deployment):
    template, name = deployment["spec"]["template"], deployment["metadata"]["name"] + "-1"
    metadata = {**template["metadata"], "name": name, "namespace": deployment["metadata"]["namespace"]}
    metadata["ownerReferences"] = [{"uid": api["uid"]}]
    one = {"kind": "Pod", "metadata": metadata, "spec": dict(template["spec"]), "status": api["pod"]}
    one["spec"]["nodeName"] = template["spec"]["nodeSelector"]["kubernetes.io/hostname"]
    api["objects"][key(one)] = one


def delete(api, options, rest):
    if "filename" in options or "f" in options:
        for one in json.load(sys.stdin)["items"]:
            api["objects"].pop(key(one), None)
            if one["kind"] == "Job":
                api["objects"].pop(key(one).replace("Job/", "Pod/") + "-1", None)
        return ""
    if rest[0] == "namespace":
        api["objects"].pop("/".join(["Namespace", "", rest[1]]))
        return ""
    for word in rest:
        kind, name = word.split("/")
        api["objects"].pop("/".join([KINDS[kind], options["namespace"], name]), None)
        if kind in ("deployment", "job"):
            api["objects"].pop("/".join(["Pod", options["namespace"], name + "-1"]), None)
    return ""


def logs(api, _options, rest):
    return api["logs"].get(rest[0], "")


main()
