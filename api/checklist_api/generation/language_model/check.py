"""Compares a model's valid template with its prompt: lost items, limits turned into bounds, unfounded conditions.

The prompt is read by the composer, which makes mistakes. So only confident readings count, half of an item's words
suffice, and a step that may ask for the item in other words is accepted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checklist_composer.language import fold, language_of
from checklist_composer.language_detection import detect
from checklist_composer.locales import LOCALES
from checklist_composer.reading.answers import limits_of, numbers_of, unit_in, unit_of
from checklist_composer.reading.conditions import SUPPOSING
from checklist_composer.reading.items import Item, items_of
from checklist_composer.reading.labeller import labelled
from checklist_composer.reading.labels import Label, LabelledSpan
from checklist_composer.reading.tokens import TokenizedText
from checklist_crds.resources.template_definition import MAX_STEPS, Definition, Section, Step, StepConfig, StepType
from checklist_crds.templates.conditions import comparisons_of
from checklist_crds.templates.validation import parse_definition

from .harm import GroundlessCondition, Harm, LimitAsBound, LostItem
from .word_forms import share_of, shares_any

_MIN_CONFIDENCE: Final = 0.9
"""Minimum mean probability of an item's words for the item to be required."""
_KNOWN_WORDS: Final = 0.45
"""Minimum share of words in the language's tables; below it, the language is not supported."""
_LOSABLE: Final = 3
"""Lost items are added if at most one in so many is lost; otherwise the template is rejected."""
_REACH: Final = 4
"""How many sentences before an item its condition may be."""
_GENERIC_ROLES: Final = frozenset(
    {"check", "confirm", "act", "measure", "record", "describe", "request", "checklist", "sign", "tour", "seek"}
    | {"rate", "choose", "counted", "recorded", "photo_verb", "state", "verdict", "good", "bad", "done", "grade_word"}
    | {"remarks", "long_noun", "wh", "which", "how_much", "count", "anything", "location", "photo", "signature"}
    | {"none_word"}
)
"""Roles of words that a template may paraphrase: actions, qualities, kinds of answers."""
_EXCEPTING: Final = frozenset({"only", "except", "yes_no"})
"""Roles that may begin a condition in the item's own sentence, too."""
_UNCOUNTED: Final = (Label.EACH, Label.HOW, Label.NAME, Label.SETTING, Label.IF, Label.OPTIONS, Label.RANGE)
"""Spans whose numbers are not limits."""
_DATES: Final = frozenset({StepType.DATE, StepType.TIME, StepType.DATETIME})
_BY_KIND: Final = {Label.PHOTO: StepType.PHOTO, Label.SIGNATURE: StepType.SIGNATURE}
"""Type of the step added for a lost item; text by default."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Harms of a template, and the repaired template."""

    harms: tuple[Harm, ...]
    repaired: Definition | None
    """None if too many items are lost."""


def judgement(definition: Definition, prompt: str, locale: str | None) -> Judgement:
    """Compare a valid template with its prompt. Takes some milliseconds."""
    reading = _PromptReading(prompt, locale)
    harms = tuple(dict.fromkeys(reading.harms(definition)))
    lost = sum(isinstance(harm, LostItem) for harm in harms)
    if lost > max(1, len(reading.sure) / _LOSABLE) or lost + sum(1 for _ in definition.steps()) > MAX_STEPS:
        return Judgement(harms, None)
    if not harms:
        return Judgement((), definition)
    document = definition.to_tdl()
    for harm in reversed(harms):  # keeps the prompt's order of steps added at one place
        harm.repair(document)
    return Judgement(harms, parse_definition(document))


@dataclass(frozen=True, slots=True)
class _Place:
    """A step with its words, path and section title."""

    step: Step
    path: str
    words: frozenset[str]


