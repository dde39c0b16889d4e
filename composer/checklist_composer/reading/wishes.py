"""What a clause says about the whole checklist: how long it takes, who signs, whether steps may be skipped."""

from dataclasses import dataclass, field
from typing import Final

from checklist_crds.template_types import StepType

from ..draft import Draft, DraftStep
from ..naming import label_of
from .asks import subject_of
from .modifiers import minutes_in, photo_count
from .steps import signs, steps_of
from .tasks import task_at
from .words import Span, Words

_MAX_WORDS: Final = 14
_SHORT_WORD: Final = 3
_WISHING: Final = (
    "no_skip", "skip", "executor", "identity", "signature", "sign", "everything", "nothing", "only", "photo",
)  # fmt: skip
"""Without a word of one of these roles, and without a number, nothing is said about the checklist."""
_AROUND_SIGNATURE: Final = (
    "signature", "sign", "overall", "article", "preposition", "self", "performer", "required", "it_should", "and",
    "also",
    "record", "request", "for", "photo_verb", "be", "please", "ordinal",
)  # fmt: skip


_TIME_WORDS: Final = (
    "takes", "about", "article", "pronoun", "checklist", "job_noun", "everything", "it_should", "be", "for", "modal",
    "at_most", "also", "and", "not", "in_place", "should_be", "step_word", "frequency", "please", "preposition",
)  # fmt: skip


_AROUND_TIME: Final = ("at_most", "after_number_most", "about", "takes")
"""What may stand beside a duration that is all of a sentence: `15 mins max.`"""


@dataclass(slots=True)
class Notes:
    """What is known so far."""

    draft: Draft
    recent: list[DraftStep] = field(default_factory=list)
    """The steps that were named just before, which `each of them` means."""
    all_required: bool | None = None
    """What was said about every step that says nothing itself."""


def take_wish(span: Span, notes: Notes) -> bool:
    """Whether the clause is about the checklist instead of a step; what it says is then in the notes."""
    if not span.has(*_WISHING) and next(span.counting(), None) is None:
        return False
    draft = notes.draft
    span = _without_lead(span.stripped(",.;:!–—-()[] "))
    if not len(span) or len(span) > _MAX_WORDS:
        return False
    return (
        _skipping(span, draft)
        or _identity(span, draft)
        or _duration(span, draft)
        or _signature(span, draft)
        or _necessity(span, notes)
        or _photos(span, notes.recent)
    )


def _without_lead(span: Span) -> Span:
    while (
        len(span) > 1 and (length := span.at("also") or span.at("and") or span.at("containing")) and length < len(span)
    ):
        span = span.sub(length).stripped(", ")
    return span


def _skipping(span: Span, draft: Draft) -> bool:
    if span.has("no_skip"):
        draft.allow_skip = False
        return True
    found = span.find("skip")
    if found is None:
        return False
    subject = span.sub(0, found[0])
    if len(subject) > 1 and not subject.has("everything", "optional", "step_word") and not subject.at("it_should"):
        return False
    draft.allow_skip = True
    return True


def _identity(span: Span, draft: Draft) -> bool:
    """`Whoever fills it in must give name and e-mail`: what a run asks of its executor, and no step."""
    asked = span.has("executor") and span.has("email_noun")
    if not (asked or span.at("identity") or (span.has("executor") and span.has("identity"))):
        return False
    draft.identity_required = True
    return True


def _duration(span: Span, draft: Draft) -> bool:
    found = minutes_in(span)
    if found is None or (span.any_at(("act", "check", "measure", "confirm", "photo_verb")) and not span.at("takes")):
        return False
    minutes, start, end = found
    rest = span.without(start, end)
    supposed = span.find("if")
    if supposed is not None and span.at("takes", supposed[0]) > 1:
        supposed = None  # `sollte nicht länger als 20 Minuten dauern`
    if supposed is not None or span.has("number_noun", "photo", "at_least"):
        return False
    only = all(rest.any_at(_AROUND_TIME, i) or not rest[i].is_word for i in range(len(rest)))
    if only or (rest.has("takes") and _is_about_time(rest)):
        draft.est_minutes = minutes
        return True
    return False


def _is_about_time(rest: Span) -> bool:
    """`the round should take no more than`; but `call answered within` is about a call."""
    position = others = 0
    while position < len(rest):
        length = rest.any_at(_TIME_WORDS, position)
        others += not length and rest[position].is_word
        position += max(1, length)
    return others <= 1 and (others == 0 or bool(rest.at("takes", 0)) or not rest.has("state", "good", "participle"))


def _signs_at_end(span: Span) -> bool:
    """`Zum Schluss unterschreibt der Kellermeister`, `le maître signe à la fin`: whoever it is, for all of it."""
    found = span.find("sign")
    if found is None or span.find("overall") is None or task_at(span)[0] not in {"", "sign"}:
        return False
    return bool(span.at("article", found[1]) or (span.at("article") and found[0] > 1))


