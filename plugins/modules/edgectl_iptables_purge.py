#!/usr/bin/python
"""Removes the chains whose names begin with given prefixes, and the rules that lead there, from all backends."""

from __future__ import annotations

import os
import re
import shutil

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_iptables_purge
short_description: Removes somebody's chains from iptables, and nothing else
description:
  - Kubernetes and CNI plugins leave their chains behind. This removes chains by the prefix of their names and the rules
    that jump to them, in one transaction a table, for IPv4 and IPv6 and for both backends (C(nft) and C(legacy)).
  - Rules and chains of others, and their counters, stay as they are.
options:
  prefixes: {type: list, elements: str, required: true, description: Beginnings of the chains' names.}
author: edgectl
"""

EXAMPLES = r"""
- name: Rules of kube-proxy and kubelet
  edgectl_iptables_purge:
    prefixes: [KUBE-]
"""

RETURN = r"""
chains: {description: Names of the chains that were removed., type: list, elements: str, returned: always}
"""

BACKENDS = ("iptables-nft", "iptables-legacy", "ip6tables-nft", "ip6tables-legacy")
LEGACY_TABLES = {"iptables-legacy": "/proc/net/ip_tables_names", "ip6tables-legacy": "/proc/net/ip6_tables_names"}


def removal(saved, prefixes):
    """Input for `iptables-restore --noflush` that takes the chains away, and their names; ("", []) for none."""
    ours = re.compile("(?:%s)" % "|".join(re.escape(prefix) for prefix in prefixes))
    script, names, table = [], [], None
    for line in saved.splitlines():
        if line.startswith("*"):
            table, chains, jumps = line, [], []
        elif line.startswith(":") and ours.match(line[1:]):
            chains.append(line[1:].split()[0])
        elif line.startswith("-A ") and not ours.match(line[3:]):
            target = re.search(r" -[jg] (\S+)", line)
            if target and ours.match(target.group(1)):
                jumps.append("-D" + line[2:])
        elif line == "COMMIT" and table and (chains or jumps):
            # Naming a chain empties it in this mode, so that all of them can be removed in any order.
            empty = [":%s - [0:0]" % chain for chain in chains]
            script += [table, *empty, *jumps, *["-X " + chain for chain in chains], "COMMIT"]
            names += chains
    return ("\n".join([*script, ""]) if script else ""), names


def main():
    module = AnsibleModule(
        argument_spec={"prefixes": {"type": "list", "elements": "str", "required": True}}, supports_check_mode=True
    )
    removed = set()
    for backend in BACKENDS:
        save, restore = shutil.which(backend + "-save"), shutil.which(backend + "-restore")
        # Asking the legacy backend makes its tables; a kernel without them has nothing to remove.
        if not (save and restore) or not os.path.exists(LEGACY_TABLES.get(backend, "/")):
            continue
        code, saved, _ = module.run_command([save])
        if code != 0:
            continue
        script, names = removal(saved, module.params["prefixes"])
        if script and not module.check_mode:
            module.run_command([restore, "--noflush", "--wait", "10"], data=script, check_rc=True)
        removed.update(names)
    module.exit_json(changed=bool(removed), chains=sorted(removed))


if __name__ == "__main__":
    main()
