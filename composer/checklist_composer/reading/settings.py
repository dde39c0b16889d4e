"""Settings of the whole checklist: its duration, whether steps may be skipped, and the executor's identity."""

from typing import Final

from checklist_crds.resources.template_definition import MAX_MINUTES

from ..draft import Draft
from ..language import Language
from .answers import numbers_of
from .labels import LabelledSpan
from .tokens import TokenizedText

_IDENTIFYING: Final = frozenset({"executor", "identity", "email_noun"})
_MINUTES: Final = {"s": 1 / 60, "min": 1.0, "h": 60.0, "½ h": 30.0, "¼ h": 15.0}


def says_setting(text: TokenizedText, span: LabelledSpan) -> bool:
    """Whether a span has a setting of the whole checklist that a template supports."""
    start, end = span.start, span.end
    return (
        text.any_of(_IDENTIFYING | {"no_skip", "skip"}, start, end)
        or _minutes(text.slice(start, end), text.language) is not None
    )


def take_setting(text: TokenizedText, span: LabelledSpan, draft: Draft) -> None:
    """Apply the settings in a span to the draft."""
    start, end = span.start, span.end
    if text.has("no_skip", start, end):
        draft.allow_skip = False
    elif text.has("skip", start, end):
        draft.allow_skip = True
    if text.any_of(_IDENTIFYING, start, end):
        draft.identity_required = True
    minutes = _minutes(text.slice(start, end), text.language)
    if minutes is not None:
        draft.est_minutes = minutes


def _minutes(words: str, language: Language) -> float | None:
    tokens = TokenizedText(language, words)
    factors = [
        _MINUTES[unit[0]]
        for token in tokens.tokens
        if (unit := language.units.get(token.key)) is not None and unit[0] in _MINUTES
    ]
    numbers = numbers_of(words, language)
    minutes = max(numbers) * factors[0] if factors and numbers else 0
    return minutes if 0 < minutes <= MAX_MINUTES else None
