"""Reading sentence by sentence: what a sentence says becomes steps, settings, parts and conditions of the draft."""

from dataclasses import dataclass, field
from typing import Final

from checklist_crds.template_types import MAX_SECTIONS, MAX_STEPS, StepType

from ..draft import Draft, DraftCondition, DraftSection, DraftStep
from ..language import Language
from ..naming import label_of, visible
from .clauses import clauses_of
from .conditional import Conditional, conditional_of, otherwise_of
from .list_parts import aside_in_list
from .places import announced_part, parts_before_colons, placed_part, titled_part
from .rated import rated_things, share_grades
from .remarks import enriches
from .settings import without_setting
from .source_numbers import by_number
from .sources import REACH, negated, option_condition, plain_answer, source_of
from .steps import is_thing, steps_of
from .tasks import is_task
from .wishes import Notes, take_wish
from .words import Span, Words

_FEW_WORDS: Final = 3
_MAX_CLAUSES: Final = 1_000
"""What comes after so many is not read any more: most of it is what was said before."""
_MAX_CASE: Final = 7
_BEYOND: Final = ("outside", "too_high", "too_low", "above", "below", "at_least", "at_most")


@dataclass(slots=True)
class State:
    """What was read so far."""

    draft: Draft
    notes: Notes
    job: list[str] = field(default_factory=list)
    sentences: int = 0
    steps: int = 0
    sections: int = 0
    """Those that have a step, without the one that is open."""
    clauses: int = 0
    items: int = 0
    condition: DraftCondition | None = None
    """What the sentence before supposed, for an `otherwise` of its own."""
    parent: DraftCondition | None = None
    """What all items below the one at `parent_level` depend on."""
    parent_level: int = 0

    def is_full(self) -> bool:
        """Whether a template holds no more: what is said from here on would be thrown away."""
        return self.steps >= MAX_STEPS or self.sections >= MAX_SECTIONS


