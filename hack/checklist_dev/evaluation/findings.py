"""Findings of the judge about a template: weight, family and explanation."""

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
    """Severity of a finding."""

    COST = 1
    """The template needs a change, but the item is right."""
    MISFIT = 2
    """The item is wrong."""
    HARM = 3
    """Using the template unchanged loses something, or forces something wrong."""


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
