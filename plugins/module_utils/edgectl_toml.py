"""Change single values of a TOML file and leave every other byte of it alone.

Python 3.8 has no TOML parser, and a parser that writes would drop a person's comments. This reads as much of the
grammar as containerd's configuration uses, and refuses the rest (`Unsupported`) instead of guessing.
"""

from __future__ import annotations

import json
import re
from typing import Iterator, NamedTuple

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEY_PART = re.compile(r"""\s*(?:([A-Za-z0-9_-]+)|"((?:[^"\\]|\\.)*)"|'([^']*)')\s*""")


class Unsupported(Exception):
    """The file uses a form that can't be edited safely; the text says which and where."""


class Assignment(NamedTuple):
    """`key = value`: its full path, and where its value and its lines stand in the text."""

    path: "tuple[str, ...]"
    value: str
    value_start: int
    value_end: int
    line_start: int
    line_end: int


class Header(NamedTuple):
    """`[table]`, and where the lines below it begin."""

    path: "tuple[str, ...]"
    line_start: int
    line_end: int
    is_array: bool


def statements(text: str) -> "Iterator[Assignment | Header]":
    """All tables and assignments in order."""
    table = ()  # type: tuple[str, ...]
    position = 0
    while position < len(text):
        line_end = _line_end(text, position)
        line = text[position:line_end].strip()
        if not line or line.startswith("#"):
            position = line_end
        elif line.startswith("["):
            is_array = line.startswith("[[")
            table, _ = _path(line, 2 if is_array else 1)
            yield Header(table, position, line_end, is_array)
            position = line_end
        else:
            start = position + len(text[position:line_end]) - len(text[position:line_end].lstrip())
            keys, equals = _path(text, start)
            if text[equals : equals + 1] != "=":
                raise Unsupported("line {} is neither a table nor key = value".format(_line_number(text, position)))
            value_start = equals + 1
            while text[value_start : value_start + 1] in (" ", "\t"):
                value_start += 1
            value_end = _value_end(text, value_start)
            line_end = _line_end(text, value_end)
            yield Assignment(table + keys, text[value_start:value_end], value_start, value_end, position, line_end)
            position = line_end


def get(text: str, path: "tuple[str, ...]") -> "str | None":
    """The raw value at a path, as written; None where it is not set."""
    found = _find(text, path)
    return found.value if found else None


def put(text: str, path: "tuple[str, ...]", value: str) -> str:
    """The text with a raw value at a path; its table is added at the end where it is missing."""
    found = _find(text, path)
    if found:
        return text[: found.value_start] + value + text[found.value_end :]
    line = "{} = {}\n".format(written(path[-1:]), value)
    if len(path) == 1:
        # Above the first table; after the first lines of comment, which usually describe the file.
        at = next((item.line_start for item in statements(text)), len(text))
        return _with_newline(text[:at]) + line + text[at:]
    for item in statements(text):
        if isinstance(item, Header) and item.path == path[:-1]:
            if item.is_array:
                raise Unsupported("[[{}]] is a list of tables".format(written(path[:-1])))
            indent = re.match(r"[ \t]*", text[item.line_start :]).group()
            return _with_newline(text[: item.line_end]) + indent + "  " + line + text[item.line_end :]
    blank = "\n" if text.strip() else ""
    return _with_newline(text) + blank + "[{}]\n  {}".format(written(path[:-1]), line)


def drop(text: str, path: "tuple[str, ...]") -> str:
    """The text without the assignment at a path, and without its table where nothing is left in that."""
    found = _find(text, path)
    if not found:
        return text
    text = text[: found.line_start] + text[found.line_end :]
    table = path[:-1]
    header = next((i for i in statements(text) if isinstance(i, Header) and i.path == table), None)
    inside = (i for i in statements(text) if isinstance(i, Assignment) and i.path[: len(table)] == table)
    if header is None or any(_table_above(text, i) == header for i in inside):
        return text
    return text[: header.line_start].rstrip("\n") + "\n" + text[header.line_end :].lstrip("\n")


def strings(value: "str | None") -> "list[str]":
    """The strings of a raw value: one, or a list of them."""
    return [double or single for double, single in re.findall(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'', value or "")]


def quoted(value: "str | list[str]") -> str:
    """A string, or a list of strings, as TOML. (Its basic strings are JSON's.)"""
    return json.dumps(value)


def _find(text: str, path: "tuple[str, ...]") -> "Assignment | None":
    found = None
    for item in statements(text):
        if not isinstance(item, Assignment):
            continue
        if item.path == path:
            found = item
        elif item.path == path[: len(item.path)] and item.value.startswith("{"):
            raise Unsupported("{} is written as an inline table".format(written(item.path)))
    return found


def _table_above(text: str, assignment: Assignment) -> "Header | None":
    above = None
    for item in statements(text[: assignment.line_start]):
        above = item if isinstance(item, Header) else above
    return above


def _path(text: str, position: int) -> "tuple[tuple[str, ...], int]":
    parts = []
    while True:
        match = _KEY_PART.match(text, position)
        if not match:
            raise Unsupported("line {}: no key".format(_line_number(text, position)))
        parts.append(next(group for group in match.groups() if group is not None))
        position = match.end()
        if text[position : position + 1] != ".":
            return tuple(parts), position
        position += 1


def _value_end(text: str, position: int) -> int:
    """Where a value ends that starts at a position: lists, inline tables and long strings span lines."""
    depth = 0
    end = position
    while position < len(text):
        character = text[position]
        if character in "\"'":
            position = end = _string_end(text, position)
            continue
        if character == "#":
            position = text.find("\n", position)
            position = len(text) if position < 0 else position
            continue
        if character == "\n" and depth == 0:
            break
        depth += (character in "[{") - (character in "]}")
        position += 1
        if not character.isspace():
            end = position
    return end


def _string_end(text: str, position: int) -> int:
    quote = text[position]
    delimiter = quote * 3 if text.startswith(quote * 3, position) else quote
    position += len(delimiter)
    while not text.startswith(delimiter, position):
        if position >= len(text):
            raise Unsupported("a string has no end")
        position += 2 if quote == '"' and text[position] == "\\" else 1
    return position + len(delimiter)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _line_number(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def written(path: "tuple[str, ...]") -> str:
    """A path as TOML writes it."""
    return ".".join(part if _BARE.fullmatch(part) else quoted(part) for part in path)
