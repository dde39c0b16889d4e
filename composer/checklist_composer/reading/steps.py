"""What one clause asks for: the step that an executor answers.

The rules go from the most to the least certain; what none of them knows is something to see to, answered by yes or no.
"""

import re

from checklist_crds.template_types import MAX_PHOTOS_PER_STEP, StepType

from ..draft import DraftStep
from ..naming import MAX_LABEL, cut, label_of
from .actors import without_actor
from .asks import Ask, ask_of
from .grades import grades_in
from .measures import number_step
from .modifiers import Modifiers, take_modifiers
from .options import options_in
from .quantities import bounds_in
from .questions import question_of
from .records import moment_step, scan_step, text_step
from .tasks import is_task, photo_request, task_at
from .words import Span, Words, remembered

_INVERTED = re.compile(r"\w-(?:t-)?(?:ils?|elles?|on|vous|tu|nous|ce)\b")
_FEW_WORDS = 3
_ALWAYS_LEAD = ("please", "also", "it_should", "and")


def steps_of(span: Span, verb: Span | None = None) -> list[DraftStep]:
    """The steps that a clause asks for; `verb` is what it shares with the clause before: `check a, b and c`.

    What was asked for before in the same words is read once.
    """
    return [step.copy() for step in _steps_of(span.first(verb), verb)]


@remembered
def _steps_of(span: Span, verb: Span | None) -> list[DraftStep]:
    span, modifiers = take_modifiers(without_lead(span))
    span = without_lead(span)
    if not any(token.is_word or token.is_number for token in span):
        return []
    if max(span.at("meta"), span.at("please")) == len(span):
        return []
    asked = span[0].text == "¿"
    span = span.sub(int(asked))
    steps = _modified(_step(ask_of(span, verb), modifiers), modifiers, span)
    if asked and not steps[0].label.startswith("¿") and steps[0].label.endswith("?"):
        steps[0].label = f"¿{steps[0].label}"
    return steps


def is_thing(span: Span, step: DraftStep) -> bool:
    """Whether a step that would be ticked only names something: `plot`, but neither `press clean` nor `is it dry?`."""
    if step.type is not StepType.BOOLEAN or is_task(span) or len(span) > _FEW_WORDS:
        return False
    return not span.has("be", "state", "good", "bad", "not", "participle", "that_clause") and "?" not in step.label


@remembered
def without_lead(span: Span) -> Span:
    """Without `please`, `also`, `it should`, `then`; without `first` where it does not belong to a noun."""
    span = span.stripped(',.;:!–—-•·/|*_#="“”„«» ')
    moved = True
    while moved and len(span) > 1:
        moved = False
        for role in _ALWAYS_LEAD:
            length = span.at(role)
            if length and length < len(span) and not (span.sub(0, length).has("signer") and span.at("sign", length)):
                span, moved = span.sub(length).stripped(",;: "), True
                break
        often = span.at("frequency")
        if not moved and often and span.any_at(("it_should", "we"), often):
            span, moved = span.sub(often), True  # `every morning I want my staff to ...`
            continue
        if not moved and span.at("please_last", len(span) - 1) == 1:
            span, moved = span.sub(0, len(span) - 1).stripped(", "), True
            continue
        length = span.at("ordinal") or span.at("only")
        if not moved and length and length < len(span) and (span[length].text == "," or is_task(span.sub(length))):
            span, moved = span.sub(length).stripped(",;: "), True
    return without_actor(span)


def _step(ask: Ask, modifiers: Modifiers) -> DraftStep:
    if modifiers.as_type is not None:
        if modifiers.answers is not None:
            yes, no = map(label_of, modifiers.answers)
            return ask.step(modifiers.as_type, true_label=yes, false_label=no)
        return ask.step(modifiers.as_type, multiline=True if modifiers.as_type is StepType.TEXT else None)
    if not _may_say_more(ask):
        return _yes_no(ask)
    for rule in (
        _notice, _photo, _signature, _location, _rating, _choice, number_step, scan_step, moment_step, text_step,
    ):  # fmt: skip
        if step := rule(ask):
            return step
    return _yes_no(ask)


def _may_say_more(ask: Ask) -> bool:
    """Whether any rule has something to look at: a word with a role, a number, a mark."""
    if ask.task or any(ask.span.words.marks[index] for index in ask.span.index):
        return True
    return any(not token.is_word for token in ask.span)


def _photo(ask: Ask) -> DraftStep | None:
    if ask.verb is not None:
        shared = ask.verb.any_at(("photo_verb", "photograph")) or ask.verb.has("photo")
        return ask.step(StepType.PHOTO, minimum=1.0) if shared and ask.task in {"photograph", ""} else None
    found = photo_request(ask.span)
    if found is None:
        return None
    most = None if found[1] is None else float(found[1])
    return ask.step(StepType.PHOTO, minimum=float(found[0]), maximum=most)


def _signature(ask: Ask) -> DraftStep | None:
    if ask.task in {"check", "confirm"} or ask.span.at("question"):
        return None
    if ask.span.has("signature") or signs(ask.span):
        return ask.step(StepType.SIGNATURE)
    return None


