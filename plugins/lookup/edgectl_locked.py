"""What `edgectl lock` has written down for an inventory."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

CONTENT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CONTENT / "plugins" / "module_utils"))

import edgectl_fetch  # noqa: E402
import edgectl_locked  # noqa: E402

DOCUMENTATION = r"""
name: edgectl_locked
short_description: What edgectl lock has written down for an inventory
description:
  - Reads C(.edgectl/artifacts.lock.yml) of an inventory directory. A release that is named in full needs no lock.
options:
  _terms:
    description:
      - V(release), the Kubernetes release that O(version) stands for; V(files), the files of that release for all
        architectures, as in an artifacts directory's manifest and each with its C(url); V(place), the directory on the
        controller where those files are kept once they are fetched.
    required: true
  directory: {description: The inventory directory., type: path, required: true}
  distribution: {description: Option cluster_distribution., type: str, required: true}
  version: {description: Option cluster_version., type: str, required: true}
  mirror: {description: Option cluster_artifacts_mirror., type: str, default: ''}
author: edgectl
"""

EXAMPLES = r"""
- name: Release
  ansible.builtin.debug:
    msg: "{{ lookup('edgectl_locked', 'release', directory=inventory_dir, distribution='k3s', version='stable') }}"
"""

RETURN = r"""
_raw:
  description: A text for each V(release) and V(place), a list of mappings for each V(files).
"""


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        return [self._one(term) for term in terms]

    def _one(self, term):
        if term == "place":
            return edgectl_locked.cache()
        distribution, version = self.get_option("distribution"), str(self.get_option("version"))
        if term == "release" and edgectl_locked.exact(version):
            return edgectl_locked.exact(version)
        directory = self.get_option("directory")
        try:
            document = edgectl_locked.read(directory)
        except edgectl_locked.LockError as error:
            raise AnsibleError(str(error)) from error
        if term == "files":
            mirror = self.get_option("mirror")
            found = edgectl_locked.files(document, distribution, version)
            return [{**file, "url": edgectl_fetch.behind(mirror, file["url"])} for file in found]
        known = edgectl_locked.release(document, distribution, version)
        if known is None:
            raise AnsibleError(
                f"cluster_version is {version!r}, and no lock says which release that is: edgectl lock {directory}"
            )
        return known
