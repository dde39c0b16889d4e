"""The trained models, read from the package once."""

import threading
from functools import cache
from importlib.resources import files

import pycrfsuite

_own = threading.local()


def tagger(name: str) -> pycrfsuite.Tagger:
    """The tagger of a file in the package's folder `model`; each thread has its own, as it keeps what it reads."""
    found: dict[str, pycrfsuite.Tagger] | None = getattr(_own, "taggers", None)
    if found is None:
        found = _own.taggers = {}
    if name not in found:
        found[name] = pycrfsuite.Tagger()
        found[name].open_inmemory(_content(name))
    return found[name]


@cache
def _content(name: str) -> bytes:
    """The file's bytes, which taggers go on reading in without keeping them."""
    return files("checklist_composer").joinpath("model", name).read_bytes()