def _names_more(span: Span) -> bool:
    """Whether something is to be written as well: `name and signature`; a driver is only who signs."""
    return any(span.at("name_noun", i) and not span.at("signer", i) for i in range(len(span)))


def _is_of_somebody(span: Span) -> bool:
    """`signature of the courier`: whoever that is, it is somebody else."""
    found = span.find("signature")
    if found is None or not (length := span.at("of", found[1])):
        return False
    who = span.sub(found[1] + length)
    who = who.sub(who.at("article"))
    return len(who) > 0 and not who.any_at(("performer", "signer", "self", "pronoun"))


def _among_others(span: Span, draft: Draft) -> bool:
    """`Customer: satisfied? signature`: it is that of the section's person."""
    title = draft.sections[-1].title if draft.sections else None
    if title is None or span.at("signature") != len(span):
        return False
    person = Words(span.words.language, title).span()
    return person.at("signer") == len(person) and not person.at("performer")


def _signature(span: Span, draft: Draft) -> bool:
    """A signature of who fills it in is one for the whole list, at its end; somebody else's is a step."""
    if (
        not (span.has("signature") or signs(span) or _signs_at_end(span))
        or span.has("if", "not", "photo", "remarks")
        or span.at("question")
    ):
        return False
    if any(token.text == "?" for token in span) or _names_more(span) or task_at(span)[0] in {"check", "confirm"}:
        return False
    signer = span.find("signer")
    if signer is not None and not span.at("performer", signer[0]) and not span.has("self"):
        return False
    if _is_of_somebody(span) or _among_others(span, draft):
        return False
    said = sum(
        token.is_word and not any(span.at(role, position) for role in _AROUND_SIGNATURE)
        for position, token in enumerate(span)
    )
    if said > 3:
        return False
    draft.signature_on_complete = True
    return True


def _necessity(span: Span, notes: Notes) -> bool:
    if _only_required(span, notes) or _all_but(span, notes):
        return True
    if not span.at("everything") or span.has("photo", "if"):
        return False
    length = span.at("everything")
    for role, value in (("optional", False), ("required", True)):
        found = span.find(role)
        if found is not None and found[0] <= length + 2 and found[1] >= len(span) - 1:
            notes.all_required = value
            return True
    return False


def _all_but(span: Span, notes: Notes) -> bool:
    """`Nothing is mandatory except the name`, `everything is required but the remarks`."""
    found = span.find("except")
    if found is None or not (span.at("nothing") or span.at("everything")):
        return False
    said = span.sub(0, found[0])
    value = True if said.has("required") else False if said.has("optional") else None
    if value is None:
        return False
    value = value != bool(span.at("nothing"))
    if not _mark(span.sub(found[1]), notes, required=not value) and value:
        _add_optional(span.sub(found[1]), notes.draft)
    notes.all_required = value
    return True


def _add_optional(span: Span, draft: Draft) -> None:
    """`Everything but the comment at the end`: what nobody named before is a step, too."""
    end = span.find("overall", 1)
    steps = steps_of(span if end is None else span.sub(0, end[0]))
    for step in steps:
        step.label, step.required = label_of(subject_of(span if end is None else span.sub(0, end[0])).text), False
    if draft.sections:
        draft.sections[-1].steps += steps


def _mark(span: Span, notes: Notes, *, required: bool) -> bool:
    """Whether there are steps that these words name; they are required now, or not."""
    stem = span.words.language.any_stem
    said = {stem(token.text) for token in span if token.is_word and len(token.text) > _SHORT_WORD}
    named = [step for step in notes.draft.steps() if said & {stem(word) for word in step.label.split()}]
    for step in named:
        step.required = required
    return bool(named)


def _only_required(span: Span, notes: Notes) -> bool:
    """`Only the name is mandatory.`"""
    found = span.find("required")
    if not span.at("only") or found is None or found[1] < len(span) or found[0] < 2:
        return False
    if not _mark(span.sub(1, found[0]), notes, required=True):
        return False
    notes.all_required = False
    return True


def _photos(span: Span, recent: list[DraftStep]) -> bool:
    noun = span.find("photo")
    if noun is None or span.has("if", "unless"):
        return False
    each = span.find("each", noun[1])
    if each is None or each[1] < len(span):
        return False
    between = span.sub(noun[1], each[0])
    if len(between) and not between.any_at(("preposition", "for")):
        return False
    fewest, most, start = photo_count(span, noun[0])
    if start > 3:
        return False
    for step in recent:
        if step.type not in {StepType.PHOTO, StepType.INSTRUCTION, StepType.SIGNATURE, StepType.TEXT}:
            step.photo = step.photo or (fewest, most)
    return bool(recent)
