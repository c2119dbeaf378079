"""Running playbooks: ansible-runner's events as dataclasses, cancelling, the run log, what came of it."""
