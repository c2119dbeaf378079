"""The inventory's YAML files as they were written: which file and line sets what, and what Ansible would not tell.

Ansible reads the values; this module knows where they stand. It also finds what Ansible accepts in silence or only
warns about: duplicate keys, sections with a wrong name, values that lack their quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import yaml

from edgectl.inventory.problem import Place, Problem

STATE_FILE = "edgectl.state.yml"
YAML_SUFFIXES = (".yml", ".yaml", ".json")
VARIABLE_DIRECTORIES = ("group_vars", "host_vars")
# What Ansible passes over in an inventory directory (INVENTORY_IGNORE_EXTS of core 2.19).
IGNORED = re.compile(r"^\.|~$|\.(pyc|pyo|swp|bak|rpm|md|txt|rst|orig|cfg|retry)$")
TAGS = ("!vault", "!vault-encrypted", "!unsafe")
SECTIONS = ("hosts", "children", "vars")

Scope = Literal["group", "host"]


@dataclass(frozen=True)
class Setting:
    """One variable as written: `key` for the group or host `owner`."""

    place: Place
    scope: Scope
    owner: str
    key: str
    in_directory: bool = False
    """In group_vars/ or host_vars/."""


@dataclass
class Documents:
    """Everything found in the YAML files of one inventory directory."""

    settings: list[Setting] = field(default_factory=list)
    hosts: dict[str, Place] = field(default_factory=dict)
    groups: dict[str, Place] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """What keeps a file from being read as it was meant."""
    duplicates: list[Problem] = field(default_factory=list)
    """Keys that are set twice; Ansible reads on with the last one."""

    def place(self, key: str, host: str | None = None, groups: Iterable[str] = ()) -> Place | None:
        """Where a variable is set for this host, by Ansible's precedence; where it is not set, anywhere.

        groups: those of the host, the one with the last word first.
        """
        nearest = list(groups)

        def rank(setting: Setting) -> tuple[int, int]:
            # ansible.constants.VARIABLE_PRECEDENCE: a file's group variables, then those of group_vars/, each with
            # the group `all` before the others; host variables after them.
            if setting.scope == "host":
                return (4 if setting.owner == host else -2, setting.in_directory)
            if setting.owner not in (*nearest, "all"):
                return -1, 0
            position = -nearest.index(setting.owner) if setting.owner in nearest else 0
            return 2 * setting.in_directory + (setting.owner != "all"), position

        found = [setting for setting in reversed(self.settings) if setting.key == key]  # of equals, the last counts
        return max(found, key=rank).place if found else None


def read(directory: Path, text_of: Callable[[Path], str]) -> Documents:
    """Read all YAML files of an inventory directory; `text_of` gives a file's text, decrypted where it is vaulted."""
    documents = Documents()
    for file in source_files(directory):
        if (node := _compose(file, text_of, documents)) is not None and file.name != STATE_FILE:
            _read_groups(file, node, documents)
    for file in ini_files(directory):
        _read_ini(file, documents)
    for file, scope, owner in variable_files(directory):
        if (node := _compose(file, text_of, documents)) is not None:
            _read_variables(file, node, scope, owner, documents, in_directory=True)
    return documents


def source_files(directory: Path) -> Iterator[Path]:
    """The directory's YAML inventory sources, in the order in which Ansible reads them."""
    return (file for file in _static_sources(directory) if file.suffix in YAML_SUFFIXES)


def ini_files(directory: Path) -> Iterator[Path]:
    """The directory's other inventory sources that are no programs; Ansible reads them as INI."""
    return (file for file in _static_sources(directory) if file.suffix not in YAML_SUFFIXES)


def _static_sources(directory: Path) -> Iterator[Path]:
    for entry in sorted(directory.iterdir()):
        if IGNORED.search(entry.name) or entry.name in VARIABLE_DIRECTORIES:
            continue
        if entry.is_dir():
            yield from _static_sources(entry)
        elif not _is_script(entry):
            yield entry


