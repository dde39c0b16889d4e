"""The reader: a prompt becomes a draft, and the job that it names."""

from dataclasses import dataclass
from typing import Final

from checklist_crds.template_types import StepType

from ..draft import Draft
from ..language import Language, language_of
from ..locales import Locale
from ..naming import label_of
from .conditional import conditional_of
from .flow import Flow
from .intro import Intro, intro_of, title_of
from .items import (
    has_children,
    is_answerable,
    is_header,
    is_part_or_choice,
    item_clauses,
    measures_each,
    row_text,
    says_steps,
    title_items,
    unwrapped,
)
from .known_jobs import known_job_of
from .list_parts import slashes_as_commas
from .outline import Block, Kind, clean, outline
from .places import Part, titled_part
from .quantities import bounds_in
from .remarks import enriches, tells, without_closing, without_greeting
from .sentences import sentences_of
from .steps import steps_of, without_lead
from .tasks import is_task, task_at
from .third_person import instructions_of
from .title_parts import title_with_occasion
from .unpunctuated import punctuated
from .wishes import take_wish
from .words import Span

_FEW_WORDS: Final = 2
_LONG: Final = 6
_MANY_ITEMS: Final = 5
_MAX_TITLE_WORDS: Final = 8
_FIRST_SENTENCES: Final = 3
"""What the checklist is for is said in its first sentences."""


@dataclass(slots=True)
class Reading:
    """What a prompt says. `job` is what it says the checklist is for; `draft` holds the steps that it names itself."""

    draft: Draft
    job: str | None
    listed: bool
    """Whether the prompt is a list of steps, so that nothing has to be added."""


