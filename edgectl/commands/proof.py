"""What is printed when nothing had to be done. Imports little: most of such a command's time is its start."""

from __future__ import annotations

import sys

from edgectl.cluster.verified import Proof
from edgectl.output import summary
from edgectl.output.jsonl import JsonLinesRenderer


def show_proof(proof: Proof, *, json: bool) -> None:
    """Print that nothing had to be done, and what that rests on."""
    if json:
        JsonLinesRenderer(sys.stdout).write(summary.proof_document(proof))
        return
    for line in summary.proof_lines(proof):
        print(line)
