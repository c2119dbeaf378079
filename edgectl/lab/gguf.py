"""Writes a language model with random weights into a GGUF file: a few hundred KB that Ollama loads and answers from.

What it says has no meaning. Its name says so: `lab-tiny`. The same sources make the same bytes.
(Form of the file: docs/gguf.md of github.com/ggml-org/ggml, version 3; keys and tensors of the llama architecture:
gguf-py/gguf/constants.py of github.com/ggml-org/llama.cpp.)
"""

from __future__ import annotations

import random
import struct
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

_ALIGNMENT = 32
_UINT32, _FLOAT32, _STRING, _ARRAY, _INT32 = 4, 6, 8, 9, 5
_F32 = 0
# Kinds of tokens of a SentencePiece vocabulary.
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6

LAYERS, WIDTH, HEADS, FEED_FORWARD, CONTEXT = 2, 64, 4, 128, 4096
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CONSONANTS, _VOWELS = "bdfgklmnprst", "aeiou"

Value = int | float | str | Sequence[int] | Sequence[float] | Sequence[str]


def write(path: Path, name: str) -> None:
    """Write the model. name: what it calls itself."""
    words, scores, kinds = _vocabulary()
    tensors = _tensors(len(words))
    metadata: dict[str, Value] = {
        "general.architecture": "llama",
        "general.name": name,
        "general.alignment": _ALIGNMENT,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.block_count": LAYERS,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.vocab_size": len(words),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }
    path.write_bytes(_file(metadata, tensors))


def _vocabulary() -> tuple[list[str], list[float], list[int]]:
    """512 tokens: control, every byte (what no other token covers), letters, and syllables."""
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    syllables = [f"\N{LOWER ONE EIGHTH BLOCK}{c}{v}" for c in _CONSONANTS for v in _VOWELS]
    syllables += [c + v for c in _CONSONANTS for v in _VOWELS]
    normal = ["\N{LOWER ONE EIGHTH BLOCK}", *_LETTERS, *_LETTERS.upper(), *" .,!?", *syllables]
    normal = list(dict.fromkeys(normal))
    words = ["<unk>", "<s>", "</s>", *bytes_, *normal]
    words += [f"\N{LOWER ONE EIGHTH BLOCK}word{number}" for number in range(512 - len(words))]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256] + [_NORMAL] * (len(words) - 259)
    scores = [0.0] * 259 + [-float(number) for number in range(len(words) - 259)]
    return words, scores, kinds


def _tensors(vocabulary: int) -> dict[str, tuple[tuple[int, ...], array[float]]]:
    """Name -> (dimensions, the innermost first; values)."""
    source = random.Random("edgectl lab-tiny")  # noqa: S311 - weights, not secrets

    def matrix(rows: int, columns: int) -> tuple[tuple[int, ...], array[float]]:
        return (columns, rows), array("f", (source.gauss(0, 0.08) for _ in range(rows * columns)))

    def norm() -> tuple[tuple[int, ...], array[float]]:
        return (WIDTH,), array("f", [1.0] * WIDTH)

    found = {"token_embd.weight": matrix(vocabulary, WIDTH)}
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        found[block + "attn_norm.weight"] = norm()
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            found[f"{block}{part}.weight"] = matrix(WIDTH, WIDTH)
        found[block + "ffn_norm.weight"] = norm()
        found[block + "ffn_gate.weight"] = matrix(FEED_FORWARD, WIDTH)
        found[block + "ffn_up.weight"] = matrix(FEED_FORWARD, WIDTH)
        found[block + "ffn_down.weight"] = matrix(WIDTH, FEED_FORWARD)
    found["output_norm.weight"] = norm()
    found["output.weight"] = matrix(vocabulary, WIDTH)
    return found


def _file(metadata: Mapping[str, Value], tensors: Mapping[str, tuple[tuple[int, ...], array[float]]]) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_string(key) + _value(value) for key, value in metadata.items())
    offset, data = 0, b""
    for name, (dimensions, values) in tensors.items():
        head += _string(name) + struct.pack("<I", len(dimensions)) + struct.pack(f"<{len(dimensions)}Q", *dimensions)
        head += struct.pack("<IQ", _F32, offset)
        data += _padded(values.tobytes())
        offset = len(data)
    return _padded(head) + data


def _value(value: Value) -> bytes:
    """A value with its kind in front."""
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    if isinstance(value, float):
        return struct.pack("<If", _FLOAT32, value)
    kind = {str: _STRING, float: _FLOAT32, int: _INT32}[type(value[0])]
    items = b"".join(_string(item) if isinstance(item, str) else _number(kind, item) for item in value)
    return struct.pack("<IIQ", _ARRAY, kind, len(value)) + items


def _number(kind: int, value: float) -> bytes:
    return struct.pack("<f", value) if kind == _FLOAT32 else struct.pack("<i", int(value))


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGNMENT)
