#!/usr/bin/python
"""Proves the GPU slots of one node: a pod computes in each, and one pod more has to wait."""

from __future__ import annotations

import shlex
import textwrap
import time

from ansible.module_utils import edgectl_gpu_proof as proof
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_gpu_offer import await_offer
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError

DOCUMENTATION = r"""
module: edgectl_gpu_verify
short_description: Proves that pods can use a node's GPU, and only as many as there are slots
description:
  - Runs on a control plane. Fills every slot that nobody holds with a pod that checks the GPU from inside, with one
    pod more, which the scheduler must keep back for want of a slot. Slots that others hold are left to them.
  - The pods have a priority below every workload's and preempt nobody.
  - Everything is in a namespace of the node's own, so that several nodes can be verified at once. It is removed when
    all went well, and stays as evidence when not, until the next verification of that node.
  - Does nothing in check mode.
options:
  kubectl:
    description: Program and options that come before the verb.
    type: list
    elements: str
    required: true
  node: {description: Name of the node., type: str, required: true}
  platform: {description: What kind of GPU it has., type: str, choices: [jetson, dgpu], required: true}
  resource: {description: What the device plugin offers., type: str, default: nvidia.com/gpu}
  expected: {description: How many of it the node should offer; without it any number from 1 on., type: int}
  image: {description: Image with python3 that the pods run., type: str, required: true}
  image_pull_policy:
    description: When the node fetches the image.
    type: str
    choices: [Always, IfNotPresent, Never]
    default: IfNotPresent
  runtime_class: {description: RuntimeClass of NVIDIA's runtime., type: str, default: nvidia}
  script: {description: The text of gpu_check.py., type: str, required: true}
  namespace: {description: What the names of the namespaces begin with., type: str, default: edgectl-verify}
  timeout: {description: Seconds within which all pods must have answered., type: int, default: 180}
  keep: {description: Whether pods that did well stay too., type: bool, default: false}
attributes:
  check_mode:
    support: full
author: [edgectl]
"""

EXAMPLES = r"""
- name: Pods can use the GPU
  edgectl_gpu_verify:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    node: orin1
    platform: jetson
    expected: 4
    image: docker.io/library/python:3.13-slim-trixie
    script: "{{ lookup('ansible.builtin.file', 'gpu_check.py') }}"
  delegate_to: nuc1
"""

RETURN = r"""
node: {description: Name of the node., type: str, returned: always}
platform: {description: As given., type: str, returned: always}
product: {description: "The GPU's name, where it is known.", type: str, returned: always}
expected: {description: As given; null where it was not., type: int, returned: always}
allocatable: {description: How many slots the node offers., type: int, returned: always}
free: {description: How many of them nobody else held., type: int, returned: always}
in_use_by: {description: "Pods of others that hold slots: namespace/name -> slots.", type: dict, returned: always}
ran: {description: How many pods checked the GPU with success., type: int, returned: always}
extra_pending:
  description: Whether one pod more had to wait; null when no pod was started.
  type: bool
  returned: always
checks: {description: "What gpu_check.py answered, by pod.", type: list, elements: dict, returned: always}
simulated: {description: Whether the GPU says itself that it is a pretended one., type: bool, returned: always}
seconds: {description: How long it took., type: float, returned: always}
problems: {description: "What is wrong: what, evidence and fix.", type: list, elements: dict, returned: always}
namespace: {description: Where what was kept is., type: str, returned: when something was kept}
look: {description: Command that shows what was kept., type: str, returned: when something was kept}
remove: {description: Command that removes it., type: str, returned: when something was kept}
"""

POLL = 2
OFFER_SECONDS = 60
# How long the API may take to make a new namespace usable, or to remove one with its pods.
SETTLE_SECONDS = 90
# Of further pods, in a cluster where others come and go while we look.
MOST_EXTRA = 8


