"""The labelled prompts: YAML lists of prompts whose spans are marked by tags (`composer/training/README.md`)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from checklist_composer.reading.labels import Label
from checklist_dev.failures import Failure
from checklist_dev.repository import ROOT

FOLDER: Final = ROOT / "composer" / "training"
_TAG: Final = re.compile(r"<(/?)([a-z]+)((?:\s+[a-z]+=(?:\"[^\"]*\"|[^\s>]+))*)\s*>")
_ATTRIBUTE: Final = re.compile(r"([a-z]+)=(?:\"([^\"]*)\"|([^\s>]+))")
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Source(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    lang: Literal["en", "de", "es", "fr"]
    kind: Annotated[Literal["plain", "messy"], Field(alias="class")]
    checklist: bool
    text: str


@dataclass(frozen=True, slots=True)
class Tagged:
    """One tagged span; `start` and `end` are offsets in the prompt without tags."""

    label: Label
    start: int
    end: int
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LabelledPrompt:
    """One prompt without its tags, and what they said."""

    id: str
    language: Literal["en", "de", "es", "fr"]
    kind: str
    checklist: bool
    text: str
    spans: tuple[Tagged, ...]


def load_labelled(folder: Path = FOLDER) -> list[LabelledPrompt]:
    """All labelled prompts of a folder's files, in order. Raises Failure for a file that is not as described."""
    found = [prompt for file in sorted(folder.glob("*.yaml")) for prompt in _of_file(file)]
    if not found:
        raise Failure(f"no labelled prompts in {folder}")
    if twice := [name for name, times in Counter(prompt.id for prompt in found).items() if times > 1]:
        raise Failure(f"{folder}: more than one prompt has the id {', '.join(sorted(twice))}")
    return found


def _of_file(file: Path) -> Iterator[LabelledPrompt]:
    for data in yaml.load(file.read_text("utf-8"), _LOADER):  # noqa: S506 - both loaders are safe ones
        yield labelled_prompt(data, file.name)


def labelled_prompt(data: Mapping[str, Any], file: str = "prompt") -> LabelledPrompt:
    """One entry of a file, parsed and checked. Raises Failure."""
    try:
        source = _Source.model_validate(data)
        text, spans = _parsed(source.text)
        _check(source, spans)
    except (ValidationError, ValueError) as error:
        raise Failure(f"{file}: {data.get('id')}: {error}") from error
    return LabelledPrompt(source.id, source.lang, source.kind, source.checklist, text, tuple(spans))


def _parsed(tagged: str) -> tuple[str, list[Tagged]]:
    text = ""
    spans: list[Tagged] = []
    place = 0
    opened: tuple[Label, int, dict[str, str]] | None = None
    for match in _TAG.finditer(tagged):
        text += tagged[place : match.start()]
        place = match.end()
        closing, label = match.group(1), Label(match.group(2))
        if not closing:
            if opened is not None:
                raise ValueError(f"<{label}> within <{opened[0]}>")
            attributes = {name: quoted or plain for name, quoted, plain in _ATTRIBUTE.findall(match.group(3))}
            opened = label, len(text), attributes
            continue
        if opened is None or opened[0] is not label:
            raise ValueError(f"</{label}> without its start, behind {text[-30:]!r}")
        if not text[opened[1] :].strip():
            raise ValueError(f"<{label}> has no words")
        spans.append(Tagged(label, opened[1], len(text), opened[2]))
        opened = None
    if opened is not None:
        raise ValueError(f"<{opened[0]}> has no end")
    return text + tagged[place:], spans


def _check(source: _Source, spans: list[Tagged]) -> None:
    if source.checklist != bool(spans):
        raise ValueError("only what asks for a checklist has tags, and that has some")
    known = {span.attributes["id"] for span in spans if "id" in span.attributes}
    for span in spans:
        unknown = {span.attributes[name] for name in ("on", "to") if name in span.attributes} - known
        if unknown:
            raise ValueError(f"no span has the id {', '.join(sorted(unknown))}")
        if "on" in span.attributes and "is" not in span.attributes:
            raise ValueError("a condition on an item says which answer (is=...)")
