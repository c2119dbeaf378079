#!/usr/bin/env bash
# What `make demo` runs after `make setup`: the lab, then one cluster out of it. Repeating it takes seconds.
set -euo pipefail
edgectl lab up
inventory=$(edgectl lab status --name lab --json | python -c 'import json, sys; print(json.load(sys.stdin)["labs"][0]["inventory"])')
hosts=$(edgectl lab status --name lab --json | python -c 'import json, sys; print(len(json.load(sys.stdin)["labs"][0]["nodes"]))')
nodes=$([ ! -e "$inventory/edgectl.state.yml" ] || edgectl kubectl -i "$inventory" -- get nodes -o wide 2>/dev/null || true)
if [ "$(grep -cE '^\S+ +Ready ' <<<"$nodes")" = "$hosts" ]; then
  printf 'The cluster stands already:\n\n%s\n' "$nodes"
else
  edgectl bootstrap "$inventory" --yes
fi
# A model with random weights, through a time-sliced slot of the simulated GPU.
edgectl deploy ollama "$inventory" --set model=lab-tiny
cat <<END

Three machines, one cluster. Try next:
  $(command -v edgectl) kubectl -i $inventory -- get pods -A -o wide
  $(command -v edgectl) lab ssh orin1
  $(command -v edgectl) probe -i $inventory orin1
  $(command -v edgectl) verify gpu $inventory
  $(command -v edgectl) top $inventory
  $(command -v edgectl) open ollama $inventory
  $(command -v edgectl) catalog
  make demo-clean       removes the lab and everything it made
END
