"""Converts items to steps, without losing information of the prompt."""

import re
from typing import Final

from checklist_crds.resources.template_definition import StepType

from ..draft import CHOICES, DraftStep
from ..naming import label_of
from .answers import known_unit, limits_of, numbers_of, options_of, scale_of, unit_in, unit_of
from .items import Item
from .labels import Label, LabelledSpan
from .overlooked import named_kinds
from .sentences import asks_back
from .tokens import TokenizedText

SURE: Final = 0.5
"""Below this confidence, an item becomes a text with optional photos, which takes any answer."""
_SURE_OF: Final = {Label.CHECK: 0.7}
"""A yes-or-no answer loses most information, so it needs more confidence."""
DOUBTFUL: Final = 0.35
"""Below this confidence, a step is optional."""
_TYPES: Final = {
    Label.CHECK: StepType.BOOLEAN,
    Label.NUMBER: StepType.NUMBER,
    Label.TEXT: StepType.TEXT,
    Label.PHOTO: StepType.PHOTO,
    Label.SIGNATURE: StepType.SIGNATURE,
    Label.SCAN: StepType.SCAN,
    Label.INSTRUCTION: StepType.INSTRUCTION,
    Label.LOCATION: StepType.BOOLEAN,
}
_CHOOSING: Final = {Label.CHOICE: StepType.CHOICE, Label.MULTI_CHOICE: StepType.MULTI_CHOICE}
_LONG: Final = frozenset({"describe", "long_noun", "remarks", "open_question"})
_WITH_OPTIONS: Final = frozenset({Label.TEXT, Label.CHECK, Label.NUMBER, Label.LOCATION, Label.INSTRUCTION})
"""Items that become a choice if they have options other than yes and no."""
_ANY: Final = (0, None)
_CERTAIN_LIMIT: Final = 0.8
_LONGEST_LIMIT: Final = 12
"""Below this confidence, or with more tokens, a limit is only in the hint."""
_CERTAIN: Final = frozenset({Label.PHOTO, Label.SIGNATURE})
"""Items whose nouns are unambiguous."""
_OF_TYPES: Final = {
    Label.OPTIONS: {StepType.CHOICE, StepType.MULTI_CHOICE, StepType.BOOLEAN},
    Label.UNIT: {StepType.NUMBER},
}
"""Details in the configuration of steps of these types; other steps get them as a hint."""
_TIMED: Final = frozenset({"time_noun", "what_time", "time_type"})
_GRADED: Final = 0.9
"""Below this confidence, an item without a scale is no rating."""
_DATED: Final = frozenset({"date_noun", "when", "dated"})
_WHICH: Final = frozenset({"which", "wh", "who", "relative"})
_MEASURED: Final = frozenset({Label.CHECK, Label.TEXT, Label.NUMBER})
_COUNTING: Final = frozenset({"how_much", "count"})
_ANSWERED: Final = frozenset({"record", "describe", "measure", "count", "photo", "sign"})
"""Roles of verbs and nouns that need an answer."""
_RECORDED: Final = frozenset({"record", "describe"})
_OPTION_MARKS: Final = re.compile(r"\[[ xX]?\]|[☐☑□○●]")


def step_of(text: TokenizedText, item: Item, *, messy: bool = False) -> DraftStep:
    """The step of an item; of a messy prompt, an instruction is words that hardly ask for anything."""
    step = DraftStep(label=_label(text, item), type=StepType.TEXT, subject=text.slice(item.start, item.end))
    step.source = (text.tokens[item.start].start, text.tokens[item.end - 1].end)
    step.confidence = item.confidence
    answered = item.label is Label.CHECK and item.has(Label.OPTIONS)
    if _names_its_kind(text, item) or item.has(Label.UNIT) or answered:
        step.confidence = max(SURE, item.confidence)
    _take_type(text, item, step, messy=messy)
    _take_config(text, item, step)
    if item.confidence < DOUBTFUL:
        step.required = False
    if item.has(Label.OPTIONAL) or text.has("optional", item.start, item.end + item.behind):
        step.required = False
    elif item.has(Label.REQUIRED):
        step.required = True
    step.hint = _hint(text, item, step)
    return step


def _take_type(text: TokenizedText, item: Item, step: DraftStep, *, messy: bool) -> None:
    if item.label in _CHOOSING or (item.has(Label.OPTIONS) and item.label in _WITH_OPTIONS):
        _choose(text, item, step)
        if step.type is StepType.TEXT and item.label not in _CHOOSING and not _offers(text, item):
            step.type = _TYPES[item.label]
    elif (
        item.label in _MEASURED and item.has(Label.UNIT) and (item.label is not Label.NUMBER or _unit_known(text, item))
    ):
        step.type = StepType.NUMBER
    elif item.label in _MEASURED and item.confidence >= DOUBTFUL and _expected(text, item) != (None, None):
        step.type, step.confidence = StepType.NUMBER, max(SURE, item.confidence)
    elif _is_doubted(text, item) and not _names_its_kind(text, item):
        step.photo = _ANY
    elif item.label is Label.DATE:
        step.type = StepType.NUMBER if item.has(Label.UNIT) else _date_type(text, item)
    elif item.label is Label.RATING:
        _rate(text, item, step)
    elif item.label is Label.INSTRUCTION and not messy and text.any_of(_ANSWERED, item.start, item.end):
        step.photo = _ANY  # `stop the pump and describe the leak` needs an answer
    else:
        step.type = _said_type(text, item) or _TYPES[item.label]


