"""Documentation of the action plugin of the same name; nothing of it runs on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: edgectl_preflight
short_description: Name every problem of every host before anything is changed
description:
  - Runs edgectl's checks on the controller over the facts of all hosts in the play (M(edgectl_facts)).
  - Any error stops the play for all hosts, with every problem in one message. Warnings are only shown.
  - A host that could not be reached is left out with a warning; a control plane out of reach is an error.
options:
  ignore:
    description: Ids of checks whose findings are dropped.
    type: list
    elements: str
    default: []
  facts_result:
    description: Variable in which the task that ran M(edgectl_facts) registered its result.
    type: str
    default: edgectl_facts_result
attributes:
  check_mode:
    support: full
author: [edgectl]
"""

EXAMPLES = r"""
- name: State of every host
  edgectl_facts:
  register: edgectl_facts_result

- name: Every problem of every host, before anything is changed
  edgectl_preflight:
  run_once: true
"""

RETURN = r"""
findings:
  description: Host, layer, id, severity, what, evidence, fix and docs of each finding.
  returned: always
  type: list
  elements: dict
due:
  description: Host to the roles that are due there, or C(enrol); only hosts where something is.
  returned: success
  type: dict
to_enrol:
  description: Hosts of which the state file does not say what it should.
  returned: success
  type: list
  elements: str
"""
