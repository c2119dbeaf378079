"""Runs the checks on the controller, over the facts of all hosts at once, and names every problem of every host."""

from __future__ import annotations

import sys
import time
from ipaddress import ip_network
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.template import Templar

CONTENT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CONTENT / "plugins" / "lookup"))
sys.path.insert(0, str(CONTENT / "plugins" / "module_utils"))

from edgectl_checks import OPTIONS, Finding, run_checks  # noqa: E402
from edgectl_due import cluster_vars, due_roles, receipts_count_for_nothing, role_defaults  # noqa: E402


class ActionModule(ActionBase):
    """Contacts no host: it reads what `edgectl_facts` has found."""

    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(("ignore", "facts_result"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        in_play = task_vars["ansible_play_hosts_all"]
        variables = {name: task_vars["hostvars"].raw_get(name) for name in self._hosts_to_know(task_vars)}
        documents = {name: variables[name].get("ansible_facts", {}).get("edgectl") for name in in_play}
        states = {name: document for name, document in documents.items() if document}

        findings = [self._without_facts(name, variables[name]) for name in in_play if name not in states]
        options = self._options(variables)
        findings += run_checks(states, options, time.time())
        ignored = set(self._task.args.get("ignore") or ())
        findings = [finding for finding in findings if finding.id not in ignored]
        errors = [finding for finding in findings if finding.severity == "error"]
        warnings = [finding for finding in findings if finding.severity != "error"]

        result.update(changed=False, findings=[finding.as_dict() for finding in findings])
        if errors:
            result.update(failed=True, msg=message(errors, warnings))
        else:
            result["msg"] = f"{len(states)} hosts can take part"
            result["to_enrol"] = [
                name for name in states if not is_enrolled(states[name], variables[name], options[name])
            ]
            result["due"] = {name: roles for name in states if (roles := self._due(name, variables, task_vars))}
            result["due"] |= {name: ["enrol"] for name in result["to_enrol"]}
            result["warnings"] = [one_line(finding) for finding in warnings]
        return result

    def _due(self, name, variables, task_vars) -> list[str]:
        """The roles that are due on a host, so that a run may know from its start that there is nothing to do."""
        return due_roles({**variables[name], "hostvars": task_vars["hostvars"]}, self._loader)

    def _hosts_to_know(self, task_vars) -> list[str]:
        """The hosts in play, and those that `--limit` leaves out: nobody may take their identity."""
        groups = task_vars["groups"]
        return list(
            dict.fromkeys([*task_vars["ansible_play_hosts_all"], *groups.get("cluster", []), *groups.get("hub", [])])
        )

    def _options(self, variables):
        """The options that checks ask for, per host: what the inventory says, laid over the roles' defaults.

        `hostvars` alone has no defaults of roles, so they are read from where the roles are.
        """
        defaults = role_defaults(self._loader)
        options = {}
        for name, of_host in variables.items():
            known = {**defaults, **cluster_vars(self._loader), **of_host}
            templar = Templar(loader=self._loader, variables=known)
            options[name] = {option: self._value(templar, known[option]) for option in OPTIONS if option in known}
            # A channel or a minor has no number to be compared.
            options[name]["cluster_version"] = self._value(templar, known["__cluster_release"])
        return options

    def _value(self, templar, raw):
        try:
            return templar.template(raw)
        except AnsibleError:  # the role that uses the option says better what is wrong with it
            return None

    def _without_facts(self, name, variables) -> Finding:
        """A host that gave no facts: refusing us, or out of reach, which leaves it out unless all others need it."""
        answer = variables.get(self._task.args.get("facts_result", "edgectl_facts_result")) or {}
        reason = reason_of(answer)
        groups = variables.get("group_names", [])
        needed = next((what for what in ("control_plane", "hub") if what in groups), "").replace("_", " ")
        if answer.get("failed") and not answer.get("unreachable"):
            return Finding(
                what="the state of this host could not be read",
                evidence=reason,
                fix=f"ansible -i <inventory> {name} -m ansible.builtin.ping --become",
                host=name,
                layer="identity",
                id="I-NO-FACTS",
                docs="docs/checks.md#i-no-facts",
            )
        return Finding(
            what=f"the {needed} is out of reach" if needed else "the host is out of reach and is left out",
            evidence=reason,
            fix=f"check that it runs and that `ssh {variables.get('ansible_host', name)}` works, then run this again",
            severity="error" if needed else "warning",
            host=name,
            layer="identity",
            id="I-UNREACHABLE",
            docs="docs/checks.md#i-unreachable",
        )


def is_enrolled(document, variables, options) -> bool:
    """Whether the state file says of a host what phase enrol would write about it now."""
    known = variables.get("edgectl_state") or {}
    keys = sorted(key["fingerprint"] for key in document.get("ssh_host_keys") or [])
    interfaces = (document.get("wireguard") or {}).get("interfaces") or {}
    running = interfaces.get(options.get("wireguard_interface"), {}).get("public_key")
    return (
        bool(known)
        and not receipts_count_for_nothing(variables)
        and _inside(known.get("pod_cidr"), options.get("cluster_pod_cidr"))
        and known.get("machine_id") == document["identity"]["machine_id"]
        and known.get("lan_address") == options.get("cluster_lan_address")
        and sorted(known.get("ssh_host_keys") or []) == keys
        and (
            not options.get("cluster_wireguard")
            or (
                known.get("wireguard_public_key") == running
                and _inside(known.get("wireguard_address"), options.get("wireguard_network"))
            )
        )
    )


def _inside(part, whole) -> bool:
    """Whether what was given to a host still belongs to the cluster's network; a hub has no pods, and so no part."""
    return part is None or ip_network(str(part)).subnet_of(ip_network(str(whole)))


def reason_of(answer) -> str:
    """The line of a failed task that says most: of a traceback the last one, else the first."""
    text = str(answer.get("module_stderr") or answer.get("msg") or "the host gave no answer").strip()
    lines = [line.strip() for line in text.replace("Task failed: ", "").splitlines() if line.strip()]
    return lines[-1] if "Traceback" in text else lines[0]


def message(errors: list[Finding], warnings: list[Finding]) -> str:
    """Every problem, grouped by host, each with the reason and the remedy."""
    count = "1 problem" if len(errors) == 1 else f"{len(errors)} problems"
    lines = [f"{count} to solve first; nothing has been changed."]
    for host in dict.fromkeys(finding.host for finding in [*errors, *warnings]):
        lines += ["", host]
        for finding in (f for f in [*errors, *warnings] if f.host == host):
            lines.append(f"  {finding.severity}: {finding.what} [{finding.id}]")
            lines.append(f"    why: {finding.evidence}")
            lines.append(f"    fix: {finding.fix}")
    return "\n".join(lines)


def one_line(finding: Finding) -> str:
    return f"{finding.host}: {finding.what} ({finding.evidence}); {finding.fix} [{finding.id}]"
