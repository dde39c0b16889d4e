"""Converts a prompt to a draft, with the source of each step."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from checklist_crds.resources.template_definition import Operator, StepType

from ..draft import CHOICES, Draft, DraftComparison, DraftCondition, DraftSection, DraftStep
from ..language import language_of
from ..locales import Locale
from ..naming import label_of
from .conditions import Trigger, Triggers
from .items import Item, items_of
from .labeller import Labelled, labelled
from .labels import ITEMS, Label, LabelledSpan
from .repairs import TELLING
from .repetition import MOST, things_of
from .request import asking
from .scopes import governed, repeated
from .settings import take_setting
from .steps import SURE, own_words, step_of
from .tokens import TokenizedText
from .unread import unread_words

_MAX_TITLE: Final = 8
_TITLE_ENDS: Final = frozenset(".:;,?!(\n")
_ASKING: Final = frozenset({"request", "checklist", "for", "article", "meta", "greeting", "please"})
_NO_TITLE: Final = frozenset({"we", "greeting", "meta", "if", "question"})
_MOST_REPEATED: Final = 60
"""Maximum steps from repetitions in one prompt."""
_ASKS: Final = 0.4
_ASKS_NOT: Final = 0.1
_CERTAIN_ITEMS: Final = 3
"""An ambiguous prompt with at least this many items asks for a checklist."""
_CERTAIN: Final = 0.95
"""Below this confidence, an item of a messy prompt gets no condition."""
_OF_SEVERAL: Final = {Operator.EQ: Operator.CONTAINS, Operator.NE: Operator.NOT_CONTAINS}
_DOUBTFUL: Final = 0.4
"""Maximum confidence of a step whose condition is only possible."""


@dataclass(slots=True)
class Reading:
    """The draft and the job name from a prompt."""

    draft: Draft
    job: str | None
    unused: list[tuple[int, int]] = field(default_factory=list)
    """Character offsets of unused words."""


class Prompt:
    """A prompt in its language; labels are computed once, when needed."""

    def __init__(self, prompt: str, locale: Locale) -> None:
        self._text = TokenizedText(language_of(locale), prompt)

    @cached_property
    def _labelled(self) -> Labelled:
        return labelled(self._text)

    def asks_for_checklist(self) -> bool:
        """Whether the prompt asks for a checklist."""
        likely = asking(self._text)
        if likely >= _ASKS or likely < _ASKS_NOT:
            return likely >= _ASKS
        spans = self._labelled.spans
        certain = (span for span in spans if span.label in ITEMS - {Label.INSTRUCTION} and span.confidence >= SURE)
        return len(list(certain)) >= _CERTAIN_ITEMS

    def read(self) -> Reading:
        return read_labelled(self._text, self._labelled)


def read_labelled(text: TokenizedText, labelled: Labelled) -> Reading:
    """The draft of a labelled prompt."""
    return _Reader(text, labelled).reading()


def _takes(step: DraftStep, value: object) -> bool:
    """Whether the answer of a step can be compared with a value."""
    if isinstance(value, bool):
        return step.type is StepType.BOOLEAN
    if isinstance(value, str):
        return step.type in CHOICES and value in step.options
    return step.type in {StepType.NUMBER, StepType.RATING}


def _add_hint(step: DraftStep, said: str) -> None:
    step.hint = f"{said} · {step.hint}" if step.hint else said


class _Reader:
    def __init__(self, text: TokenizedText, labelled: Labelled) -> None:
        self.text = text
        self.spans = spans = labelled.spans
        self.outside = labelled.outside
        self.messy = labelled.messy
        self.tables = labelled.tables
        self.sentences = labelled.sentences
        self.items = items_of(text, spans, self.sentences)
        self.steps: dict[Item, DraftStep] = {item: step_of(text, item, messy=self.messy) for item in self.items}
        self.name = self._best(Label.NAME)

    def reading(self) -> Reading:
        draft = Draft(locale=self.text.language.locale)
        self._conditions()
        placed: list[tuple[int, DraftStep, LabelledSpan | None]] = [
            (item.start, step, item.section) for item, step in self.steps.items()
        ]
        unread, unused = unread_words(self.text, self.spans, self.outside, self.sentences, messy=self.messy)
        unread = [part for part in unread if part[0] not in self.tables]
        for start, end, confidence in unread:
            step = own_words(self.text, start, end, confidence)
            placed.append((start, step, self._section_at(start)))
        placed.sort(key=lambda place: place[0])
        if self.messy:
            for start, step, _ in placed:
                if start not in self.tables or step.confidence < _CERTAIN:
                    step.required = False
        copies = self._repetitions(placed)
        sections: dict[int, DraftSection] = {}
        for _, step, section in placed:
            key = section.start if section else -1
            title = label_of(self.text.slice(section.start, section.end)) if section else None
            made = sections.setdefault(key, DraftSection(title))
            made.steps += copies.get(id(step), [step])
        draft.sections = list(sections.values())
        draft.name = self._title()
        for span in self.spans:
            if span.label is Label.SETTING:
                take_setting(self.text, span, draft)
        job = self.text.slice(self.name.start, self.name.end) if self.name else None
        tokens = self.text.tokens
        return Reading(draft, job, [(tokens[start].start, tokens[end - 1].end) for start, end in unused])

    def _title(self) -> str | None:
        """The name in the prompt, else the words before the first item, without those of the request."""
        if self.name is not None:
            return label_of(self.text.slice(self.name.start, self.name.end))
        end = min([item.start for item in self.items] + list(self.tables), default=0)
        stop = next((at for at in range(end) if self.text.tokens[at].text in _TITLE_ENDS), end)
        start = 0
        while start < stop:
            lengths = [length for role, length in self.text.roles[start].items() if role in _ASKING]
            if not lengths:
                break
            start += max(lengths)
        words = [at for at in range(start, stop) if self.text.tokens[at].is_word]
        telling = any(map(self.text.carries_meaning, words))
        if not telling or len(words) > _MAX_TITLE or self.text.any_of(_NO_TITLE, start, stop):
            return None
        return label_of(self.text.slice(start, stop))

    def _best(self, label: Label) -> LabelledSpan | None:
        found = [span for span in self.spans if span.label is label]
        return max(found, key=lambda span: (round(span.confidence, 1), -span.start), default=None)

    def _section_at(self, start: int) -> LabelledSpan | None:
        before = [span for span in self.spans if span.label is Label.SECTION and span.start <= start]
        return before[-1] if before else None

    # -- conditions ------------------------------------------------------------------------------------------------

    def _conditions(self) -> None:
        triggers = Triggers(self.text, self.items, self.sentences)
        breaks = [span for span in self.spans if span.label in {Label.IF, Label.SECTION}]
        for span in self.spans:
            if span.label is not Label.IF:
                continue
            trigger = triggers.of(span)
            if self.messy and trigger is not None and not self._is_right_before(span, trigger):
                trigger = None
            sure, possible = governed(self.text, span, self.items, breaks, self.sentences)
            condition = self._condition(trigger, sure)
            words = self.text.slice(span.start, span.end)
            for item in sure:
                step = self.steps[item]
                understood = not self.messy or item.confidence >= _CERTAIN
                if condition is not None and step.condition is None and understood:
                    step.condition = condition
                    if len(self.text.stems(item.start, item.end)) < TELLING:  # `photo`: of what?
                        _add_hint(step, condition.comparisons[0].step.label)
                else:
                    self._depends(step, words)
            for item in possible:
                self._depends(self.steps[item], words)

    def _is_right_before(self, span: LabelledSpan, trigger: Trigger) -> bool:
        """Whether a condition directly follows the only item that it refers to, which is certain."""
        last = next((item for item in reversed(self.items) if item.end <= span.start), None)
        return all(test.item is last and test.item.confidence >= _CERTAIN for test in trigger.tests)

    def _condition(self, trigger: Trigger | None, sure: list[Item]) -> DraftCondition | None:
        if trigger is None or any(test.item in sure for test in trigger.tests):
            return None
        if any(test.item.start > item.start for test in trigger.tests for item in sure):
            return None
        comparisons = []
        for test in trigger.tests:
            source = self.steps[test.item]
            if isinstance(test.value, bool) and test.item.label is Label.CHECK and source.type is StepType.TEXT:
                source.type, source.photo = StepType.BOOLEAN, None  # an item referred to with yes or no is a check
                source.confidence = max(source.confidence, SURE)
            if not _takes(source, test.value):
                return None
            several = source.type is StepType.MULTI_CHOICE
            comparisons.append(DraftComparison(source, _OF_SEVERAL[test.op] if several else test.op, test.value))
        return DraftCondition(comparisons, any_of=len(comparisons) > 1)

    def _depends(self, step: DraftStep, words: str) -> None:
        """Add an uncertain condition to the hint, and make the step optional."""
        step.required = False
        said = label_of(words)
        step.confidence = min(step.confidence, _DOUBTFUL)
        if said:
            _add_hint(step, said)

    # -- repetition ------------------------------------------------------------------------------------------------

    def _repetitions(self, placed: list[tuple[int, DraftStep, LabelledSpan | None]]) -> dict[int, list[DraftStep]]:
        """The copies of each repeated step; what depends on one is repeated with it."""
        copies: dict[int, list[DraftStep]] = {}
        made = 0
        for span in self.spans:
            if span.label is not Label.EACH:
                continue
            owner = next((item for item in self.items if span in item.details.get(Label.EACH, ())), None)
            items = repeated(self.text, span, self.items, owner, spans=self.spans, sentences=self.sentences)
            group = {id(self.steps[item]) for item in items}
            for _, step, _ in placed:
                if step.condition and any(id(one.step) in group for one in step.condition.comparisons):
                    group.add(id(step))
            steps = [step for _, step, _ in placed if id(step) in group and id(step) not in copies]
            things = things_of(self.text, span.start, span.end)
            if not things or len(things) > MOST or made + len(things) * len(steps) > _MOST_REPEATED:
                for step in steps:
                    _add_hint(step, label_of(self.text.slice(span.start, span.end)))
                    if things:
                        _add_hint(step, " / ".join(things))
                continue
            made += len(things) * len(steps)
            for thing in things:
                own: dict[int, DraftStep] = {}
                for step in steps:
                    own[id(step)] = copy = replace(step, label=f"{step.label} – {thing}", options=[*step.options])
                    if step.condition is not None:
                        same = [
                            replace(one, step=own.get(id(one.step), one.step)) for one in step.condition.comparisons
                        ]
                        copy.condition = replace(step.condition, comparisons=same)
                    copies.setdefault(id(step), []).append(copy)
        return copies
