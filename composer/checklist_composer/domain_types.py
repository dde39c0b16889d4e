"""The format of a domain file of the library: one job (`forklift-pre-use`) in four languages.

A file has two YAML documents. `DomainHead` has the names of the job; it is read for every domain. `DomainBody` has the
blocks; it is read when the job is requested. `domains/README.md` explains the fields, `domains/forklift-pre-use.yaml`
is an example.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from checklist_crds.resources.template_definition import Operator, StepType

from .locales import Locale

Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=40)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300, pattern=r"^[^\n]*$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Words(_Model):
    """The same text in every language."""

    en: Line
    de: Line
    es: Line
    fr: Line

    def in_(self, locale: Locale) -> str:
        return str(getattr(self, locale))


class Phrases(_Model):
    """Phrases in every language, in no particular order."""

    en: tuple[Line, ...] = ()
    de: tuple[Line, ...] = ()
    es: tuple[Line, ...] = ()
    fr: tuple[Line, ...] = ()

    def in_(self, locale: Locale) -> tuple[str, ...]:
        return tuple(getattr(self, locale))


class PhotoBounds(_Model):
    """Number of photos attached to a step's answer."""

    min: int = Field(default=0, ge=0, le=20)
    max: int = Field(default=5, ge=1, le=20)


class BlockOption(_Model):
    """An option, named by its key in conditions."""

    key: Key
    label: Words


class Comparison(_Model):
    """Compares the answer of an earlier step of the file. `value`: as in a template, but options by their keys."""

    step: Key
    op: Operator = Operator.EQ
    value: bool | int | float | str | tuple[str, ...]


class BlockStep(_Model):
    """One step, with the fields of the template definition language; texts are in four languages."""

    key: Key
    type: StepType = StepType.BOOLEAN
    label: Words
    hint: Words | None = None
    words: Phrases = Phrases()
    """Other names of the checked object: `tires` in a query matches the step about tyres."""
    required: bool = True
    unit: str | Words | None = None
    min: float | None = None
    max: float | None = None
    decimal: int | None = Field(default=None, ge=0, le=10)
    options: tuple[BlockOption, ...] = ()
    photo: PhotoBounds | None = None
    geo: bool = False
    multiline: bool | None = None
    low_label: Words | None = None
    high_label: Words | None = None
    when: Comparison | None = None
    when_any: tuple[Comparison, ...] = ()
    """Instead of `when`: at least one of these holds."""
    source: Line | None = None
    """Source of this step, if different from its section's."""

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Comparisons of the condition, in either form."""
        return self.when_any if self.when is None else (self.when,)


class Block(_Model):
    """A section, based on one or more published sources."""

    key: Key
    title: Words
    source: Line
    steps: tuple[BlockStep, ...] = Field(min_length=1)


class DomainHead(_Model):
    """Names of the job, and title of the template."""

    id: Key
    title: Words
    names: Phrases
    """Names of the job, unique to this domain; each one alone identifies it."""
    also: Phrases = Phrases()
    """Words that identify this domain only if the query names nothing else, such as "checklist for a bar"."""
    tags: Phrases
    minutes: int = Field(ge=1, le=1440)
    """Duration of the whole list for an experienced person."""
    signature: bool = False
    """Whether a signature at the end is usual."""


class DomainBody(_Model):
    """The blocks, in the order of the work."""

    sections: tuple[Block, ...] = Field(min_length=1, max_length=20)

    def steps(self) -> Iterator[BlockStep]:
        for section in self.sections:
            yield from section.steps


class Domain(_Model):
    """A whole file."""

    head: DomainHead
    body: DomainBody
