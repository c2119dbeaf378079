"""`edgectl env`: the line that lets plain `ansible-playbook` find edgectl's roles from any directory."""

from __future__ import annotations

import shlex

import typer

from edgectl import content


def env() -> None:
    """Print shell lines for plain Ansible: `eval "$(edgectl env)"`, then run ansible-playbook from anywhere."""
    typer.echo(f"export ANSIBLE_CONFIG={shlex.quote(str(content.root() / 'ansible.cfg'))}")
    typer.echo(f"export EDGECTL_PLAYBOOKS={shlex.quote(str(content.root() / 'playbooks'))}")
