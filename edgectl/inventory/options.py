"""The schema of what a user can set: every option of every role, read from the roles' argument_specs.yml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from edgectl import content
from edgectl.inventory.documents import did_you_mean

# libyaml where it is there: the roles' specs are a third of the time that an inventory takes.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TRUTH = ("yes", "no", "true", "false", "on", "off", "1", "0")


@dataclass(frozen=True)
class Option:
    """One option of a role."""

    name: str
    role: str
    type: str = "str"
    elements: str | None = None
    choices: tuple[Any, ...] = ()
    required: bool = False
    secret: bool = False
    default: Any = None
    description: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)


@cache
def known_options() -> Mapping[str, Option]:
    """Options of the roles that this edgectl carries."""
    return read_options(content.root() / "roles")


@cache
def role_prefixes() -> tuple[str, ...]:
    """Prefixes that belong to our roles: a variable that starts with one of them must be an option."""
    return tuple(f"{role}_" for role in sorted({option.role for option in known_options().values()}))


def role_defaults(roles: Path) -> Iterator[Path]:
    """The defaults/main.yml of each role."""
    return iter(sorted(roles.glob("*/defaults/main.yml")))


def read_options(roles: Path) -> dict[str, Option]:
    """Options of all roles below a directory, by name."""
    found: dict[str, Option] = {}
    for file in sorted(roles.glob("*/meta/argument_specs.yml")):
        entry_points = (yaml.load(file.read_text(), Loader=_LOADER) or {}).get("argument_specs", {})  # noqa: S506
        for entry_point in entry_points.values():
            found.update(_options(entry_point.get("options") or {}, file.parent.parent.name))
    return found


def mistakes(option: Option, value: object) -> Iterator[tuple[str, str]]:
    """What is wrong with a value, as (what, fix) pairs; nothing when it fits."""
    yield from _mistakes(option, value, option.name)


def _options(specs: Mapping[str, Any], role: str) -> dict[str, Option]:
    return {name: _option(name, spec or {}, role) for name, spec in specs.items()}


def _option(name: str, spec: Mapping[str, Any], role: str) -> Option:
    description = spec.get("description", "")
    return Option(
        name=name,
        role=role,
        type=spec.get("type", "str"),
        elements=spec.get("elements"),
        choices=tuple(spec.get("choices") or ()),
        required=bool(spec.get("required")),
        secret=bool(spec.get("no_log")),
        default=spec.get("default"),
        description=" ".join(description) if isinstance(description, list) else str(description),
        options=_options(spec.get("options") or {}, role),
    )


def _mistakes(option: Option, value: object, name: str) -> Iterator[tuple[str, str]]:
    if value is None and not option.required:
        return
    if isinstance(value, bool) and (word := _truth_word(option, value)):
        yield (
            f"{name} is {value}, because YAML takes a bare {word} for a truth value",
            f'put it in quotes: `{name}: "{word}"`',
        )
        return
    if (wanted := _wrong_type(option.type, value)) is not None:
        yield f"{name} is {_shown(value)}, and must be {wanted}", f"write {_example(option, name)}"
        return
    if option.type == "list" and isinstance(value, list):
        item = Option(name, option.role, option.elements or "raw", choices=option.choices, options=option.options)
        for number, element in enumerate(value):
            yield from _mistakes(item, element, f"{name}[{number}]")
        return
    if option.choices and str(value) not in {str(choice) for choice in option.choices}:
        yield _wrong_choice(option, value, name)
    if option.options and isinstance(value, Mapping):
        yield from _wrong_members(option, value, name)


def _truth_word(option: Option, value: bool) -> str | None:
    """The choice that YAML has turned into a truth value, such as `off`."""
    words = ("on", "yes", "true") if value else ("off", "no", "false")
    return next((str(choice) for choice in option.choices if option.type == "str" and choice in words), None)


def _wrong_members(option: Option, value: Mapping[str, Any], name: str) -> Iterator[tuple[str, str]]:
    for key, member in value.items():
        if key in option.options:
            yield from _mistakes(option.options[key], member, f"{name}.{key}")
        else:
            nearest = did_you_mean(str(key), option.options)
            fix = f"did you mean {nearest}?" if nearest else f"allowed: {', '.join(option.options)}"
            yield f"{name}.{key} is not an option", fix
    for key, member in option.options.items():
        if member.required and key not in value:
            yield f"{name}.{key} is missing", f"add {key} to {name}"


def _wrong_type(wanted: str, value: object) -> str | None:
    """What the value should have been, or None when it fits."""
    text = str(value).strip()
    scalar = not isinstance(value, (Mapping, list))
    fits: dict[str, tuple[bool, str]] = {
        "str": (scalar and not isinstance(value, bool), "text"),
        "path": (isinstance(value, str), "a path"),
        "int": (scalar and not isinstance(value, bool) and text.lstrip("-").isdecimal(), "a whole number"),
        "float": (scalar and not isinstance(value, bool) and _is_number(text), "a number"),
        "bool": (scalar and text.lower() in TRUTH, "true or false"),
        "list": (isinstance(value, list), "a list"),
        "dict": (isinstance(value, Mapping), "a mapping of `key: value` lines"),
    }
    ok, description = fits.get(wanted, (True, ""))
    return None if ok else description


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _wrong_choice(option: Option, value: object, name: str) -> tuple[str, str]:
    allowed = ", ".join(str(choice) for choice in option.choices)
    nearest = did_you_mean(str(value), [str(choice) for choice in option.choices])
    return f"{name} is {_shown(value)}, and must be one of: {allowed}", (
        f"did you mean {nearest}?" if nearest else f"choose one of: {allowed}"
    )


def _example(option: Option, name: str) -> str:
    examples = {
        "list": f"`{name}: [...]`, or `- ` lines below `{name}:`",
        "dict": f"`key: value` lines below `{name}:`",
        "bool": f"`{name}: true` or `{name}: false`",
    }
    fallback = f"`{name}: {option.default}`" if option.default not in (None, "") else "a value of that kind"
    return examples.get(option.type, f"for example {fallback}")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list) else repr(value)
