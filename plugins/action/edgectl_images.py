"""Controller's half of edgectl_images: transfers only the archives that have an image that containerd lacks."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from edgectl_artifact import ActionModule as TransferFiles


class ActionModule(TransferFiles):
    """As that of edgectl_artifact; an archive is called by its source, since it is not kept."""

    _VALID_ARGS = frozenset(("address", "archives", "record", "state"))
    items, key = "archives", "src"

    @staticmethod
    def left(file) -> str:
        """What has become of the host."""
        return "nothing of it was imported"