class Verification:
    """One node's verification, from what the node offers to what the pods proved."""

    def __init__(self, kubectl, options):
        self.kubectl, self.options = kubectl, options
        self.name, self.resource = options["node"], options["resource"]
        self.namespace = proof.names(options["namespace"], self.name)
        self.answers, self.logs = {}, {}
        self.made = 0
        self.kept = False
        self.started = time.monotonic()
        self.result = {
            "changed": False,
            "node": self.name,
            "platform": options["platform"],
            "product": "",
            "expected": options["expected"],
            "allocatable": 0,
            "free": 0,
            "in_use_by": {},
            "ran": 0,
            "extra_pending": None,
            "checks": [],
            "simulated": False,
            "problems": [],
        }

    def run(self):
        """Verify; the result has every problem."""
        try:
            self._verify()
        except KubectlError as error:
            self._problem({"kind": "api", "what": "the API does not do what it is asked", "evidence": str(error)})
        self._tell_checks()
        self._tidy()
        self.result["seconds"] = round(time.monotonic() - self.started, 1)
        return self.result

    def _verify(self):
        self._remove()
        node = self._offer()
        if node is None:
            return
        on_node = self.kubectl.pods_on(self.name)
        held = proof.holders(on_node, self.name, self.resource, self.namespace)
        free = max(0, self.result["allocatable"] - sum(held.values()))
        self.result.update(free=free, in_use_by=held)
        if free == 0:
            return
        try:
            self._start(node, free + 1)
        except KubectlError as error:
            self._problem({"kind": "refused", "what": "the API refuses the pods", "evidence": str(error)})
            return
        self._watch()

    def _offer(self):
        """The node, once it offers what it should; None when it does not in time."""
        node, short = await_offer(self.kubectl, self.name, self.options["expected"], self.resource, OFFER_SECONDS, POLL)
        if node:
            self.result["allocatable"] = proof.offered(node, self.resource)
            self.result["product"] = node["metadata"].get("labels", {}).get(proof.NVIDIA_PRODUCT, "")
        if short is None:
            return node
        self._problem(short)
        return None

    def _start(self, node, number):
        """Make the frame and that many pods; the API needs a moment before it takes pods in a new namespace."""
        self.kept = True
        objects = [] if self.made else proof.frame(self.namespace, self.options["script"])
        numbers = range(self.made, self.made + number)
        objects += [proof.pod(self.namespace, i, node, self.options) for i in numbers]
        deadline = time.monotonic() + SETTLE_SECONDS / 3
        while True:
            try:
                self.kubectl.run("apply", "--filename=-", documents=objects)
            except KubectlError as error:
                if "serviceaccount" not in str(error) or time.monotonic() >= deadline:
                    raise
                time.sleep(POLL / 2)
            else:
                self.made += number
                return

    def _watch(self):
        """Look until all is proved, something is wrong, or the time is over."""
        deadline = time.monotonic() + self.options["timeout"]
        scene, verdict, silent = None, None, None
        while True:
            try:
                scene, silent = self._scene(), None
                verdict = proof.judge(scene, self.resource, self.namespace)
                most = self.result["allocatable"] + 1 + MOST_EXTRA
                if not verdict["problems"] and 0 < verdict["missing"] <= most - self.made:
                    self._start(scene.node, verdict["missing"])
            except KubectlError as error:
                # A control plane may be busy for a moment; it has until the end to come back.
                silent = error
            over = time.monotonic() >= deadline
            if over or (silent is None and (verdict["proved"] or verdict["problems"])):
                break
            time.sleep(POLL)
        if scene is None:
            raise silent
        self._tell(scene, verdict, str(silent or ""))

    def _scene(self):
        node = self.kubectl.get("node", self.name)
        if not node:
            raise KubectlError("there is no node {} any more".format(self.name))
        on_node = self.kubectl.pods_on(self.name)
        own = self.kubectl.items("pods", "--namespace", self.namespace)
        events = []
        for pod in own:
            name, (state, _) = pod["metadata"]["name"], proof.container_state(pod)
            if name not in self.answers and state in ("running", "terminated"):
                self._read(name)
        if any(proof.container_state(pod)[0] == "waiting" for pod in own):
            events = self.kubectl.items("events", "--namespace", self.namespace)
        return proof.Scene(node, on_node, own, self.answers, self.logs, events)

    def _read(self, name):
        try:
            log = self.kubectl.run("logs", name, "--namespace", self.namespace)
        except KubectlError as error:
            log = str(error)
        self.logs[name] = log
        answer = proof.answer_in(log)
        if answer is not None:
            self.answers[name] = answer

    def _tell(self, scene, verdict, silent):
        self.result.update(
            allocatable=proof.offered(scene.node, self.resource),
            free=verdict["room"],
            in_use_by=verdict["held"],
            ran=verdict["ran"],
            extra_pending=verdict["waiting"] > 0,
        )
        problems = verdict["problems"]
        if silent:
            problems = [{"kind": "api", "what": "the API stopped answering", "evidence": silent}]
        elif not verdict["proved"] and not problems:
            problems = proof.unproved(scene, verdict, self.resource, self.options["timeout"])
        for problem in problems:
            self._problem(problem)

    def _tell_checks(self):
        checks = [{"pod": name, **answer} for name, answer in sorted(self.answers.items())]
        self.result["checks"] = checks
        self.result["simulated"] = any(check.get("simulated") for check in checks)
        known = [check["name"] for check in checks if check.get("name")]
        self.result["product"] = self.result["product"] or (known[0] if known else "")

    def _problem(self, problem):
        kind = problem.pop("kind")
        self.result["problems"].append({**problem, "fix": proof.fix(kind, self.name, self.options)})

    def _tidy(self):
        """Leave nothing, or what shows why it went wrong."""
        if self.kept and not self.result["problems"] and not self.options["keep"]:
            try:
                self._remove()
            except KubectlError as error:
                self._problem({"kind": "api", "what": "what was made can't be removed", "evidence": str(error)})
            else:
                self.kept = False
        if self.kept:
            command = shlex.join(self.kubectl.command)
            self.result["namespace"] = self.namespace
            self.result["look"] = "{} --namespace {} describe pods".format(command, self.namespace)
            self.result["remove"] = "{0} delete namespace/{1} priorityclass/{1}".format(command, self.namespace)

    def _remove(self):
        """Remove what a verification of this node made, now or before, and wait until its slots are free."""
        self.kubectl.run(
            "delete",
            "namespace/" + self.namespace,
            "priorityclass/" + self.namespace,
            "--ignore-not-found",
            "--wait",
            "--timeout={}s".format(SETTLE_SECONDS),
        )


