"""Whether a file can be a model in GGUF, the form that llama.cpp and Ollama read.

Standard library only, Python 3.8 upwards.
"""

from __future__ import annotations

import os

# Magic, version, number of tensors, number of keys. (docs/gguf.md of github.com/ggml-org/ggml)
_MAGIC, _HEADER = b"GGUF", 24


def problem(path: str) -> str:
    """Why it can't be; empty where it looks like one."""
    if not os.path.exists(path):
        return "there is no such file"
    if not os.path.isfile(path):
        return "it is no file"
    try:
        with open(path, "rb") as file:
            head = file.read(_HEADER)
    except OSError as error:
        return "it can't be read: {}".format(error.strerror)
    if not head:
        return "it is empty"
    if head[:4] != _MAGIC:
        return "it is no GGUF file: it begins with {}".format(ascii(head.decode("latin-1")))
    return "" if len(head) == _HEADER else "it ends within its header: was all of it fetched?"