def variable_files(directory: Path) -> Iterator[tuple[Path, Scope, str]]:
    """The files of group_vars/ and host_vars/ with the group or host that each is for."""
    for name in VARIABLE_DIRECTORIES:
        scope: Scope = "group" if name == "group_vars" else "host"
        base = directory / name
        for entry in sorted(base.iterdir()) if base.is_dir() else ():
            if IGNORED.search(entry.name):
                continue
            if entry.is_dir():
                files = [f for f in sorted(entry.rglob("*")) if f.is_file() and not IGNORED.search(f.name)]
                yield from ((f, scope, entry.name) for f in files if f.suffix in ("", *YAML_SUFFIXES))
            elif entry.suffix in ("", *YAML_SUFFIXES):
                yield entry, scope, entry.name.removesuffix(entry.suffix)


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """The known word that a misspelt one most likely stands for. cutoff: from 0 (anything) to 1 (the same)."""
    matches = get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else None


def _is_script(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(2) == b"#!"


def _compose(file: Path, text_of: Callable[[Path], str], documents: Documents) -> yaml.MappingNode | None:
    documents.files.append(file)
    text = ""
    try:
        text = text_of(file)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        documents.problems.append(_syntax_problem(file, error, text.splitlines()))
        return None
    except Problem as problem:  # a vaulted file that the password does not open
        documents.problems.append(problem)
        return None
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        documents.problems.append(Problem(file, "this is no YAML file that can be read", _first_line(error)))
        return None
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode):
        documents.problems.append(
            Problem(
                Place(file, _line(node)),
                f"the file must hold `key: value` pairs, not a {_kind(node)}",
                fix="start each line with a key and a colon, for example `cluster_name: edgectl`",
            )
        )
        return None
    if inside_itself := _loop(node, frozenset()):
        documents.problems.append(
            Problem(
                Place(file, _line(inside_itself)),
                "this part of the file contains itself",
                "an alias (*name) stands within the part that its anchor (&name) begins",
                "write the values out instead",
            )
        )
        return None
    _read_keys(file, node, documents)
    return node


def _syntax_problem(file: Path, error: yaml.MarkedYAMLError, lines: list[str]) -> Problem:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or "not valid YAML"
    if mark and mark.line < len(lines) and re.search(r"(: |- )\s*\{\{", lines[mark.line]):
        return _unquoted_template(Place(file, mark.line + 1))
    fix = "check the indentation and the quotes of this line and of the one above"
    if "'\\t'" in problem:
        fix = "indent with spaces; YAML allows no tabs"
    elif "mapping values are not allowed" in problem:
        fix = "indent this line like its neighbours, and put quotes around a value that contains `: `"
    elif "expected <block end>" in problem or "could not find expected ':'" in problem:
        fix = "indent this line like its neighbours, and end each key with a colon"
    place = Place(file, mark.line + 1 if mark else None)
    return Problem(place, "YAML cannot be read", f"{error.context or ''} {problem}".strip(), fix)


def _unquoted_template(place: Place) -> Problem:
    return Problem(
        place,
        "a value that starts with {{ must stand in quotes",
        "YAML reads a bare {{ as the start of a mapping",
        'write it as "{{ ... }}"',
    )


def _loop(node: yaml.Node, above: frozenset[int]) -> yaml.Node | None:
    """A node that is found again below itself."""
    if not isinstance(node, yaml.CollectionNode):
        return None
    if id(node) in above:
        return node
    inside = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
    return next((found for part in inside if (found := _loop(part, above | {id(node)})) is not None), None)


def _read_keys(file: Path, node: yaml.Node, documents: Documents) -> None:
    if not node.tag.startswith("tag:yaml.org,2002:") or node.tag.startswith("tag:yaml.org,2002:python"):
        if node.tag not in TAGS:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            nearest = did_you_mean(tag, TAGS)
            documents.problems.append(
                Problem(
                    Place(file, _line(node)),
                    f"Ansible does not know the YAML tag {tag}",
                    f"it knows {', '.join(TAGS)}",
                    f"did you mean {nearest}?" if nearest else "put quotes around a text that starts with a !",
                )
            )
        return
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _read_keys(file, item, documents)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            documents.problems.append(_unquoted_template(Place(file, _line(key))))
            continue
        if key.value in seen and key.value != "<<":
            documents.duplicates.append(
                Problem(
                    Place(file, _line(key)),
                    f"{key.value} is set twice",
                    f"first in line {seen[key.value]}; Ansible would take the last one in silence",
                    "keep one of the two",
                    key=key.value,
                )
            )
        seen.setdefault(key.value, _line(key))
        _read_keys(file, value, documents)


