"""The lab's Ollama: its names are the catalogue's, and its model has the form that Ollama reads."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from edgectl.lab import gguf, ollama
from edgectl.lab.parts import Part


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "lab-tiny.gguf"
    gguf.write(path, "lab-tiny")
    return path


class Reader:
    """Reads a GGUF file as docs/gguf.md of ggml tells its form, apart from the code that writes one."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> Any:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def text(self) -> str:
        length = self.take("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == 8:
            return self.text()
        if kind == 9:
            inner, count = self.take("IQ")
            return [self.value(inner) for _ in range(count)]
        return self.take({4: "I", 5: "i", 6: "f"}[kind])


def read(path: Path) -> tuple[dict[str, Any], dict[str, tuple[tuple[int, ...], int]], int, int]:
    """Metadata, tensors (dimensions, offset), where the data begins, and how long the file is."""
    reader = Reader(path.read_bytes())
    assert reader.take("4s") == b"GGUF"
    version, tensors, keys = reader.take("IQQ")
    assert version == 3
    metadata = {}
    for _ in range(keys):
        key, kind = reader.text(), reader.take("I")
        metadata[key] = reader.value(kind)
    found = {}
    for _ in range(tensors):
        name, dimensions = reader.text(), reader.take("I")
        shape = tuple(reader.take("Q") for _ in range(dimensions))
        kind, offset = reader.take("IQ")
        assert kind == 0
        found[name] = (shape, offset)
    return metadata, found, -(-reader.at // 32) * 32, len(reader.data)


def test_the_model_says_what_it_is_and_its_parts_belong_together(model: Path) -> None:
    metadata, tensors, start, length = read(model)
    assert metadata["general.name"] == "lab-tiny"
    words = metadata["tokenizer.ggml.tokens"]
    assert len(words) == len(set(words)) == 512
    assert len(metadata["tokenizer.ggml.scores"]) == len(metadata["tokenizer.ggml.token_type"]) == len(words)
    assert tensors["token_embd.weight"][0] == (gguf.WIDTH, len(words))
    assert {name.split(".")[1] for name in tensors if name.startswith("blk.")} == {"0", "1"}
    end = start
    for shape, offset in tensors.values():
        assert start + offset == end, "tensors lie one behind the other"
        size = 4
        for dimension in shape:
            size *= dimension
        end += -(-size // 32) * 32
    assert end == length


def test_the_same_sources_make_the_same_model(model: Path, tmp_path: Path) -> None:
    gguf.write(tmp_path / "again.gguf", "lab-tiny")
    assert (tmp_path / "again.gguf").read_bytes() == model.read_bytes()


def test_the_image_goes_by_every_name_that_the_catalogue_has_for_it() -> None:
    assert ollama.image_names()
    assert all(name.startswith("docker.io/ollama/ollama:") for name in ollama.image_names())


def test_another_name_in_the_catalogue_makes_another_part(monkeypatch: pytest.MonkeyPatch) -> None:
    before: Part = ollama.part()
    monkeypatch.setattr(ollama, "image_names", lambda: ("docker.io/ollama/ollama:9.9.9",))
    assert ollama.part().directory != before.directory
