"""An entry of the catalogue (workloads/NAME/workload.yml): its form, and the values of its parameters.

Standard library only, Python 3.8 upwards: a module on a host checks by it, and the command line.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Tuple

    Problem = Tuple[str, str, str]  # key, what is wrong with it, what to write

CATEGORIES = ("llm", "ui", "vision", "rag", "speech", "home", "robotics", "ml", "serving")
PLATFORMS = ("jetson", "dgpu", "cpu", "any")
# hardware: it ran on a board; lab: it ran in the built-in lab; rendered: only its objects were made and checked.
PROOFS = ("hardware", "lab", "rendered")
# service: a Deployment with a Service; pod: a Deployment that nobody calls; job: runs to its end, and its exit code
# tells; cronjob: such a job by a schedule; shell: one pod whose terminal somebody wants.
KINDS = ("service", "pod", "job", "cronjob", "shell")
# How a service is asked: by Ollama's API, over HTTP, by Wyoming's protocol, by a script in its container, or only
# whether its port is open.
CHECKS = ("ollama", "open-webui", "http", "wyoming", "script", "tcp")
TYPES = ("str", "int", "float", "bool", "file")
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_L4T = r"\d+(\.\d+){0,2}"
# A registry's host, a path, and a tag that is none of the moving ones.
_REPOSITORY = r"[a-z0-9.-]+(\.[a-z]+|:[0-9]+)/[a-z0-9._/-]+"
_MOVES = r"(latest.*|main|master|stable)"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_IMAGE = _REPOSITORY + ":" + _TAG
_SECRET = r"[A-Z][A-Z0-9_]*"


class Text:
    """A text that is not empty. pattern: what all of it must match."""

    def __init__(self, pattern: str = "", words: str = "text") -> None:
        self.pattern, self.words = pattern, words

    def problems(self, value: Any, key: str) -> Iterator[Problem]:
        if not isinstance(value, str) or not value or (self.pattern and not re.fullmatch(self.pattern, value)):
            yield key, "is {}, and must be {}".format(_shown(value), self.words), 'write {}: "..."'.format(_last(key))


class Choice:
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def problems(self, value: Any, key: str) -> Iterator[Problem]:
        if value not in self.words:
            yield key, "is {}, and must be one of these".format(_shown(value)), ", ".join(self.words)


class Number:
    """A number. whole: without a fraction."""

    def __init__(self, least: float = 0, *, whole: bool = True) -> None:
        self.least, self.whole = least, whole

    def problems(self, value: Any, key: str) -> Iterator[Problem]:
        kinds = (int,) if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or value < self.least:
            words = "a whole number" if self.whole else "a number"
            yield key, "is {}, and must be {} from {} on".format(_shown(value), words, self.least), "write a number"


class Truth:
    """true or false."""

    def problems(self, value: Any, key: str) -> Iterator[Problem]:
        if not isinstance(value, bool):
            yield key, "is {}, and must be true or false".format(_shown(value)), "write true or false"


class Anything:
    """What only its reader can judge."""

    def problems(self, value: Any, key: str) -> Iterator[Problem]:
        return iter(())


class Many:
    """A list."""

    def __init__(self, of: Any, least: int = 1) -> None:
        self.of, self.least = of, least

    def problems(self, value: Any, key: str) -> Iterator[Problem]:
        if not isinstance(value, list) or len(value) < self.least:
            yield key, "is {}, and must be a list".format(_shown(value)), "write {}: [...]".format(_last(key))
            return
        for number, item in enumerate(value):
            yield from self.of.problems(item, "{}[{}]".format(key, number))


class Named:
    """A mapping whose keys the entry chooses."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def problems(self, value: Any, key: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield key, "is {}, and must be a mapping".format(_shown(value)), "write `key: value` lines below it"
            return
        for name, item in value.items():
            yield from self.of.problems(item, "{}.{}".format(key, name))


