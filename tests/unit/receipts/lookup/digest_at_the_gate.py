"""The digest that the gate works out; lookup edgectl_due itself says no more than whether it is that of the receipt."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.plugins.lookup import LookupBase

sys.path.insert(0, str(Path(__file__).parents[4] / "plugins" / "lookup"))

from edgectl_due import inputs_digest


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        return [inputs_digest(role, variables, self._loader) for role in terms]