def signs(span: Span) -> bool:
    """`the customer signs`, `signed by the manager`, `sign here`; but not `exit signs`."""
    found = span.find("sign")
    if found is None:
        return False
    if span.at("signed", found[0]) and not span.at("by", found[1]):
        return False
    if found[0] == 0:
        return task_at(span)[0] == "sign" or len(span) == 1 or span.at("overall", found[1]) > 0
    before, after = span.sub(max(0, found[0] - 5), found[0]), span.sub(found[1], found[1] + 5)
    return before.has("signer", "self") or (bool(after.at("by")) and after.has("signer", "self"))


def _location(ask: Ask) -> DraftStep | None:
    span = ask.span
    noun = span.find("location")
    if noun is None or noun[0] > 3 or ask.task in {"check", "confirm"}:
        return None
    lead = span.at("location_verb")
    if noun[1] != len(span):
        what = noun[0] == span.at("article") + lead and span.at("preposition", noun[1])
        return ask.step(StepType.TEXT, geo=True) if what else None
    if not lead and noun[0] > span.at("article"):
        return None
    return ask.step(StepType.BOOLEAN, "" if lead else span.words.language.texts["location"], geo=True)


def _rating(ask: Ask) -> DraftStep | None:
    grades = grades_in(ask.span)
    if grades is None:
        return None
    head = grades.head if len(grades.head) else ask.span
    return ask.step(
        StepType.RATING,
        ask.label(head),
        minimum=float(grades.low),
        maximum=float(grades.high),
        low_label=grades.low_label and label_of(grades.low_label),
        high_label=grades.high_label and label_of(grades.high_label),
    )


def _choice(ask: Ask) -> DraftStep | None:
    found = options_in(ask.span)
    if found is None:
        return None
    label = ask.label(found.head if len(found.head) else ask.span)
    if label.endswith(("?", ":")) or not ask.span.at("question"):
        label = label.rstrip(":")
    if ask.span.any_at(("question", "wh")) and not label.endswith("?"):
        label += " ?" if ask.span.words.language.locale == "fr" else "?"
    keys = {option.casefold() for option in found.labels}
    if len(keys) == 2 and not found.several and _are_yes_and_no(ask.span, found.labels):
        step = ask.step(StepType.BOOLEAN, label)
        if not _is_plain_answer(ask.span, found.labels[0]):
            step.true_label, step.false_label = found.labels[0], found.labels[1]
        return step
    kind = StepType.MULTI_CHOICE if found.several else StepType.CHOICE
    return ask.step(kind, label, options=list(dict.fromkeys(found.labels)))


def _is_plain_answer(span: Span, label: str) -> bool:
    return bool(Words(span.words.language, label).span().at("yes_no"))


def _are_yes_and_no(span: Span, labels: list[str]) -> bool:
    """Whether the first option is what ought to be and the second is not: yes/no, OK/not OK, pass/fail."""
    first, second = (Words(span.words.language, label).span() for label in labels[:2])
    if first.at("yes_no") and second.at("yes_no"):
        return True
    return first.at("verdict") == len(first) and second.at("verdict") + second.at("not") > 0 and len(second) <= 2


def _notice(ask: Ask) -> DraftStep | None:
    span = ask.span
    length = span.at("notice")
    told = length and span.key(length) in {":", "-", "–", "!"}
    banned = (found := span.find("forbidden", 1)) is not None and found[1] == len(span)
    if ask.verb is not None or not (span.at("prohibition") or told or banned) or bounds_in(span) is not None:
        return None
    return ask.step(StepType.INSTRUCTION)


def _as_asked(ask: Ask) -> str:
    """The label, with the mark of a question that lost it in a list: `are the exits free, do the lights work?`"""
    label = ask.label()
    if label.endswith("?") or ask.verb is not None or ask.task or not len(ask.span):
        return label
    span, locale = ask.span, ask.span.words.language.locale
    asked = span.at("question") and not span.any_at(("article", "pronoun", "there")) and len(span) > 2
    if locale == "es" or not (asked or (locale == "fr" and _INVERTED.search(span.text))):
        return label
    return f"{label} ?" if locale == "fr" else f"{label}?"


def _yes_no(ask: Ask) -> DraftStep:
    length = ask.span.at("that_clause")
    if ask.verb is None and not ask.task and length and len(ask.span) > length + 1:
        return ask.step(StepType.BOOLEAN, question_of(ask.span.sub(length)))  # `whether anybody was hurt`
    label, rest = cut(_as_asked(ask), MAX_LABEL)
    return ask.step(StepType.BOOLEAN, label, hint=rest or None)


def _modified(step: DraftStep, modifiers: Modifiers, span: Span) -> list[DraftStep]:
    if modifiers.required is not None:
        step.required = modifiers.required
    if modifiers.photo is not None and step.type is not StepType.INSTRUCTION:
        if step.type is StepType.PHOTO:
            step.minimum = float(modifiers.photo[0])
            step.maximum = None if modifiers.photo[1] is None else float(min(modifiers.photo[1], MAX_PHOTOS_PER_STEP))
        else:
            step.photo = modifiers.photo
            shown = label_of(modifiers.photo_of)
            step.hint = f"{step.hint}. {shown}" if step.hint and shown else step.hint or shown or None
    step.geo = step.geo or modifiers.geo
    step.minutes = modifiers.minutes
    steps = [step]
    if modifiers.remarks:
        texts = span.words.language.texts
        label = f"{texts['remarks']}: {step.subject}" if step.subject else texts["remarks"]
        steps.append(DraftStep(label, StepType.TEXT, required=False, multiline=True, subject=step.subject))
    return steps