class Record:
    """A mapping whose keys are known. Those in `needed` must be there."""

    def __init__(self, needed: dict[str, Any], others: dict[str, Any] | None = None) -> None:
        self.needed, self.known = tuple(needed), {**needed, **(others or {})}

    def problems(self, value: Any, key: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield key or "it", "is {}, and must be a mapping".format(_shown(value)), "write `key: value` lines"
            return
        for name in self.needed:
            if name not in value:
                yield _join(key, name), "is missing", "add {}".format(_join(key, name))
        for name, item in value.items():
            if name in self.known:
                yield from self.known[name].problems(item, _join(key, name))
            else:
                yield _join(key, name), "is not known", "known: {}".format(", ".join(sorted(self.known)))


_IMAGES = Record(
    {
        "platform": Choice(*PLATFORMS),
        "arch": Many(Choice("amd64", "arm64")),
        "source": Text(),
    },
    {
        "image": Text(_IMAGE, "an image with its registry and a tag"),
        # Its tag may be one that moves: whoever named it wanted that one.
        "moving": Truth(),
        "digest": Text(r"sha256:[0-9a-f]{64}", "a digest such as sha256:..."),
        # Instead of `image`: its tags, of which each Jetson gets the one for its release.
        "repository": Text(_REPOSITORY, "an image with its registry and without a tag"),
        "tags": Many(Text(_TAG, "a tag")),
        "tag_prefix": Text(),
        "l4t_from": Text(_L4T, 'a release of Jetson Linux, such as "36.4"'),
        "l4t_before": Text(_L4T, 'a release of Jetson Linux, such as "37"'),
        "cuda": Number(11),
        "environment": Named(Text()),
    },
)
_PARAMETER = Record(
    {"type": Choice(*TYPES), "description": Text()}, {"default": Anything(), "choices": Many(Text()), "min": Number()}
)
_MODEL = Record(
    {
        "name": Text(),
        "gb": Text(),
        "tokens": Text(),
        "known": Named(
            Record(
                {"gb": Number(whole=False), "kv_bytes_per_token": Number(1)},
                # What others measured with this program: where, how fast, and who says so.
                {"expected": Many(Record({"board": Text(), "tokens_per_s": Number(1, whole=False), "source": Text()}))},
            )
        ),
    },
    # file: the parameter with a file that is brought; volume: where a server reads it, as brought/NAME.gguf.
    {"file": Text(), "volume": Text()},
)
# shared: whether several servers may use it at once.
_VOLUME = Record(
    {"name": Text(r"[a-z0-9-]+", "a DNS label"), "path": Text(r"/.+", "an absolute path")}, {"shared": Truth()}
)
# Several entries that are deployed together, in this order; the last is the one that people open.
BUNDLE = Record(
    {
        "title": Text(),
        "category": Choice(*CATEGORIES),
        "summary": Text(),
        "bundle": Many(Text(), 2),
        "proof": Record({"level": Choice(*PROOFS)}, {"where": Text()}),
    },
    {"notes": Many(Text())},
)
ENTRY = Record(
    {
        "title": Text(),
        "category": Choice(*CATEGORIES),
        "summary": Text(),
        "needs": Record(
            {"gpu": Choice("required", "optional", "none"), "memory_mib": Number(1)},
            {"shm_mib": Number(1), "gpus": Number(1)},
        ),
        "images": Many(_IMAGES),
        # Of a job: how long it may take; of all others, until they are ready. Pulling the image is in it.
        "readiness": Record({"seconds": Number(1)}, {"path": Text(r"/.*", "a path that begins with /")}),
        "proof": Record({"level": Choice(*PROOFS)}, {"where": Text()}),
        "sources": Many(Text()),
    },
    {
        "kind": Choice(*KINDS),
        "port": Number(1),
        # expect: where in a JSON answer something must stand, as `choices.0.text`; data: what is posted for it.
        "check": Record(
            {"kind": Choice(*CHECKS)},
            {
                "path": Text(r"/.*", "a path"),
                "data": Anything(),
                "expect": Text(r"[\w.-]+", "such as choices.0.text"),
                "script": Text(r"[a-z_]+", "the name of a file in roles/workload/files/checks, without .py"),
            },
        ),
        "login": Truth(),
        # With what people sign in: the one of `secrets` that is a password, and whose; without a user it is a token.
        "sign_in": Record({"secret": Text(_SECRET, "one of secrets")}, {"user": Text()}),
        "schedule": Text(),
        "model": _MODEL,
        "requires": Many(Text()),
        # command takes the place of the image's entrypoint; args are given to it.
        "command": Many(Text()),
        "args": Many(Text()),
        "user": Number(0),
        "volumes": Many(_VOLUME),
        "environment": Named(Text()),
        # Small files in the container, by their paths.
        "files": Named(Text()),
        # Made at random, once; and those that the user may bring, in a Secret of the name NAME-user.
        "secrets": Many(Text(_SECRET, "the name of an environment variable")),
        "user_secrets": Many(Text(_SECRET, "the name of an environment variable")),
        # Texts are taken as they stand: {word} names no parameter.
        "literal": Truth(),
        "keep_seconds": Number(1),
        "parameters": Named(_PARAMETER),
        "try_it": Record({"path": Text(r"/.*", "a path")}, {"data": Anything()}),
        "notes": Many(Text()),
        "first_login": Text(),
    },
)


def problems(entry: Any) -> list[Problem]:
    """Everything that is wrong with an entry, or with a bundle."""
    if isinstance(entry, dict) and "bundle" in entry:
        return list(BUNDLE.problems(entry, ""))
    found = list(ENTRY.problems(entry, ""))
    return found or [*_of_kind(entry), *_of_images(entry), *_references(entry)]


def kind_of(entry: dict[str, Any]) -> str:
    return str(entry.get("kind", "service"))


def speaks_http(entry: dict[str, Any]) -> bool:
    """Whether what answers at its port can be reached by a browser, or through an Ingress."""
    return entry.get("check", {}).get("kind") not in ("tcp", "wyoming")


def _of_kind(entry: dict[str, Any]) -> Iterator[Problem]:
    """What its kind needs, and what only others have."""
    kind = kind_of(entry)
    for key in ("port", "check", "login"):
        if kind == "service" and key not in entry:
            yield key, "is missing", "add {}, or another kind: {}".format(key, ", ".join(KINDS[1:]))
    for key in ("port", "check", "try_it", "model"):
        if kind != "service" and key in entry:
            yield key, "is for kind service, and this is of kind {}".format(kind), "leave it out"
    if (kind == "cronjob") != ("schedule" in entry):
        yield "schedule", "goes with kind cronjob", 'kind: cronjob, and schedule: "0 3 * * *"'
    if "expect" in entry.get("check", {}) and entry["check"]["kind"] != "http":
        yield "check.expect", "is for kind http", "leave it out"
    if entry.get("check", {}).get("kind") == "open-webui" and "sign_in" not in entry:
        yield "sign_in", "is missing", "add sign_in: the check signs in"
    if "sign_in" in entry and entry["sign_in"]["secret"] not in entry.get("secrets", []):
        yield "sign_in.secret", "is none of secrets", "secrets: [{}]".format(entry["sign_in"]["secret"])
    if ("script" in entry.get("check", {})) != (entry.get("check", {}).get("kind") == "script"):
        yield "check.script", "goes with kind script", "kind: script, and script: NAME"
    for path in entry.get("files", {}):
        if not path.startswith("/"):
            yield "files.{}".format(path), "is no absolute path", "begin it with /"


def _of_images(entry: dict[str, Any]) -> Iterator[Problem]:
    for number, image in enumerate(entry["images"]):
        key = "images[{}]".format(number)
        if ("image" in image) == ("repository" in image):
            yield key, "has to name either an image or a repository", "write image: REGISTRY/NAME:TAG"
        tag = image.get("image", "").rpartition(":")[2]
        if re.fullmatch(_MOVES, tag) and not image.get("moving"):
            yield key + ".image", "is {}, and must have a tag that does not move".format(_shown(tag)), "write a version"
        if ("repository" in image) != ("tags" in image):
            yield key, "has only one of repository and tags", "write both"


def _references(entry: dict[str, Any]) -> Iterator[Problem]:
    """Names of parameters that nobody has declared, and defaults of another type than the parameter's."""
    parameters = entry.get("parameters", {})
    known = "known: {}".format(", ".join(sorted(parameters)) or "none")
    for key, name in entry.get("model", {}).items():
        if key not in ("known", "volume") and name not in parameters:
            yield "model.{}".format(key), "names the parameter {}, which there is not".format(name), known
    texts = {"environment.{}".format(key): text for key, text in entry.get("environment", {}).items()}
    for words in ("command", "args"):
        texts.update({"{}[{}]".format(words, at): word for at, word in enumerate(entry.get(words, []))})
    for key, text in ({} if entry.get("literal") else texts).items():
        for name in re.findall(r"{([^{}]*)}", text):
            if name not in parameters:
                yield key, "names the parameter {}, which there is not".format(name), known
    for name, parameter in parameters.items():
        if "default" in parameter:
            for said in _wrong(parameter, parameter["default"]):
                yield "parameters.{}.default".format(name), said, "write a default of that type, or none"


def values(entry: dict[str, Any], given: dict[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The value of every parameter (None where there is none), and what is wrong with those that were given."""
    parameters, found = entry.get("parameters", {}), []
    for name in given:
        if name not in parameters:
            found.append((name, "is no parameter", "known: {}".format(", ".join(sorted(parameters)) or "none")))
    chosen = {}
    for name, parameter in parameters.items():
        value = given.get(name, parameter.get("default"))
        wrong = [] if value is None else _wrong(parameter, value)
        found += [(name, said, parameter["description"]) for said in wrong]
        chosen[name] = value if value is None or wrong else _typed(parameter["type"], value)
    return chosen, found


def single(entry: dict[str, Any], storage_class: str) -> str:
    """Why no more than one replica of it can be; empty where several can."""
    volumes = entry.get("volumes", [])
    if volumes and storage_class:
        return "its data is in a volume of {}, which one pod may use at a time".format(storage_class)
    own = [volume["name"] for volume in volumes if not volume.get("shared")]
    return "two of them would write into the same data ({})".format(", ".join(own)) if own else ""


def _wrong(parameter: dict[str, Any], value: Any) -> list[str]:
    kind, text = parameter["type"], str(value).strip().lower()
    fits = {
        "str": not isinstance(value, (dict, list, bool)),
        "file": isinstance(value, str),
        "int": re.fullmatch(r"-?\d+", text) is not None,
        "float": re.fullmatch(r"-?\d+(\.\d+)?", text) is not None,
        "bool": text in TRUE + FALSE,
    }[kind]
    if not fits:
        words = {"int": "a whole number", "float": "a number", "bool": "true or false"}
        return ["is {}, and must be {}".format(_shown(value), words.get(kind, "text"))]
    if parameter.get("choices") and str(value) not in parameter["choices"]:
        return ["is {}, and must be one of {}".format(_shown(value), ", ".join(parameter["choices"]))]
    if "min" in parameter and float(text) < parameter["min"]:
        return ["is {}, and must be {} or more".format(_shown(value), parameter["min"])]
    return []


def _typed(kind: str, value: Any) -> Any:
    if kind == "bool":
        return str(value).strip().lower() in TRUE
    return {"int": int, "float": float}.get(kind, str)(value)


def filled(text: str, chosen: dict[str, Any]) -> str:
    """A text with {parameter} replaced; a truth value as programs read it."""

    def value(match: Any) -> str:
        found = chosen.get(match.group(1))
        return str(found).lower() if isinstance(found, bool) else "" if found is None else str(found)

    return re.sub(r"{([a-z_]+)}", value, text)


def _join(key: str, name: str) -> str:
    return "{}.{}".format(key, name) if key else str(name)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _shown(value: Any) -> str:
    return "empty" if value in (None, "", [], {}) else repr(value)
