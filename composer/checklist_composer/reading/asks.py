"""A clause on its way to a step: its words, the verb that it shares, and what is done."""

from dataclasses import dataclass
from typing import Final

from checklist_crds.template_types import StepType

from ..draft import DraftStep
from ..naming import label_of
from .last_verbs import last_verb
from .tasks import task_at, verb_kind
from .words import Span, remembered

ASKING: Final = ("confirm", "check", "measure", "record", "describe", "count", "rate", "choose", "scan")


@dataclass(slots=True)
class Ask:
    """`verb` is shared with the clause before (`check a, b and c`); `task` the kind of doing, own or shared, or ``."""

    span: Span
    verb: Span | None
    task: str

    def label(self, span: Span | None = None) -> str:
        """The words as a label, with the shared verb where the language has its verbs."""
        text = (self.span if span is None else span).text
        if self.verb is not None and len(self.verb):
            inside = self.verb_is_last and self.verb.index[-1] < self.span.index[-1]
            if inside and span is None:  # `Paletten stapeln (höchstens 3)`
                return label_of(Span(self.span.words, sorted((*self.span.index, *self.verb.index))).text)
            last = self.span.words.language.verb_last and self.verb_is_last
            text = f"{text} {self.verb.text}" if last else f"{self.verb.text} {text}"
        return label_of(text)

    @property
    def verb_is_last(self) -> bool:
        """Whether the shared verb stands behind what it is shared by: `Türen, Fenster und Licht prüfen`."""
        return bool(
            self.verb is not None and len(self.verb) and len(self.span) and self.verb.index[0] > self.span.index[0]
        )

    def step(self, type_: StepType, label: str = "", **fields: object) -> DraftStep:
        """A step of this clause."""
        subject = "" if "subject" in fields else subject_of(self.span).text
        step = DraftStep(label=label or self.label(), type=type_, subject=subject)
        for name, value in fields.items():
            setattr(step, name, value)
        return step


def ask_of(span: Span, verb: Span | None) -> Ask:
    """The clause with its own task, else with the one that it shares."""
    own = task_at(span)[0]
    if own:
        return Ask(span, None, own)
    if verb is None and (found := last_verb(span)) is not None:
        thing, verb = found
        # Photos and signatures are known by noun and verb together.
        whole = verb.any_at(("sign", "photograph")) or thing.has("photo")
        return Ask(span, None, _kind(verb)) if whole else Ask(thing, verb, _kind(verb))
    return Ask(span, verb, "" if verb is None else _kind(verb))


def _kind(verb: Span) -> str:
    """What kind of doing a verb is that stands alone; of one that no table has, only that it is something to do."""
    return task_at(verb)[0] or verb_kind(verb) or "act"


@remembered
def subject_of(span: Span) -> Span:
    """The thing: without the verb and the article at the beginning, or the verb at the end."""
    moved = True
    while moved and len(span) > 1:
        moved = False
        task, length = task_at(span)
        length = length if task in ASKING else span.at("article")
        if 0 < length < len(span):
            span, moved = span.sub(length).stripped(), True
        elif span.words.language.verb_last and task_at(span, len(span) - 1)[0] in ASKING:
            span, moved = span.sub(0, len(span) - 1), True
    return span
