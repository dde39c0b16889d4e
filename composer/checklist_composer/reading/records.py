"""Steps that take down what somebody finds: codes, dates and times, texts."""

from typing import Final

from checklist_crds.template_types import StepType

from ..draft import DraftStep
from .asks import Ask
from .tasks import task_at
from .words import Span

_SEEN: Final = frozenset({"check", "confirm", "act", "sign"})
_FEW_WORDS: Final = 6
_MOMENTS: Final = (
    ("datetime_noun", StepType.DATETIME),
    ("time_noun", StepType.TIME),
    ("date_noun", StepType.DATE),
)


def scan_step(ask: Ask) -> DraftStep | None:
    """A code to scan; a serial number is written by who has nothing to scan."""
    span = ask.span
    if ask.task == "scan":
        return ask.step(StepType.SCAN)
    if ask.task in _SEEN or span.at("question"):
        return None
    if span.has("scan_noun"):
        return ask.step(StepType.SCAN)
    return ask.step(StepType.TEXT) if span.has("serial_noun") and not span.has("be", "good", "bad") else None


def moment_step(ask: Ask) -> DraftStep | None:
    """A date, a time of day, or both."""
    span = ask.span
    if span.at("when"):
        return ask.step(StepType.DATE if len(span) > 1 else StepType.DATETIME)
    if any(span.at("when", position) > 2 for position in span.places("", "when")):
        return ask.step(StepType.DATE)  # `next visit on which date?`
    if span.at("what_time"):
        return ask.step(StepType.TIME)
    if _is_dated(span):
        return ask.step(StepType.DATE)
    if (
        ask.task in {"confirm", "act", "sign"}
        or span.at("question")
        or (ask.task != "record" and span.has("be", "not", "good", "bad", "state"))
    ):
        return None
    if ask.task == "check" and not span.has("recorded"):
        return None
    for role, kind in _MOMENTS:
        if span.has(role):
            return ask.step(kind)
    return None


def _is_dated(span: Span) -> bool:
    """`last serviced on`, `zuletzt gewartet am`: on which day, which is to be written behind it."""
    last = len(span) - 1
    if last < 1 or span.at("dated", last) != 1:
        return False
    done = span[last - 1].text.islower() and span.words.language.verb_last  # most participles are in no table
    return done or span.any_at(("state", "participle", "recorded"), last - 1) > 0


def text_step(ask: Ask) -> DraftStep | None:
    """Something to write: answers to who, what and why, names, descriptions, remarks."""
    span = ask.span
    if ask.task == "describe":
        return ask.step(StepType.TEXT, multiline=True)
    if span.at("question") and not span.at("wh"):
        return None
    remarks = span.find("remarks", task_at(span)[1])
    if remarks and ask.task not in _SEEN and len(span) <= _FEW_WORDS + 4:
        return ask.step(StepType.TEXT, multiline=True, required=False)
    if ask.verb is None and span.any_at(("who", "wh")):
        open_ended = span.has("describe", "bad", "long_noun") or span.at("open_question") > 0
        return ask.step(StepType.TEXT, multiline=open_ended or None)
    if ask.task == "record":
        return ask.step(StepType.TEXT, multiline=True if span.has("long_noun", "bad") else None)
    if ask.task in _SEEN:
        return None
    if _is_field(ask):
        return ask.step(StepType.TEXT)
    if span.has("be", "good", "bad", "not") and not span.has("long_noun"):
        return None
    if span.has("long_noun"):
        return ask.step(StepType.TEXT, multiline=True)
    if span.has("name_noun") and len(span) <= _FEW_WORDS and not span.at("state", len(span) - 1):
        return ask.step(StepType.TEXT)
    return None


def _is_field(ask: Ask) -> bool:
    """What can only be written: `batch noted`, `car no`, `title of the work`; `customer`, whom nobody checks."""
    span = ask.span
    last, named = len(span) - 1, span.at("name_noun")
    numbered = 0 < last < _FEW_WORDS and (span.at("number_sign", last) or span.at("number_sign", last - 1) > 1)
    who = ask.verb is None and max(span.at("signer"), span.at("performer")) == len(span)
    noted = span.has("recorded") and span.has("name_noun")
    return bool(noted or numbered or (named > 1 and span.at("of", named - 1)) or who)
