"""JSON Schema (draft 7) of an inventory's YAML files, made from the roles' argument_specs: for editors and for CI.

It says what a single file can say. What needs the whole inventory (addresses twice, networks that overlap) is the
business of `edgectl validate`.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from edgectl.inventory.options import TRUTH, Option, known_options, role_prefixes

Kind = Literal["hosts", "vars"]
Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
_TEMPLATE: Schema = {"type": "string", "pattern": r"\{\{|\{%"}
_PORT: Schema = {"type": "integer", "minimum": 1, "maximum": 65535}
_TYPES: dict[str, Schema] = {
    "str": {"type": ["string", "number"]},
    "path": {"type": "string"},
    "int": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^\s*-?\d+\s*$"}]},
    "float": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\s*-?\d+(\.\d+)?\s*$"}]},
    "bool": {"anyOf": [{"type": "boolean"}, {"enum": list(TRUTH)}]},
    "list": {"type": "array"},
    "dict": {"type": "object"},
}
# What Ansible itself reads, as far as most inventories need it (docs.ansible.com, "Connecting to hosts").
_CONNECTION: dict[str, Schema] = {
    "ansible_host": {"type": "string", "description": "Address or name to connect to, without user and port."},
    "ansible_user": {"type": "string", "description": "User to log in as."},
    "ansible_port": {"anyOf": [_PORT, _TEMPLATE], "description": "Port of the SSH server. The default is 22."},
    "ansible_ssh_private_key_file": {"type": "string", "description": "Private key to log in with."},
    "ansible_ssh_common_args": {"type": "string", "description": "More arguments for ssh, such as `-J jumphost`."},
    "ansible_become_password": {"type": "string", "description": "Password for sudo. Only in a vaulted file."},
}
# A label as Kubernetes wants it, or a range of Ansible's: nuc[1:3].
_HOST_NAME = r"^[a-z0-9]([-a-z0-9]|\[[0-9a-z]+:[0-9a-z]+\])*$"


def schema(kind: Kind) -> Schema:
    """The schema of hosts.yml, or of a file of group_vars/ or host_vars/."""
    if kind == "vars":
        return {"$schema": DRAFT, "title": "Variables of an edgectl inventory", **_variables()}
    group = {"$ref": "#/definitions/group"}
    return {
        "$schema": DRAFT,
        "title": "Hosts of an edgectl inventory",
        "type": ["object", "null"],
        "properties": {
            "cluster": {**_nested("cluster"), "description": "The machines that become nodes."},
            "hub": {**_nested("hub"), "description": "The host of wireguard_topology: hub, a node or not."},
        },
        "additionalProperties": group,
        "definitions": {"variables": _variables(), "group": _group()},
    }


def _nested(name: str) -> Schema:
    """A group with a description of its own; in draft 7 nothing beside a $ref counts."""
    nested = {"allOf": [{"$ref": "#/definitions/group"}]}
    if name != "cluster":
        return nested
    children = {
        "control_plane": {**_nested("control_plane"), "description": "The machine that runs the Kubernetes API."},
        "workers": {**_nested("workers"), "description": "Machines that run only workloads."},
    }
    return {**nested, "properties": {"children": {"properties": children}}}


def _group() -> Schema:
    variables, group = {"$ref": "#/definitions/variables"}, {"$ref": "#/definitions/group"}
    return {
        "type": ["object", "null"],
        "properties": {
            "hosts": {
                "type": ["object", "null"],
                "description": "Hosts of this group, each with a colon: `nuc1:`.",
                "propertyNames": {"pattern": _HOST_NAME},
                "additionalProperties": variables,
            },
            "children": {
                "type": ["object", "null"],
                "description": "Groups within this group.",
                "additionalProperties": group,
            },
            "vars": variables,
        },
        "additionalProperties": False,
    }


def _variables() -> Schema:
    options = known_options()
    prefixes = "|".join(prefix.removesuffix("_") for prefix in role_prefixes())
    return {
        "type": ["object", "null"],
        "properties": {**_CONNECTION, **{name: _option(option) for name, option in options.items()}},
        # Other variables are the user's own, but what carries one of our prefixes must be an option.
        "propertyNames": {"anyOf": [{"enum": list(options)}, {"not": {"pattern": f"^({prefixes})_"}}]},
    }


def _option(option: Option) -> Schema:
    described: Schema = {"description": _plain(option.description)}
    if option.default is not None:
        described["default"] = option.default
    return {**described, "anyOf": [_value(option), _TEMPLATE, *([] if option.required else [{"type": "null"}])]}


def _value(option: Option) -> Schema:
    if option.type == "list":
        item = Option(option.name, option.role, option.elements or "raw", None, option.choices, options=option.options)
        return {"type": "array", "items": {"anyOf": [_value(item), _TEMPLATE]}}
    if option.choices:
        return {"enum": list(option.choices)}
    if option.options:
        return {
            "type": "object",
            "properties": {name: _option(member) for name, member in option.options.items()},
            "required": [name for name, member in option.options.items() if member.required],
            "additionalProperties": False,
        }
    return _TYPES.get(option.type, {})


def _plain(description: str) -> str:
    """Without Ansible's markup: C(absent) is `absent`."""
    return re.sub(r"\b[CVOB]\(([^)]*)\)", r"`\1`", description)
