#!/usr/bin/env bash
# What `make demo-clean` runs: the demo's lab and the artifacts it built are removed; installed packages stay.
set -euo pipefail
if [ -x .venv/bin/edgectl ]; then
  edgectl lab down --purge
else
  echo "nothing to remove: edgectl was never set up here"
fi