def _read_groups(file: Path, node: yaml.MappingNode, documents: Documents) -> None:
    entries = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
    if "plugin" in entries:  # the settings of a dynamic inventory plugin, not groups
        return
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            _read_group(file, key, value, documents)


def _read_ini(file: Path, documents: Documents) -> None:
    """Where the hosts and variables of an INI source stand. What it means, and what is wrong with it, says Ansible."""
    group, section = "ungrouped", "hosts"
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        place, text = Place(file, number), line.strip()
        if header := re.fullmatch(r"\[([^:\]]+)(?::(\w+))?\].*", text):
            group, section = header[1], header[2] or "hosts"
            documents.groups.setdefault(group, place)
        elif not text or text[0] in "#;":
            continue
        elif section == "vars":
            documents.settings.append(Setting(place, "group", group, text.partition("=")[0].strip()))
        elif section == "hosts":
            name = text.split()[0]
            documents.hosts.setdefault(name, place)
            for key in re.findall(r"\s(\w+)=", text):
                documents.settings.append(Setting(place, "host", name, key))


def _read_group(file: Path, name: yaml.ScalarNode, body: yaml.Node, documents: Documents) -> None:
    documents.groups.setdefault(name.value, Place(file, _line(name)))
    if _is_empty(body):
        return
    if not isinstance(body, yaml.MappingNode):
        documents.problems.append(
            Problem(
                Place(file, _line(body)),
                f"group {name.value} is a {_kind(body)}, so Ansible would pass over it",
                f"a group has the sections {', '.join(SECTIONS)}",
                f"write the hosts of {name.value} under `hosts:`, each with a colon",
            )
        )
        return
    for key, section in body.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value not in SECTIONS:
            documents.problems.append(_unknown_section(file, name.value, key))
        elif not _is_empty(section) and not isinstance(section, yaml.MappingNode):
            documents.problems.append(
                Problem(
                    Place(file, _line(section)),
                    f"`{key.value}` of group {name.value} is a {_kind(section)}",
                    "Ansible wants `name:` entries here, each with a colon and no dash",
                    "write `nuc1:` instead of `- nuc1`" if key.value != "vars" else "write `key: value` lines",
                )
            )
        elif not _is_empty(section):
            _read_section(file, name.value, key.value, section, documents)


def _read_section(file: Path, group: str, section: str, body: yaml.Node, documents: Documents) -> None:
    if section == "vars":
        _read_variables(file, body, "group", group, documents)
        return
    for key, value in body.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if section == "children":
            _read_group(file, key, value, documents)
        else:
            documents.hosts.setdefault(key.value, Place(file, _line(key)))
            _read_variables(file, value, "host", key.value, documents)


def _read_variables(
    file: Path, body: yaml.Node, scope: Scope, owner: str, documents: Documents, *, in_directory: bool = False
) -> None:
    if isinstance(body, yaml.MappingNode):
        for key, _ in body.value:
            if isinstance(key, yaml.ScalarNode):
                documents.settings.append(Setting(Place(file, _line(key)), scope, owner, key.value, in_directory))
    elif not _is_empty(body):
        documents.problems.append(
            Problem(
                Place(file, _line(body)),
                f"the variables of {scope} {owner} are a {_kind(body)}",
                "they must be `key: value` lines",
                f"write for example `ansible_host: {body.value}`" if isinstance(body, yaml.ScalarNode) else "",
            )
        )


def _unknown_section(file: Path, group: str, key: yaml.ScalarNode) -> Problem:
    if nearest := did_you_mean(key.value, SECTIONS):
        fix = f"did you mean `{nearest}`?"
    else:
        fix = f"put hosts under `hosts:`, groups under `children:`, variables under `vars:` of {group}"
    return Problem(
        Place(file, _line(key)),
        f"group {group} has a section `{key.value}`, which Ansible would pass over",
        f"a group has the sections {', '.join(SECTIONS)}",
        fix,
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "list"
    return "mapping" if isinstance(node, yaml.MappingNode) else f"single value ({node.value})"
