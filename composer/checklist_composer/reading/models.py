"""Loads the trained models from the package, once."""

import threading
from functools import cache
from importlib.resources import files

import pycrfsuite

_own = threading.local()


def tagger(name: str) -> pycrfsuite.Tagger:
    """The tagger for a file in `model/`; one per thread, because taggers are not thread-safe."""
    found: dict[str, pycrfsuite.Tagger] | None = getattr(_own, "taggers", None)
    if found is None:
        found = _own.taggers = {}
    if name not in found:
        found[name] = pycrfsuite.Tagger()
        found[name].open_inmemory(_content(name))
    return found[name]


@cache
def _content(name: str) -> bytes:
    """The file's bytes; cached, because taggers read them without keeping a reference."""
    return files("checklist_composer").joinpath("model", name).read_bytes()
