"""What a judge has against a template: how bad it is, of which family, and why in one sentence."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

Family = Literal[
    "value_as_tick",
    "glued",
    "wrong_condition",
    "lost_condition",
    "chatter",
    "bound",
    "options",
    "lost",
    "repetition",
    "name",
    "signature",
    "not_a_checklist",
    "refused",
    "order",
    "type",
    "extra",
    "unit",
    "limit",
    "required",
    "broken",
]


class Weight(IntEnum):
    """How bad it is."""

    COST = 1
    """The template is not usable unchanged, but the item fits."""
    MISFIT = 2
    """The item does not fit."""
    HARM = 3
    """A person who uses the template unchanged loses something, or is forced to something that is wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    weight: Weight
    family: Family
    text: str


def cost(family: Family, text: str) -> Finding:
    return Finding(Weight.COST, family, text)


def misfit(family: Family, text: str) -> Finding:
    return Finding(Weight.MISFIT, family, text)


def harm(family: Family, text: str) -> Finding:
    return Finding(Weight.HARM, family, text)


def worst(findings: list[Finding]) -> int:
    """The largest weight, 0 when there is none."""
    return max((finding.weight for finding in findings), default=0)
