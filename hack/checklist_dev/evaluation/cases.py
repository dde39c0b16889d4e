"""The evaluation set: prompts, and the features expected in the template.

Files are YAML, `{language, cases: [...]}`. Words match without case and accents; `fridge temp|°C` means `fridge` and
one of `temp`, `°C`, each anywhere in the text, so that inflected forms and compounds match too. A space inside a word
is written `_`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from checklist_dev.failures import Failure
from checklist_dev.repository import ROOT

FOLDER: Final = ROOT / "tests" / "composer" / "evaluation"

Language = Literal["en", "de", "es", "fr"]
Kind = Literal["job", "sentence", "list", "procedure", "messy", "mixed"]
"""A job's name; sentences; a pasted list; a long text; typed in a hurry; a job's name with extra requirements."""
When = Annotated[list[Any], Field(min_length=3, max_length=3)]
"""`[words of an earlier step, an answer for which the step applies, one for which it does not]`; options are named by
words of their label."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedStep(_Model):
    """A step with `say` in its label or hint. Each other field that is set is one more expected feature."""

    say: str
    type: str | None = None
    """Alternatives with `|`: `photo|boolean`."""
    section: str | None = Field(default=None, alias="in")
    """Words of the section's title."""
    unit: str | None = None
    """Alternatives with `|`. `none`: must have no unit."""
    min: float | Literal["none"] | None = None
    max: float | Literal["none"] | None = None
    """number, rating: the bounds. `none`: there must be no bound."""
    low: str | None = None
    high: str | None = None
    """rating: words of the labels of its ends."""
    options: list[str] | None = None
    """Words of each option; other options are wrong. Order does not matter."""
    photos: int | Literal["any"] | None = None
    """Minimum number of photos, attached or of a photo step; 0: optional photos. `any`: photos in any number."""
    photos_max: int | None = None
    geo: bool | None = None
    required: bool | None = None
    multiline: bool | None = None
    hint: str | None = None
    """Words that must be in the label or hint, as a separate feature."""
    when: list[When] | None = None
    """One of these conditions must hold. Empty: the step must always apply."""
    shared: bool = False
    """It may be a part of a step that matches another expectation."""


class Case(_Model):
    """One prompt, and the expected contents of its template."""

    id: str
    trade: str
    kind: Kind
    prompt: str = Field(min_length=4, max_length=4000)
    locale: Language | None = None
    """The requested locale."""
    answers_in: Language | None = None
    """The language of the result, if it is not the file's."""
    language: Language = "en"
    """The file's language."""
    steps: list[ExpectedStep] = []
    sections: list[str] = []
    count: tuple[int, int] | None = None
    """Minimum and maximum number of steps. Each step above is a wrong extra."""
    never: list[str] = []
    """Words that no label may contain: each step with them is a wrong extra."""
    name: str | None = None
    signature: bool | None = None
    skip: bool | None = None
    minutes: float | None = None
    identity: bool | None = None
    """Whether the executor must give a name."""


# Uses libyaml, if PyYAML was built with it: 0.2 s for all files instead of 2 s.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_cases(folder: Path = FOLDER) -> list[Case]:
    """All cases of the folder's files, in order. Raises Failure for an invalid file."""
    cases = [case for file in sorted(folder.glob("*.yaml")) for case in _of_file(file)]
    if not cases:
        raise Failure(f"no evaluation cases in {folder}")
    if twice := _twice(case.id for case in cases):
        raise Failure(f"{folder}: duplicate ids: {', '.join(twice)}")
    return cases


def _of_file(file: Path) -> Iterator[Case]:
    data = yaml.load(file.read_text("utf-8"), _LOADER)  # noqa: S506 - both loaders are safe ones
    for case in data["cases"]:
        try:
            yield Case.model_validate(case | {"language": data["language"]})
        except ValidationError as error:
            raise Failure(f"{file.name}: {case.get('id')}: {error}") from error


def _twice(ids: Iterable[str]) -> list[str]:
    return [each for each, times in Counter(ids).items() if times > 1]
