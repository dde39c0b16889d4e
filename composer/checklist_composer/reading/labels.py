"""The labels of a prompt's spans: what asks for a step, what says more about one, and what is about the whole."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Label(StrEnum):
    """What a span of a prompt is. The values are the tags of the labelled prompts (`composer/training/README.md`)."""

    CHECK = "yes"
    NUMBER = "num"
    TEXT = "txt"
    DATE = "date"
    CHOICE = "one"
    MULTI_CHOICE = "many"
    RATING = "rate"
    PHOTO = "photo"
    SIGNATURE = "sign"
    LOCATION = "geo"
    SCAN = "scan"
    INSTRUCTION = "info"

    OPTIONS = "opts"
    UNIT = "unit"
    LIMIT = "limit"
    RANGE = "range"
    IF = "if"
    EACH = "each"
    HOW = "how"
    OPTIONAL = "opt"
    REQUIRED = "must"
    HINT = "hint"

    NAME = "name"
    SECTION = "sec"
    SETTING = "set"


DETAILS: Final = frozenset(
    {
        Label.OPTIONS,
        Label.UNIT,
        Label.LIMIT,
        Label.RANGE,
        Label.EACH,
        Label.HOW,
        Label.OPTIONAL,
        Label.REQUIRED,
        Label.HINT,
    }
)
"""The labels that say more about a step."""
ITEMS: Final = frozenset(Label) - DETAILS - {Label.IF, Label.NAME, Label.SECTION, Label.SETTING}
"""The labels that become steps."""
OUTSIDE: Final = "O"
"""The label of a token in no span."""


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """Tokens from `start` to before `end` with one label."""

    label: Label
    start: int
    end: int
    confidence: float
    """0 to 1: the labeller's mean probability of the span's tokens."""


def token_label(label: str, *, first: bool) -> str:
    """The label of one token of a span: `B-num` of its first token, `I-num` of the others."""
    return ("B-" if first else "I-") + label