class _Reader(Flow):
    headed = False
    """Whether a heading stands above the lines that are read: what they name is no section of its own."""

    def __init__(self, language: Language) -> None:
        super().__init__(language)
        self._instructions: dict[Span, Span] = {}
        """What `_told` made of sentences."""

    def read(self, blocks: list[Block]) -> None:
        self.items = sum(block.kind in {Kind.ITEM, Kind.ROW} for block in blocks)
        titles = title_items(blocks)
        headings = sum(block.kind is Kind.HEADING for block in blocks)
        for index, block in enumerate(blocks):
            if self.state.is_full():
                return
            following = blocks[index + 1] if index + 1 < len(blocks) else None
            if self.state.parent is not None and (
                block.kind is not Kind.ITEM or block.level <= self.state.parent_level
            ):
                self.state.parent = None
            match block.kind:
                case Kind.HEADING:
                    self._heading(block.text, first=index == 0, only=headings == 1, following=following)
                case Kind.TEXT:
                    self._text(block.text, heads=blocks if index == 0 else [])
                case Kind.ITEM if index in titles or (has_children(blocks, index) and self._supposes(block)):
                    self._parent(block)
                case Kind.ITEM if index == 0 and block.plain and self._is_title(block.text, blocks):
                    pass
                case Kind.ROW if following is not None and is_header(blocks, index):
                    pass
                case _:
                    self._item(block)

    def _text(self, text: str, *, heads: list[Block]) -> None:
        """Reads running text; where it stands above `heads`, it may only say what they do."""
        sentences = self._sentences(text)
        told = [self._told(sentence, first=True) for sentence in sentences[:1]]
        opens = self.state.sentences == 0 and self._opens(told, sentences[1:])
        if not opens and not (heads and len(sentences) == 1 and self._heads(told[0], heads)):
            for sentence in told:
                self._sentence(sentence)
        for sentence in sentences[1:]:
            if self.state.is_full():
                return
            self._sentence(self._told(sentence))

    def _heading(self, text: str, *, first: bool, only: bool, following: Block | None) -> None:
        span = self.span(text)
        if take_wish(span, self.state.notes):
            return
        wish = (intro_of(span) or title_of(span, alone=True)) if self.state.sentences == 0 else None
        self.state.sentences += 1
        if wish is not None:
            self._job(wish)
            if says_steps(wish.rest):
                self.body(wish.rest)
            return
        if text.rstrip().endswith(":") and is_task(span) and len(span) > 7 and following is not None:
            text = text.rstrip(": ")
        if (
            first
            and (not only or (following is not None and following.kind is Kind.HEADING))
            and following is not None
            and following.kind is not Kind.ITEM
        ):
            self.state.draft.name = label_of(text)
            self.state.job.append(text.strip(": "))
            return
        if first and only:
            self.state.job.append(text.strip(": "))
            self.state.draft.name = label_of(text)
        self.section(text)
        self.headed = True

    def _sentences(self, text: str) -> list[Span]:
        """The sentences of running text, each as `_told` has still to turn it; a greeting is none."""
        span = self.span(text)
        if " / " in text:
            span = self.span(slashes_as_commas(span))
        if self.state.sentences == 0:
            span = without_greeting(span)
        return sentences_of(span)

    def _told(self, sentence: Span, *, first: bool = False) -> Span:
        """A sentence as instructions, with the commas that were left out. `first`: of all that is said."""
        sentence = sentence.first()
        if sentence not in self._instructions:
            told = instructions_of(sentence)
            if told is not None and told.occasion and first and not (self.state.sentences or self.state.draft.name):
                self.state.draft.name = label_of(told.occasion)
            plain = sentence if told is None else self.span(told.text)
            said = punctuated(plain)
            self._instructions[sentence] = plain if said is None else self.span(said)
        return self._instructions[sentence]

    def _heads(self, sentence: Span, blocks: list[Block]) -> bool:
        """`Inspect the conveyor belt weekly.` in front of a list says what the list does."""
        listed = all(block.kind in {Kind.ITEM, Kind.ROW} for block in blocks[1:]) and len(blocks) > _FEW_WORDS + 1
        if not listed or len(sentence) > _MAX_TITLE_WORDS + 2 or "?" in sentence.text or bounds_in(sentence):
            return False
        if intro_of(sentence) is not None or conditional_of(sentence) is not None or not is_task(sentence):
            return False
        self.state.draft.name = label_of(sentence.text)
        self.state.job.append(sentence.text)
        self.state.sentences += 1
        return True

    def _opens(self, told: list[Span], others: list[Span]) -> bool:
        """Whether the first of some sentences is a title: some words that say nothing to answer, before longer ones."""
        first = told[0].stripped(" .!") if told else None
        if (
            first is None
            or not 0 < len(first) <= _FEW_WORDS + 2
            or is_answerable(first)
            or first.has("meta")
            or not others
            or any(not token.is_word for token in first)
            or first.has("place")
        ):
            return False
        if not any(len(sentence) > _LONG for sentence in (told[0], *map(self._told, others))):
            return False
        self.state.draft.name = label_of(first.text)
        self.state.job.append(first.text)
        self.state.sentences += 1
        return True

    def _is_title(self, text: str, blocks: list[Block]) -> bool:
        """Whether the first of some lines names what the others are about."""
        span = self.span(text)
        wish = intro_of(span) or title_of(span, alone=True)
        if wish is not None:
            self._job(wish)
            if says_steps(wish.rest):
                self.body(wish.rest)
        elif not is_answerable(span) and len(span) <= _MAX_TITLE_WORDS:
            others = [self.span(block.text) for block in blocks[1:13] if block.kind is Kind.ITEM]
            if sum(map(is_answerable, others)) * 2 < len(others) or len(others) < 2:
                return False
            self.state.draft.name = label_of(text)
            self.state.job.append(text)
        else:
            return False
        self.state.sentences += 1
        return True

    def _supposes(self, block: Block) -> bool:
        return bool(self.span(block.text).any_at(("if", "only_if", "unless", "if_not", "if_yes")))

    def _parent(self, block: Block) -> None:
        """An item with items below it: their title, what they depend on, or a question of its own."""
        span = self.span(block.text)
        if span.any_at(("if", "only_if", "unless", "if_not", "if_yes")):
            supposed = conditional_of(self.span(block.text.rstrip(" :") + ", x"))
            if supposed is not None:
                self.state.parent_level = block.level
                self.state.parent = self._condition(supposed)
        elif block.text.endswith("?") or (is_task(span) and block.level > 0):
            self._item(block)
        else:
            self.section(block.text)

    def _item(self, block: Block) -> None:
        """One line of a list is one thing, whatever commas it has; what it says in further sentences belongs to it."""
        self.state.items += 1
        self.state.sentences += 1
        self.state.condition = None
        text = row_text(self.language, block.cells) if block.kind is Kind.ROW else block.text
        for number, said in enumerate(sentences_of(self.span(text))):
            sentence = said.first()
            if take_wish(sentence, self.state.notes):
                continue
            if number == 0:
                self.state.notes.recent = []
            if self.depends(unwrapped(sentence)) or enriches(sentence, self.state.notes.recent):
                continue
            part = titled_part(sentence)
            if part is not None and part.rest.sign(",;") is not None:
                placed = part.title.has("place", "section_word")
                if (placed and self.headed) or measures_each(part.rest):
                    self._facets(part)
                    continue
                if placed:
                    self.section(part.title.text)
                    self.listed(part.rest)
                    continue
            for clause in item_clauses(unwrapped(sentence)):
                self._item_part(clause)

    def _facets(self, part: Part) -> None:
        """`Proofer: temperature 32-35 °C, humidity 75-80 %`: several things to say about one, each with its name."""
        before = len(self.state.draft.steps())
        self.listed(part.rest)
        for step in self.state.draft.steps()[before:]:
            step.label = label_of(f"{part.title.text}: {step.label}")

    def _item_part(self, span: Span) -> None:
        """A photo in an item is evidence of what the item says before it: `Handle locked, photo of the handle`."""
        steps = steps_of(span)
        recent = self.state.notes.recent
        if len(steps) == 1 and steps[0].type is StepType.PHOTO and recent and not task_at(without_lead(span))[0]:
            before = recent[-1]
            if before.type not in {StepType.PHOTO, StepType.INSTRUCTION, StepType.SIGNATURE} and before.photo is None:
                most = steps[0].maximum
                before.photo = (int(steps[0].minimum or 1), None if most is None else int(most))
                return
        self.add(steps)

    def _sentence(self, span: Span) -> None:
        state = self.state
        span = span.first()
        if state.sentences < _FIRST_SENTENCES and not state.job and not state.steps:
            first = state.sentences == 0
            wish = (
                (known_job_of(span) if first and not is_part_or_choice(span) else None)
                or intro_of(span)
                or (title_with_occasion(span) if first else None)
                or title_of(span, alone=first)
            )
            if wish is not None and not wish.job.text and self.items >= _MANY_ITEMS:
                return  # `voici la fiche que nous utilisons, ...` above the list itself
            if wish is not None:
                state.sentences += 1
                self._job(wish)
                if len(wish.rest.stripped()):
                    self.body(wish.rest)
                return
        state.sentences += 1
        if tells(span, among_items=self.items >= _MANY_ITEMS):
            said = span.text.strip()
            state.draft.description = f"{state.draft.description} {said}" if state.draft.description else said
            return
        self.body(span)

    def _job(self, wish: Intro) -> None:
        if wish.job.text:
            self.state.job.append(wish.job.text)
        if wish.name and self.state.draft.name is None:
            self.state.draft.name = label_of(wish.name)


def read(prompt: str, locale: Locale) -> Reading:
    """What the prompt says, read as a text of this language. Never raises."""
    language = language_of(locale)
    reader = _Reader(language)
    reader.read(outline(without_closing(clean(prompt), language)))
    state = reader.state
    draft = state.draft
    draft.sections = [section for section in draft.sections if section.steps]
    if state.notes.all_required is not None:
        for step in draft.steps():
            if step.required is None:
                step.required = state.notes.all_required
    steps = [step for step in draft.steps() if step.type is not StepType.INSTRUCTION]
    reader.forget()
    job = " ".join(state.job) or None
    listed = state.items >= 3 or len(steps) >= 5
    return Reading(draft, job, listed)
