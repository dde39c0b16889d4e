"""The list of step types. A module defines a family of them.

A new type has a subclass of `StepRules` in the module of its family, a member of `StepType`, and its config among the
bases of `StepConfig`.
"""

from enum import StrEnum
from typing import Any

from pydantic import ConfigDict

from .base import StepRules
from .choice import Boolean, BooleanConfig, Choice, ChoiceConfig, MultiChoice, SelectionConfig
from .evidence import Instruction, Photo, Signature
from .number import NumberConfig, NumberRules, RangeConfig, Rating, RatingConfig
from .text import DATE, DATETIME, TIME, DateConfig, Scan, ScanConfig, TextConfig, TextRules


class StepType(StrEnum):
    """What kind of answer a step takes. The first six are the specification's, the others are additive."""

    rules: StepRules[Any]

    def __new__(cls, value: str, rules: StepRules[Any] = StepRules()) -> "StepType":  # noqa: B008
        member = str.__new__(cls, value)
        member._value_, member.rules = value, rules
        return member

    BOOLEAN = "boolean", Boolean()
    PHOTO = "photo", Photo()
    NUMBER = "number", NumberRules()
    CHOICE = "choice", Choice()
    TEXT = "text", TextRules()
    RATING = "rating", Rating()
    MULTI_CHOICE = "multi_choice", MultiChoice()
    DATE = "date", DATE
    TIME = "time", TIME
    DATETIME = "datetime", DATETIME
    SIGNATURE = "signature", Signature()
    SCAN = "scan", Scan()
    INSTRUCTION = "instruction", Instruction()


class StepConfig(  # fields are written in the reverse order of the bases
    DateConfig,
    RatingConfig,
    ScanConfig,
    TextConfig,
    SelectionConfig,
    ChoiceConfig,
    NumberConfig,
    RangeConfig,
    BooleanConfig,
):
    """Settings of a step; which of them mean something depends on its type. Other fields are kept as they are."""

    model_config = ConfigDict(extra="allow")