def _take_config(text: TokenizedText, item: Item, step: DraftStep) -> None:
    if step.type is StepType.NUMBER:
        step.unit = _unit(text, item)
        step.expected = _expected(text, item)
    elif step.type is StepType.TEXT and text.any_of(_LONG, item.start, item.end):
        step.multiline = True
    elif step.type is StepType.PHOTO:
        step.minimum = _photos(text, item)
    step.geo = item.label is Label.LOCATION and step.type not in CHOICES


def _unit_known(text: TokenizedText, item: Item) -> bool:
    span = item.details[Label.UNIT][0]
    return (
        item.confidence >= SURE
        or known_unit(unit_of(text.slice(span.start, span.end), text.language) or "", text.language) is not None
    )


def _is_doubted(text: TokenizedText, item: Item) -> bool:
    states = item.label is Label.CHECK and "state" in text.roles[item.end - 1] and item.end - item.start > 1
    least = SURE if states else _SURE_OF.get(item.label, SURE)
    return item.confidence < least and item.label not in _CERTAIN


def _names_its_kind(text: TokenizedText, item: Item) -> bool:
    """Whether the item's first noun names its type: `number of guests`."""
    return item.label in named_kinds(text, item.start, item.end)


def _said_type(text: TokenizedText, item: Item) -> StepType | None:
    """The type named in or directly behind a check: `defects - free text`, `guests (number)`."""
    if item.label is Label.TEXT and item.has(Label.RANGE):
        scale = item.details[Label.RANGE][0]
        return StepType.NUMBER if scale_of(text.slice(scale.start, scale.end), text.language) else None
    if item.label is not Label.CHECK:
        return None
    if asks_back(text, item.end) and text.roles[item.start].keys() & _WHICH:
        return StepType.TEXT  # `which one?`
    last = item.end - 1
    limit = item.first(Label.LIMIT)
    limited = limit is not None and limit.start >= item.end
    if limited or any(text.roles[at].keys() & _RECORDED for at in (item.start, last)):
        return StepType.TEXT  # `harnesses available, at least 20`, `note the place`
    if item.end - item.start > 1 and "preposition" in text.roles[last] and not text.has("question", item.start, last):
        return StepType.TEXT  # `test ride done by`
    opened = item.end < len(text) and text.tokens[item.end].text in "(-–"
    opened = opened and text.tokens[item.end].line == text.tokens[item.start].line
    behind = item.end + 1 if opened else item.end
    adjacent = (behind, min(behind + 2, len(text))) if behind > item.end else (item.start, item.end)
    if text.has("text_type", *adjacent):
        return StepType.TEXT
    counted = text.has("number_type", *adjacent) or (
        asks_back(text, item.end) and text.any_of(_COUNTING, item.start, item.end)
    )
    return StepType.NUMBER if counted else None


def own_words(text: TokenizedText, start: int, end: int, confidence: float) -> DraftStep:
    """An optional text step with the writer's words, for words that the labeller did not understand."""
    step = DraftStep(label=label_of(text.slice(start, end)), type=StepType.TEXT, required=False, photo=_ANY)
    step.source = (text.tokens[start].start, text.tokens[end - 1].end)
    step.confidence = confidence
    return step


def _label(text: TokenizedText, item: Item) -> str:
    start, end = item.start, item.end
    while end - start > 1 and not (text.tokens[start].is_word or text.tokens[start].is_number):
        start += 1
    return label_of(_OPTION_MARKS.sub(" ", text.slice(start, end)))


def _choose(text: TokenizedText, item: Item, step: DraftStep) -> None:
    span = item.first(Label.OPTIONS)
    if span is not None and item.label not in _CHOOSING and (span.confidence < SURE or _is_measured(item)):
        return
    if span is None or len(item.details[Label.OPTIONS]) > 1:  # which of the lists are the answers?
        return
    listed = range(span.start, span.end)
    end = next((at for at in listed if at > span.start and "several" in text.roles[at]), span.end)
    options = options_of(text.slice(span.start, end), text.language)
    if item.label is Label.CHECK and text.has("yes_no", span.start, span.end):
        return
    if _runs_into(text, item, span):
        step.label = label_of(text.slice(item.start, span.end))
        return
    if len(options) < 2:
        return
    first = item.start
    while first and item.start - first < 3 and text.tokens[first - 1].text not in ".?!;":
        first -= 1
    several = text.has("several", first, span.end + 3) or text.has("which_several", first, item.end)
    step.type = StepType.MULTI_CHOICE if several else _CHOOSING.get(item.label, StepType.CHOICE)
    step.options = options


