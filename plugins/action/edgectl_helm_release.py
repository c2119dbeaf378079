"""Controller's half of edgectl_helm_release: transfers helm and the chart only where there is something to do."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from edgectl_artifact import ActionModule as TransferFiles


class ActionModule(TransferFiles):
    """As that of edgectl_artifact; a file is called by its name, since it is not kept."""

    _VALID_ARGS = frozenset(("crd_group", "files", "kubectl", "namespace", "release", "state", "uploaded", "values"))
    items, key = "files", "name"

    @staticmethod
    def left(file) -> str:
        """What has become of the cluster."""
        return "the release is left as it was"