class Flow:
    """The draft, while sentences are read into it one after the other."""

    def __init__(self, language: Language) -> None:
        self.language = language
        draft = Draft(locale=language.locale)
        self.state = State(draft, Notes(draft))
        self.items = 0
        self._spans: dict[str, Span] = {}

    def span(self, text: str) -> Span:
        """The words of a text. Lines that are repeated are the same words."""
        if text not in self._spans:
            self._spans[text] = Words(self.language, text).span()
        return self._spans[text]

    def forget(self) -> None:
        """Lets go of what rules said; they hold each other, and would wait for the garbage collector to find them."""
        for span in self._spans.values():
            span.words.forget()

    def section(self, title: str) -> None:
        """Begins a section; what is added from now on stands in it."""
        sections = self.state.draft.sections
        self.state.sections += bool(sections) and any(visible(step.label) for step in sections[-1].steps)
        sections.append(DraftSection(label_of(title)))

    def add(self, steps: list[DraftStep], *, recent: bool = True) -> None:
        """Adds steps to the last section; `recent`: `it` and `each of them` may mean them."""
        draft = self.state.draft
        if self.state.is_full() or not steps or self._answers(steps[0]):
            return
        self.state.steps += len(steps)
        for step in steps:
            if step.condition is None:
                step.condition = self.state.parent
                self.state.condition = None  # what was supposed before is not what `otherwise` means now
        if not draft.sections:
            draft.sections.append(DraftSection(None))
        draft.sections[-1].steps += steps
        if recent:
            self.state.notes.recent += steps

    def _answers(self, step: DraftStep) -> bool:
        """`Which defects are there? Several answers: ...`: the options are those of the question before."""
        if step.type not in {StepType.CHOICE, StepType.MULTI_CHOICE}:
            return False
        asked = self.state.notes.recent[-1:] or self.state.draft.last_steps(1)
        if not asked or not asked[0].label.endswith("?"):
            return False
        label = self.span(step.label)
        if max(label.at("several"), label.at("choose")) < len(label) or asked[0].options:
            return False
        asked[0].type, asked[0].options, asked[0].multiline = step.type, step.options, None
        return True

    def _answers_question(self, span: Span) -> bool:
        """`¿Qué bebidas hay? Agua, zumo, té.`: what is listed behind a question are its answers."""
        asked = self.state.draft.last_steps(1)
        if not asked or asked[0].type is not StepType.TEXT or not asked[0].label.endswith("?"):
            return False
        if not self.span(asked[0].label.lstrip("¿ ")).at("which_several"):
            return False
        answers = [clause.span.stripped(" .,;") for clause in clauses_of(span.stripped(" .")) if clause.verb is None]
        plain = all(0 < len(one) <= _FEW_WORDS and all(token.is_word for token in one) for one in answers)
        if len(answers) < 2 or not plain or is_task(span) or span.has("be", "photo", "signature", "remarks"):
            return False
        asked[0].type, asked[0].multiline = StepType.MULTI_CHOICE, None
        asked[0].options = [label_of(one.text) for one in answers]
        return True

    def body(self, span: Span) -> None:
        """Reads a sentence: parts with titles or places of their own, and what each of them lists."""
        if (announced := announced_part(span)) is not None:
            self.section(announced.text)
            return
        if (length := span.at("and")) and len(span) > length + 1 and span[length + 1].text == ":":
            span = span.sub(length)  # `And outside: ...`
        for piece in parts_before_colons(span):
            if self.state.is_full():
                return
            part = titled_part(piece) or placed_part(piece)
            if part is not None:
                self.section(part.title.text)
            self.listed(piece if part is None else part.rest)

    def _name_by(self, times: Span | None) -> None:
        """`Before the trip the driver has to ...`: what it is for, when nothing else says so."""
        if times is None or self.state.draft.name is not None or self.state.steps:
            return
        times = times.sub(times.at("section_break"))
        self.state.draft.name = label_of(times.sub(times.at("article")).text)

    def listed(self, span: Span) -> None:
        """Reads what a sentence lists into the section that is open."""
        setting = without_setting(span)
        span = setting.rest
        self._name_by(setting.times)
        if not len(span.stripped()):
            return
        if self._answers_question(span):
            return
        if rated := rated_things(span):
            self.add(rated)
            return
        if take_wish(span, self.state.notes):
            return
        while (aside := aside_in_list(span)) is not None:
            self.listed(aside.before)
            self._consequence(
                aside.then,
                plain_answer(self.state.draft.last_steps(REACH), self.state.notes.recent[-1:], yes=not aside.negated),
            )
            span = aside.rest
            if not len(span):
                return
        if self.depends(span) or enriches(span, self.state.notes.recent):
            return
        recent: list[DraftStep] = []
        before = self.state.notes.recent
        for clause in clauses_of(span):
            if self._is_enough():
                break
            self.state.notes.recent = recent or before
            said = clause.span.first()
            if clause.verb is None and take_wish(said, self.state.notes):
                continue
            if self.depends(said):
                continue
            steps = steps_of(clause.span, clause.verb)
            if setting.noted and len(steps) == 1 and is_thing(clause.span, steps[0]):
                steps[0].type = StepType.TEXT
            self.add(steps, recent=False)
            recent += steps
        share_grades(recent, span)
        self.state.notes.recent = recent or before

    def _is_enough(self) -> bool:
        """Whether a template holds no more, or so much was read that the rest can hardly say anything new."""
        self.state.clauses += 1
        return self.state.clauses > _MAX_CLAUSES or self.state.is_full()

    def depends(self, span: Span) -> bool:
        """Whether the sentence says when something applies; if so, it has been read."""
        state = self.state
        if (rest := otherwise_of(span)) is not None:
            supposed = state.condition
            recent = [] if span.any_at(("if", "if_not")) else state.notes.recent
            opposite = plain_answer([], recent, yes=False) if supposed is None else negated(supposed)
            if opposite is not None:  # `drains clear, vacuum works, otherwise call maintenance`
                self._consequence(rest, opposite)
                return True
        found = conditional_of(span)
        if found is None:
            return self._is_answer(span) or self._is_beyond(span) or self._is_case(span)
        if len(found.before):
            state.notes.recent = []
            self.listed(found.before)
        condition = self._condition(found)
        if condition is None and (found.certain or not len(found.supposed)):
            return False
        self._consequence(found.then, condition)
        state.condition = condition
        if len(found.otherwise) and condition is not None:
            self._consequence(found.otherwise, negated(condition))
        return True

    def _is_answer(self, span: Span) -> bool:
        """`Leaks? Then call the plumber.`: what begins with `then` behind a question without a verb follows from it."""
        length, recent = span.at("then"), self.state.notes.recent
        asked = recent[-1] if recent else None
        if not length or asked is None or asked.type is not StepType.BOOLEAN or not asked.label.endswith("?"):
            return False
        question = self.span(asked.label.lstrip("¿"))
        if question.at("question") and not question.has("bad") and not question.at("there"):
            return False
        self.state.condition = plain_answer([], [asked], yes=True)
        self._consequence(span.sub(length).stripped(",: "), self.state.condition)
        return True

    def _is_beyond(self, span: Span) -> bool:
        """`Out of range: call the chemist`, `above 8 °C: ...`: a part of what was measured before."""
        colon = span.sign(":", 1) if span.any_at(_BEYOND) else None
        if colon is None or colon >= min(_MAX_CASE, len(span) - 1):
            return False
        condition = by_number(span.sub(0, colon), self.state.draft.last_steps(REACH)[::-1])
        if condition is None:
            return False
        self._consequence(span.sub(colon + 1).stripped(), condition)
        self.state.condition = condition
        return True

    def _is_case(self, span: Span) -> bool:
        """`For a collision ask for ...`: the case is an option of what was chosen before."""
        length = span.at("for_case")
        if not length:
            return False
        for end in range(length + 1, min(length + 5, len(span))):
            rest = span.sub(end + (span[end].text in ",:"))
            if not len(rest) or not is_task(rest):
                continue
            condition = option_condition(span.sub(length, end), self.state.draft.last_steps(REACH))
            if condition is not None:
                self._consequence(rest, condition)
                self.state.condition = condition
            return condition is not None
        return False

    def _condition(self, found: Conditional) -> DraftCondition | None:
        state = self.state
        steps = state.draft.last_steps(REACH)
        if not len(found.supposed):
            return plain_answer(steps, state.notes.recent, yes=not found.negated)
        source = source_of(found.supposed, steps, state.notes.recent)
        if source.question is not None:
            if not source.question.label or not found.certain:
                return None  # `when the guests have left` is a moment, and nothing to ask for
            self.add([source.question], recent=False)
        return negated(source.condition) if found.negated else source.condition

    def _consequence(self, span: Span, condition: DraftCondition | None) -> None:
        for clause in clauses_of(span, evidence=False):
            if self._is_enough():
                break
            for step in steps_of(clause.span, clause.verb):
                if step.condition is None:
                    step.condition = condition
                self.add([step], recent=False)
