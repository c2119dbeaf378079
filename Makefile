# Every target can be repeated, asks nothing, and installs what it needs. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)

.PHONY: help setup demo demo-clean check lint ruff mypy yamllint ansible-lint unit integration wheel molecule e2e e2e-k3s torture bench test screens clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(VENV)/.installed ## the Python environment and the packages that the lab needs
	@edgectl lab setup

$(VENV)/.installed: pyproject.toml
	@lab/python-env.sh $(VENV)
	touch $@

demo: setup ## three lab machines become one Kubernetes cluster
	@lab/demo.sh

demo-clean: ## remove everything that `make demo` made
	@lab/demo-clean.sh

# Lint beside the tests, its output after theirs.
check: $(VENV)/.installed ## lint and unit tests: the everyday loop
	@said=$$(mktemp)
	trap 'rm -f "$$said"' EXIT
	$(MAKE) --no-print-directory lint >"$$said" 2>&1 & lint=$$!
	failed=0
	$(MAKE) --no-print-directory unit || failed=1
	wait $$lint || failed=1
	cat "$$said"
	exit $$failed

# Side by side, each with its output in one piece, and all of them even where one fails.
lint: $(VENV)/.installed ## ruff, mypy, yamllint, ansible-lint
	@$(MAKE) --no-print-directory --jobs=2 --keep-going --output-sync=target ansible-lint mypy yamllint ruff

ruff: $(VENV)/.installed
	@ruff check .
	ruff format --check .

mypy: $(VENV)/.installed
	@mypy

yamllint: $(VENV)/.installed
	@yamllint --strict .

ansible-lint: $(VENV)/.installed
	@tests/ansible_lint

# All tests of a file on one worker: what a module's fixture costs is paid once. (pytest 9.2 hides the marks by which
# pytest-xdist 3.8 groups tests.)
unit: $(VENV)/.installed ## unit tests
	@pytest tests/unit -n 2 --dist loadfile

integration: $(VENV)/.installed ## commands from end to end on this machine: Ansible, the wheel, Ctrl-C
	@pytest tests/integration -n 2

molecule: setup ## each role on real lab nodes
	@tests/molecule/run

e2e: setup ## the promises of the README, on the lab
	@tests/e2e/browser
	pytest tests/e2e -v -rs --durations=12

e2e-k3s: setup ## the same on k3s, or on the lab's stand-in for it
	@pytest tests/e2e_k3s -v -rs --durations=12

torture: setup ## slow: runs killed at random moments, control planes lost; not part of `make test`
	@EDGECTL_KILLS=20 pytest tests/e2e/test_4c_kills.py tests/slow -v -s

bench: setup ## figures, not tests
	@pytest tests/bench -s -p no:cacheprovider

screens: $(VENV)/.installed ## the pictures of terminals in docs/screens, from recorded events
	@python -m tests.screens

test: ## lint and all tests, but for some that take long
	@tests/run

clean: ## remove the Python environment and caches inside the checkout
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist
