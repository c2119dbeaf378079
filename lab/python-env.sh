#!/usr/bin/env bash
# Make the Python environment that `make` works in: lab/python-env.sh DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1

find_python() {
  local candidate
  for candidate in python3 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  echo "error: edgectl needs Python 3.11 or newer, and this machine has none" >&2
  echo "  fix: use Debian 12 or newer, Ubuntu 24.04 or newer, or install Python 3.11 beside yours" >&2
  exit 2
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

python=$(find_python)
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "==> installing python3-venv"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3-venv
fi
[ -x "$target/bin/python" ] || "$python" -m venv "$target"
echo "==> installing edgectl and its test tools into $target"
"$target/bin/pip" install --quiet --disable-pip-version-check --editable '.[test]'
