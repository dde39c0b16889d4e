"""Unseen batches: prompts of independent authors, each with a rubric written before any template existed.

A file `batch-<letter>.yaml` is a list of prompts. Words are matched by `words.says`. All scalars are read as text,
because YAML reads `no`, `yes`, `on` and `off` as booleans, which here are answers, types and options.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from checklist_dev.failures import Failure
from checklist_dev.repository import ROOT

from .cases import Language

BATCHES: Final = ROOT / "tests" / "composer" / "batches"
KINDS: Final = ("yes", "number", "text", "date", "one", "many", "rating", "photo", "sign", "geo", "scan", "info")
"""Types of answers; `Item.type` is one of them, or alternatives with `|`."""
_NUMBER: Final = re.compile(r"(?<!\d)[-−]?\d+(?:[.,]\d+)?")
_ANSWERS: Final = {"true": "yes", "false": "no"}
_EMPTY: Final = ("", "null", "~")


def numbers(text: str) -> list[float]:
    """The numbers of a text, in order; a hyphen between two digits is not a minus."""
    return [float(each.replace(",", ".").replace("−", "-")) for each in _NUMBER.findall(text)]


def _alone_is_a_list(value: Any) -> Any:
    """`[trigger, answer]` -> `[[trigger, answer]]`"""
    return [value] if isinstance(value, list) and value and isinstance(value[0], str) else value


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty_fields(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if value not in _EMPTY} if isinstance(data, dict) else data


@dataclass(frozen=True, slots=True)
class Trigger:
    """An answer of an earlier item, named by its `say`, that the step depends on."""

    say: str
    answer: str


class Item(_Model):
    """One thing that the template must ask for or state."""

    say: str
    type: str
    unit: str | None = None
    options: list[str] = []
    limit: str | None = None
    """The expected value; the template must show it and must not forbid others."""
    range: tuple[float, float] | None = None
    """The accepted range, or the scale of a rating."""
    when: Annotated[list[tuple[str, str]], BeforeValidator(_alone_is_a_list)] = []
    unless_said: bool = False
    """The condition refers to no item: the step must not be required without its words."""
    each: list[str] = []
    photos: int = Field(default=0, ge=0)
    optional: bool = False
    with_previous: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The accepted types."""
        return tuple(self.type.split("|"))

    @property
    def triggers(self) -> list[Trigger]:
        """Answers of earlier items, one of which must be given. Empty: the step always applies."""
        return [Trigger(say, _ANSWERS.get(answer, answer)) for say, answer in self.when]

    @property
    def is_conditional(self) -> bool:
        return bool(self.when) or self.unless_said

    @model_validator(mode="after")
    def _is_complete(self) -> "Item":
        if unknown := [kind for kind in self.kinds if kind not in KINDS]:
            raise ValueError(f"{self.say!r}: there is no type {', '.join(unknown)}")
        if not self.options and {"one", "many"} & set(self.kinds):
            raise ValueError(f"{self.say!r}: options are missing")
        return self


class Prompt(_Model):
    """A prompt, and what its author must find in the template."""

    id: str
    lang: Language
    trade: str
    form: Literal["plain", "messy"] | str = Field(alias="class")
    checklist: bool
    """Whether the prompt asks for a checklist."""
    prompt: str
    name: str | None = None
    items: list[Item] = []
    never: list[str] = []
    harm: str | None = None
    why: str | None = None

    @property
    def name_words(self) -> list[str]:
        """Words of which one should be in the template's name."""
        return re.split(r"[|\s]+", self.name.strip()) if self.name else []

    @model_validator(mode="after")
    def _is_complete(self) -> "Prompt":
        if self.checklist is not bool(self.items):
            raise ValueError("a checklist has items, and other prompts have none")
        if self.checklist and self.form not in ("plain", "messy"):
            raise ValueError(f"class {self.form!r} is neither plain nor messy")
        earlier: set[str] = set()
        for item in self.items:
            for trigger in item.triggers:
                if trigger.say not in earlier:
                    raise ValueError(f"{item.say!r}: when {trigger.say!r} is not the `say` of an earlier item")
            if item.say in earlier:
                raise ValueError(f"{item.say!r} is a duplicate")
            earlier.add(item.say)
        return self


@dataclass(frozen=True, slots=True)
class Batch:
    """The prompts of one author."""

    letter: str
    prompts: list[Prompt]


# Uses libyaml, if PyYAML was built with it.
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def load_batches(folder: Path = BATCHES) -> list[Batch]:
    """All batches of the folder, ordered by letter. Raises Failure for an invalid file."""
    files = sorted(folder.glob("batch-*.yaml"))
    if not files:
        raise Failure(f"no batch-<letter>.yaml in {folder}")
    batches = [Batch(file.stem.removeprefix("batch-"), list(_prompts(file))) for file in files]
    seen: set[str] = set()
    for batch in batches:
        for prompt in batch.prompts:
            if prompt.id in seen:
                raise Failure(f"batch {batch.letter}: duplicate id {prompt.id}")
            seen.add(prompt.id)
    return batches


def _prompts(file: Path) -> Iterator[Prompt]:
    try:
        data = yaml.load(file.read_text("utf-8"), _LOADER)  # noqa: S506 - creates only texts, lists and mappings
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Failure(f"{file.name}: {' '.join(str(error).split())}") from error
    if not isinstance(data, list) or not data:
        raise Failure(f"{file.name}: it must be a list of prompts")
    for number, entry in enumerate(data, 1):
        try:
            yield Prompt.model_validate(entry)
        except ValidationError as error:
            name = entry.get("id", f"prompt {number}") if isinstance(entry, Mapping) else f"prompt {number}"
            raise Failure(f"{file.name}: {name}: {_first_fault(error)}") from error


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else str(fault["msg"])
