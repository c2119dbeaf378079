"""Every finding names a place in docs/checks.md; the place must exist."""

from __future__ import annotations

import re
from pathlib import Path

from edgectl_checks import REGISTRY

ROOT = Path(__file__).parents[3]
# Found by action plugins: hosts that give nothing to check, or are in use.
OF_THE_PLUGINS = {"I-NO-FACTS", "I-UNREACHABLE", "I-LOCKED"}


def test_every_check_is_explained_and_nothing_else():
    headings = re.findall(r"^### (.+)$", (ROOT / "docs" / "checks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(headings) == len(set(headings))
    assert set(headings) == {entry.id for entry in REGISTRY} | OF_THE_PLUGINS
