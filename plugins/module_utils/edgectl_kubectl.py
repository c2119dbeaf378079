"""kubectl on a host that may administer the cluster. Standard library only, Python 3.8 upwards."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    from ansible.module_utils.basic import AnsibleModule

_LOG_LINES = 5
_NO_FILE = "no such file or directory"


class KubectlError(Exception):
    """kubectl failed; its last line says why."""


class Kubectl:
    """Asks and tells the API.

    command: program and options that come before the verb.
    """

    def __init__(self, module: AnsibleModule, command: Sequence[str]) -> None:
        self.module = module
        self.command = list(command)

    def run(self, verb: str, *arguments: str, documents: Sequence[dict[str, Any]] | None = None) -> str:
        """What kubectl prints; documents go to its standard input, for `--filename=-`."""
        # A deletion that waits holds one request open for long, and has a limit of its own.
        limit = [] if verb == "delete" else ["--request-timeout=20s"]
        data = None if documents is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        command = [*self.command, verb, *limit, *arguments]
        try:
            rc, out, err = self.module.run_command(command, data=data, handle_exceptions=False)
        except OSError as error:
            raise KubectlError(str(error)) from None
        if rc != 0:
            said = [line for line in (err or out).splitlines() if line.strip()]
            raise KubectlError("\n".join(said) or "kubectl ended with {}".format(rc))
        return out

    def get(self, *arguments: str, documents: Sequence[dict[str, Any]] | None = None) -> dict[str, Any]:
        """An object, or a list of them; empty where there is none.

        So it is in a dry run that comes before there is a cluster, on a host without kubectl or kubeconfig.
        """
        try:
            out = self.run("get", *arguments, "--output=json", "--ignore-not-found", documents=documents)
        except KubectlError as error:
            if self.module.check_mode and _NO_FILE in str(error).lower():
                return {}
            raise
        return json.loads(out) if out.strip() else {}

    def items(self, *arguments: str) -> list[dict[str, Any]]:
        """The objects of a list."""
        return self.get(*arguments).get("items", [])

    def pods_on(self, node: str) -> list[dict[str, Any]]:
        """All pods that have been given to a node."""
        return self.items("pods", "--all-namespaces", "--field-selector", "spec.nodeName=" + node)

    def last_lines(self, pod: dict[str, Any], most: int = _LOG_LINES, container: str = "") -> list[str]:
        """What a pod printed last, or its former container where the present one has not begun.

        container: which of several; the pod's first one where that is empty.
        """
        where = [pod["metadata"]["name"], "--namespace", pod["metadata"]["namespace"]]
        where += ["--container", container] if container else []
        for former in ([], ["--previous"]):
            try:
                lines = self.run("logs", *where, "--tail={}".format(most), *former).splitlines()
            except KubectlError:
                continue
            # kubelet says so where the container's log is gone already, and kubectl takes it for the log.
            if lines and not lines[0].startswith("unable to retrieve container logs"):
                return lines
        return []
