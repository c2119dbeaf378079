#!/usr/bin/env bash
# What `make demo` runs after `make setup`: the lab, then one cluster out of it. Repeating it takes seconds.
set -euo pipefail
inventory=$(edgectl lab up --print-inventory)
edgectl bootstrap "$inventory" --yes
cat <<END

Three machines, one cluster. Try next:
  $(command -v edgectl) kubectl -i $inventory -- get pods -A -o wide
  $(command -v edgectl) lab ssh orin1
  $(command -v edgectl) probe -i $inventory orin1
  make demo-clean       removes the lab and everything it made
END