class _PromptReading:
    """The confident reading of a prompt."""

    def __init__(self, prompt: str, locale: str | None) -> None:
        self.locale = detect(prompt, next((known for known in LOCALES if known == locale), None))
        self.language = language_of(self.locale)
        self.text = TokenizedText(self.language, prompt)
        found = labelled(self.text)
        self.spans, self.sentences, self.outside = found.spans, found.sentences, found.outside
        self.items = items_of(self.text, self.spans, self.sentences)
        known = self.language.function_words | self.language.vocabulary
        words = [token for token in self.text.tokens if token.is_word]
        self.is_known = sum(fold(token.text) in known for token in words) >= _KNOWN_WORDS * max(1, len(words))
        self.sure = [item for item in self.items if self._is_sure(item)]

    def harms(self, definition: Definition) -> Iterator[Harm]:
        places = list(self._places(definition))
        written = detect("\n".join([definition.name, *(place.step.label for place in places)]), self.locale)
        if not self.is_known or written != self.locale:
            expected = language_of(written).texts["expected"] if self.is_known else "{bounds}"
            yield from (bound for place in places for bound in self._bounds(place, None, expected))
            return
        asking = [(item, self._asking(item, places)) for item in self.items]
        served: dict[str, list[Item]] = {}
        for item, mine in asking:
            for place in mine:
                served.setdefault(place.step.id, []).append(item)
        last: str | None = None
        for item, mine in asking:
            if item in self.sure and not mine and not self._is_covered(item, places, definition):
                yield LostItem(self._said(item), _BY_KIND.get(item.label, StepType.TEXT), last)
            if item in self.sure and self._is_hidden(item, mine, served):
                yield from self._groundless(item, mine, places)
            last = mine[-1].step.id if mine else last
        for place in places:
            yield from self._bounds(place, served.get(place.step.id, []), self.language.texts["expected"])

    def _is_hidden(self, item: Item, mine: Sequence[_Place], served: Mapping[str, Sequence[Item]]) -> bool:
        """Whether all steps for the item have a condition, and at least one of them clearly asks for it."""
        if any(place.step.condition is None for place in mine):
            return False
        if item.label is Label.CHECK and all(_follows_other(place.step, served) for place in mine):
            return False  # a follow-up of a paraphrased question
        return any(share_of(self._own_words(item), place.words) > 0.5 for place in mine)

    def _is_sure(self, item: Item) -> bool:
        indexes = range(item.start, item.end)
        return sum(1 - self.outside[index] for index in indexes) >= _MIN_CONFIDENCE * len(indexes)

    def _said(self, place: Item | LabelledSpan) -> str:
        return self.text.slice(place.start, place.end).strip(" ,;:.()")

    def _own_words(self, item: Item) -> list[str]:
        """Return the stems of the item's specific words."""
        found: list[str] = []
        for index in range(item.start, item.end):
            roles = self.text.roles[index].keys()
            if "each" in roles and found:
                break
            word = fold(self.text.tokens[index].text)
            known = word in self.language.function_words or self.language.any_stem(word) in self.language.numbers
            if self.text.carries_meaning(index) and not roles & _GENERIC_ROLES and not known:
                found.append(self.language.any_stem(self.text.tokens[index].text))
        return found

    def _asking(self, item: Item, places: Sequence[_Place]) -> list[_Place]:
        """Return the steps with at least half of the item's specific words, or most of its options."""
        own = self._own_words(item)
        options = item.first(Label.OPTIONS)
        answers = self.text.stems(options.start, options.end) if options is not None else []
        every = self.text.stems(item.start, item.end)
        return [
            place
            for place in places
            if share_of(own, place.words) >= 0.5
            or share_of(answers, place.words) > 0.5
            or (len(every) > 2 and share_of(every, place.words) > 0.6)
        ]

    def _is_covered(self, item: Item, places: Sequence[_Place], definition: Definition) -> bool:
        """Whether the template may ask for an item without using its words."""
        steps = [place.step for place in places]
        unit = self._unit(item)
        if unit is not None and self._enough(unit, steps):
            return True
        match item.label:
            case Label.PHOTO:
                return any(step.photo_bounds is not None for step in steps)
            case Label.SIGNATURE:
                at_the_end = definition.settings.signature_on_complete
                return at_the_end or any(step.type is StepType.SIGNATURE for step in steps)
            case Label.LOCATION:
                return any(step.geo for step in steps)
            case Label.SCAN:
                return any(step.type is StepType.SCAN for step in steps)
            case Label.DATE:
                wanted = sum(other.label is Label.DATE for other in self.sure)
                return sum(step.type in _DATES for step in steps) >= wanted
            case _:
                own = self._own_words(item)
                titles = [section.title for section in definition.sections]
                elsewhere = self._words([definition.name, definition.description, *titles])
                return not own or share_of(own, elsewhere) == 1

    def _enough(self, unit: str, steps: Sequence[Step]) -> bool:
        """Whether at least as many steps as items have the unit."""
        wanted = sum(self._unit(item) == unit for item in self.items)
        return sum(fold(step.config.unit or "") == fold(unit) for step in steps) >= wanted

    def _unit(self, item: Item) -> str | None:
        if (span := item.first(Label.UNIT)) is not None:
            return unit_of(self._said(span), self.language)
        limit = item.first(Label.LIMIT)
        return unit_in(self._said(limit), self.language) if limit is not None else None

    def _places(self, definition: Definition) -> Iterator[_Place]:
        for number, section in enumerate(definition.sections):
            for index, step in enumerate(section.steps):
                words = self._words(_texts(section, step))
                yield _Place(step, f"sections[{number}].steps[{index}]", words)

    def _words(self, texts: Iterable[str | None]) -> frozenset[str]:
        """Return the folded words of texts and their stems."""
        tokens = TokenizedText(self.language, "\n".join(text for text in texts if text)).tokens
        words = [token.text for token in tokens if token.is_word]
        return frozenset(map(fold, words)) | frozenset(map(self.language.any_stem, words))

    def _bounds(self, place: _Place, served: Sequence[Item] | None, expected: str) -> Iterator[LimitAsBound]:
        """Find bounds that come from limits. `served`: items of the step; None: the languages differ."""
        config = place.step.config
        if place.step.type is not StepType.NUMBER or (config.min is None and config.max is None):
            return
        if any(item.has(Label.RANGE) or item.label is Label.RATING for item in served or ()):
            return  # the prompt says what may be entered
        own = [span for item in served or () for span in item.details.get(Label.LIMIT, [])]
        spans = own or [span for span in self.spans if span.label is Label.LIMIT]
        limits = [(span, [abs(one) for one in numbers_of(self._said(span), self.language)]) for span in spans]
        found = ((span, _same_bounds(config, numbers)) for span, numbers in limits)
        span, fields = next((each for each in found if each[1]), (None, ()))
        if not fields and len(own) == 1:
            ((span, numbers),) = limits
            fields = _narrower_bounds(config, numbers)
        if not fields and not own and served:
            fields = _same_bounds(config, self._near_numbers(served))
        if not fields:
            return
        if span is not None and served is not None:
            words = self._said(span)
        else:  # numbers only, which need no translation
            bounds = " ".join(f"{name}. {getattr(config, name):g}" for name in fields)
            words = f"{bounds} {config.unit or ''}".strip()
        limits_read = zip(("min", "max"), limits_of(words, self.language), strict=True)
        values = tuple((name, value) for name, value in limits_read if value is not None)
        yield LimitAsBound(place.step.id, place.path, fields, words, values, expected.format(bounds=words))

    def _near_numbers(self, served: Sequence[Item]) -> list[float]:
        """Return the numbers in the items' sentences that no span accounts for."""
        sentences = {self.sentences.of[item.start] for item in served}
        taken = {index for span in self.spans if span.label in _UNCOUNTED for index in range(span.start, span.end)}
        free = [at for at in range(len(self.text)) if at not in taken and self.sentences.of[at] in sentences]
        return [abs(number) for at in free for number in numbers_of(self.text.tokens[at].text, self.language)]

    def _groundless(
        self, item: Item, mine: Sequence[_Place], places: Sequence[_Place]
    ) -> Iterator[GroundlessCondition]:
        """Find conditions on an item that the prompt asks for unconditionally or on another condition."""
        if not self._may_be_conditional(item):
            yield from (GroundlessCondition(place.step.id, place.path, "") for place in mine)
            return
        sentence = self.sentences.of[item.start]
        conditions = [
            span for span in self.spans if span.label is Label.IF and self.sentences.of[span.start] == sentence
        ]
        if len(conditions) != 1:
            return
        (span,) = conditions
        named = self._between(span.start, span.end)
        if not any(shares_any(named, place.words) for place in places if place.step.condition is None):
            return  # the condition refers to no step
        near = self._between(*self.sentences.bounds(span.start))
        known = {place.step.id: place for place in places}
        for place in mine:
            sources = [known[name] for name in _sources(place.step) if name in known]
            if sources and not any(shares_any(near, source.words) for source in sources):
                yield GroundlessCondition(place.step.id, place.path, self._said(span))

    def _may_be_conditional(self, item: Item) -> bool:
        """Whether a condition or question in the prompt may apply to the item."""
        start, end = self.sentences.bounds(item.start)
        if item.has(Label.OPTIONAL) or self._supposition(start, end, SUPPOSING | _EXCEPTING) is not None:
            return True
        is_question = any(token.text == "?" for token in self.text.tokens[item.end - 1 : item.end + 1])
        line = self.text.tokens[start].line
        for sentences_back in range(1, _REACH + 1):
            if not start:
                break
            start, end = self.sentences.bounds(start - 1)
            is_next = sentences_back == 1
            if is_next and not is_question and self.text.tokens[end - 1].text == "?":
                return True  # `Any damage? Describe it.`
            supposed = self._supposition(start, end, SUPPOSING)
            if supposed is not None and (
                (is_next and self.text.tokens[end - 1].line == line)
                or not any(supposed < other.start < end for other in self.items)  # a heading: `In case of damage:`
            ):
                return True
        return False

    def _supposition(self, start: int, end: int, roles: frozenset[str]) -> int | None:
        """Return the last token in a range that begins a condition."""
        begins = {span.start for span in self.spans if span.label is Label.IF}
        found = (at for at in range(start, end) if at in begins or self.text.roles[at].keys() & roles)
        return max(found, default=None)

    def _between(self, start: int, end: int) -> list[str]:
        """Return the stems of content words in a range."""
        return [
            self.language.any_stem(token.text)
            for index, token in enumerate(self.text.tokens[start:end], start)
            if self.text.carries_meaning(index) and fold(token.text) not in self.language.function_words
        ]