def _runs_into(text: TokenizedText, item: Item, span: LabelledSpan) -> bool:
    """Whether options with commas only may be items: directly behind their item (`vests dry, fee paid`), or of a check
    (`no splinters: slide, swing, tower`)."""
    marks = [token.text for token in text.tokens[item.end : span.end] if not (token.is_word or token.is_number)]
    if any(mark.startswith("__") for mark in marks):  # blanks for answers: `shampoo ___ %, wax ___ %`
        return True
    if "," not in marks or not set(marks) <= {",", ":"} or text.has("or", span.start, span.end):
        return False
    return item.end == span.start or (item.label is Label.CHECK and not item.has(Label.EACH))


def _offers(text: TokenizedText, item: Item) -> bool:
    """Whether a check has options, which a yes-or-no answer would lose."""
    span = item.first(Label.OPTIONS)
    if span is None or item.label is not Label.CHECK or text.has("yes_no", span.start, span.end):
        return False
    return len(options_of(text.slice(span.start, span.end), text.language)) > 1


def _is_measured(item: Item) -> bool:
    return item.label is Label.NUMBER and (item.has(Label.UNIT) or item.has(Label.LIMIT))


def _date_type(text: TokenizedText, item: Item) -> StepType:
    start, end = item.start, item.end
    if text.has("datetime_noun", start, end):
        return StepType.DATETIME
    timed, dated = text.any_of(_TIMED, start, end), text.any_of(_DATED, start, end)
    if timed and dated:
        return StepType.DATETIME
    return StepType.TIME if timed else StepType.DATE


def _rate(text: TokenizedText, item: Item, step: DraftStep) -> None:
    for label in (Label.RANGE, Label.OPTIONS, Label.LIMIT):
        span = item.first(label)
        if span is not None and (scale := scale_of(text.slice(span.start, span.end), text.language)):
            step.type, step.minimum, step.maximum = StepType.RATING, *scale
            return
        if span is not None and len(options := options_of(text.slice(span.start, span.end), text.language)) > 1:
            step.type, step.options = StepType.CHOICE, options
            return
    if (scale := scale_of(text.slice(item.start, item.end), text.language)) is not None:
        step.minimum, step.maximum = scale
    elif item.confidence < _GRADED:
        return
    step.type = StepType.RATING


def _unit(text: TokenizedText, item: Item) -> str | None:
    span = item.first(Label.UNIT)
    if span is not None:
        return unit_of(text.slice(span.start, span.end), text.language)
    for label in (Label.LIMIT, Label.RANGE):
        span = item.first(label)
        if span is not None and (unit := unit_in(text.slice(span.start, span.end), text.language)):
            return unit
    return None


def _expected(text: TokenizedText, item: Item) -> tuple[float | None, float | None]:
    """The expected values, if the only limit is certain, understood in whole, and not followed by what to do."""
    spans = item.details.get(Label.LIMIT, [])
    certain = [span for span in spans if span.confidence >= _CERTAIN_LIMIT and span.end - span.start <= _LONGEST_LIMIT]
    end = spans[0].end if len(spans) == len(certain) == 1 else 0
    closed = end == len(text) or text.tokens[end].text in ",.;)" or text.tokens[end].line != text.tokens[end - 1].line
    if not end or not closed:
        return None, None
    said = text.slice(spans[0].start, end)
    same_unit = unit_in(said, text.language) in {None, _unit(text, item)}
    return limits_of(said, text.language, whole=True) if same_unit else (None, None)


def _photos(text: TokenizedText, item: Item) -> float:
    span = item.first(Label.HOW)
    said = text.slice(span.start, span.end) if span else text.slice(item.start, item.end)
    counts = [number for number in numbers_of(said, text.language) if float(number).is_integer() and 1 <= number <= 20]
    return counts[0] if len(counts) == 1 else 1


def _hint(text: TokenizedText, item: Item, step: DraftStep) -> str | None:
    """Expected values, explanations, and options of steps that are no choice."""
    texts = text.language.texts
    parts = []
    for label, spans in item.details.items():
        for span in spans:
            said = text.slice(span.start, span.end).strip(" ,;:()")
            if label is Label.LIMIT:
                parts.append(texts["expected"].format(bounds=said))
            elif label in {Label.HINT, Label.RANGE} or (label is Label.HOW and not _is_count(text, said, step)):
                parts.append(label_of(said))
            elif label in _OF_TYPES and step.type not in _OF_TYPES[label]:
                parts.append(said)
    return " · ".join(dict.fromkeys(parts)) or None


def _is_count(text: TokenizedText, said: str, step: DraftStep) -> bool:
    """Whether the words are only the number of photos of a photo step."""
    return step.type is StepType.PHOTO and numbers_of(said, text.language) == [step.minimum]