def said(result):
    """What is wrong, what was seen and what to do about it, in a few lines; `edgectl verify gpu` tells all of it."""
    problem, *others = result["problems"]
    seen = problem["evidence"].splitlines()
    # The state of what was looked at comes first, its last words come last.
    lines = ["seen: " + line for line in seen[:1] + seen[1:][-1:]]
    lines.append("fix: " + problem["fix"])
    more = " ({} more)".format(len(others)) if others else ""
    lines.append("all of it{}: edgectl verify gpu --host {}".format(more, result["node"]))
    whole = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    folded = (textwrap.fill(line, 76, **whole) for line in lines)
    return "\n".join(["the GPU of {} is not proved: {}".format(result["node"], problem["what"]), *folded])


def main():
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "node": {"type": "str", "required": True},
            "platform": {"type": "str", "choices": ["jetson", "dgpu"], "required": True},
            "resource": {"type": "str", "default": "nvidia.com/gpu"},
            "expected": {"type": "int"},
            "image": {"type": "str", "required": True},
            "image_pull_policy": {
                "type": "str",
                "choices": ["Always", "IfNotPresent", "Never"],
                "default": "IfNotPresent",
            },
            "runtime_class": {"type": "str", "default": "nvidia"},
            "script": {"type": "str", "required": True},
            "namespace": {"type": "str", "default": "edgectl-verify"},
            "timeout": {"type": "int", "default": 180},
            "keep": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    verification = Verification(Kubectl(module, module.params["kubectl"]), module.params)
    if module.check_mode:
        module.exit_json(seconds=0.0, **verification.result)
    result = verification.run()
    if result["problems"]:
        module.fail_json(msg=said(result), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