def _texts(section: Section, step: Step) -> Iterator[str | None]:
    config = step.config
    yield from (section.title, step.label, step.hint, config.placeholder, config.true_label, config.false_label)
    yield from (config.low_label, config.high_label, config.unit)
    yield from (option.label for option in config.options or ())


def _same_bounds(config: StepConfig, numbers: Collection[float]) -> tuple[str, ...]:
    """Return the bounds that equal one of the numbers; a minimum of 0 is natural for counts and lengths."""
    low, high = (None if value is None else abs(value) for value in (config.min, config.max))
    return ("min",) * (low in numbers and (low != 0 or config.max in numbers)) + ("max",) * (high in numbers)


def _narrower_bounds(config: StepConfig, numbers: Collection[float]) -> tuple[str, ...]:
    """Return the positive bounds inside the step's own limit."""
    low, high = config.min or 0, config.max or 0
    return ("min",) * (low > min(numbers, default=low)) + ("max",) * (0 < high < max(numbers, default=high))


def _follows_other(step: Step, served: Mapping[str, Sequence[Item]]) -> bool:
    """Whether a step depends on a step that serves no item of the prompt (booleans excluded)."""
    return step.type is not StepType.BOOLEAN and not any(source in served for source in _sources(step))


def _sources(step: Step) -> set[str]:
    return set() if step.condition is None else {each.step for each in comparisons_of(step.condition.when)}
