"""Whether a role has something to do on this host, by its receipt there."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase
from ansible.template import Templar, trust_as_template

CONTENT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CONTENT / "plugins" / "module_utils"))

from edgectl_inputs import declared, digest, options_used  # noqa: E402

DOCUMENTATION = r"""
name: edgectl_due
short_description: Whether a role has something to do on this host
description:
  - A role is due where its receipt is missing, was never finished, was made from other inputs, or where the evidence
    it holds is no longer so (the facts of module edgectl_facts say that).
  - In check mode, in runs with tags, and with C(edgectl_full=true) every role is due.
options:
  _terms:
    description: Name of the role.
    required: true
author: edgectl
"""

EXAMPLES = r"""
- name: Container runtime
  ansible.builtin.include_role:
    name: containerd
  when: lookup('edgectl_due', 'containerd')
"""

RETURN = r"""
_raw:
  description: True or false.
"""


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        return [is_due(role, variables, self._loader) for role in terms]


def due_roles(variables, loader) -> list[str]:
    """The roles that are due on the host that these variables are of, among those that concern it."""
    laid_out = {**role_defaults(loader), **cluster_vars(loader), **variables}
    try:
        concerned = Templar(loader=loader, variables=laid_out).template(laid_out["__cluster_roles"])
    except AnsibleError:  # an option that can't be evaluated
        return ["cluster"]
    return [role for role in concerned if is_due(role, variables, loader)]


# Molecule skips them in every run; no task here has them.
_SKIPPED_BY_MOLECULE = frozenset(("molecule-notest", "notest"))


def is_due(role, variables, loader) -> bool:
    """Whether a role is due on the host that these variables are of."""
    if receipts_count_for_nothing(variables):
        return True
    facts = (variables.get("ansible_facts") or {}).get("edgectl") or {}
    receipt = (facts.get("receipts") or {}).get(role) or {}
    if receipt.get("status") != "done" or receipt.get("drift"):
        return True
    try:
        return inputs_digest(role, variables, loader) != receipt.get("inputs")
    except AnsibleError:  # an option that can't be evaluated: the role says better what is wrong
        return True


def receipts_count_for_nothing(variables) -> bool:
    """Runs that look at everything, or only at some tasks, neither believe receipts nor write them."""
    wanted = str(variables.get("edgectl_full", False)).lower() in ("true", "yes", "1")
    skipped = set(variables.get("ansible_skip_tags") or ()) - _SKIPPED_BY_MOLECULE
    some = list(variables.get("ansible_run_tags") or ["all"]) != ["all"] or bool(skipped)
    return wanted or some or bool(variables.get("ansible_check_mode"))


def inputs_digest(role, variables, loader) -> str:
    """The digest of a role's inputs, from a host's variables as a plugin gets them."""
    laid_out = {**role_defaults(loader), **cluster_vars(loader), **_vars(role, loader), **variables}
    templar = Templar(loader=loader, variables=laid_out)
    options = {name: templar.template(laid_out[name]) for name in options_used(role) if name in laid_out}
    values = {name: templar.template(trust_as_template(text)) for name, text in declared(role).items()}
    return digest(role, options, values, str(variables["inventory_hostname"]), variables["ansible_facts"]["edgectl"])


_CACHE: dict = {}


def role_defaults(loader) -> dict:
    """The defaults of all roles, which no host's variables hold by themselves."""
    if "" not in _CACHE:
        files = sorted((CONTENT / "roles").glob("*/defaults/main.yml"))
        _CACHE[""] = {name: value for file in files for name, value in _load(file, loader).items()}
    return _CACHE[""]


def cluster_vars(loader) -> dict:
    """What all roles share, and every play makes visible."""
    return _vars("cluster", loader)


def _vars(role, loader) -> dict:
    if role not in _CACHE:
        _CACHE[role] = _load(CONTENT / "roles" / role / "vars" / "main.yml", loader)
    return _CACHE[role]


def _load(path, loader) -> dict:
    # Without the tag, core 2.19 leaves the templates in these files as text.
    return (loader.load_from_file(str(path), trusted_as_template=True) or {}) if path.is_file() else {}
