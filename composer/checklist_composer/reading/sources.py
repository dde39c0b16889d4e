"""Which step a condition looks at, and which of its answers it waits for.

`if it is damaged` looks at the question or check that was named before; when there is none, it becomes a question.
"""

from checklist_crds.condition_types import MAX_COMPARISONS, Operator
from checklist_crds.template_types import StepType

from ..draft import DraftComparison, DraftCondition, DraftStep
from ..language import fold
from .contraries import alike, is_contrary, is_other_state, said_again
from .questions import question_of
from .source_numbers import by_count, by_new_number, by_number
from .supposed import Source, content_of, content_of_label, words_of
from .tasks import is_task
from .words import Span

REACH = 30
"""Of so many steps before, one may be meant."""
_NEGATED = {
    Operator.EQ: Operator.NE,
    Operator.NE: Operator.EQ,
    Operator.GT: Operator.LTE,
    Operator.GTE: Operator.LT,
    Operator.LT: Operator.GTE,
    Operator.LTE: Operator.GT,
    Operator.IN: Operator.NOT_IN,
    Operator.NOT_IN: Operator.IN,
    Operator.CONTAINS: Operator.NOT_CONTAINS,
    Operator.NOT_CONTAINS: Operator.CONTAINS,
}


def negated(condition: DraftCondition) -> DraftCondition:
    """The opposite: of all, that one does not hold, and the other way around."""
    comparisons = []
    for comparison in condition.comparisons:
        if isinstance(comparison.value, bool):
            comparisons.append(DraftComparison(comparison.step, comparison.op, not comparison.value))
        else:
            comparisons.append(DraftComparison(comparison.step, _NEGATED[comparison.op], comparison.value))
    return DraftCondition(comparisons, any_of=len(comparisons) > 1 and not condition.any_of)


def source_of(supposed: Span, steps: list[DraftStep], recent: list[DraftStep]) -> Source:
    """The condition that a supposition means; `recent` are the steps of the sentence before, `steps` all of them."""
    near = [step for step in reversed(steps[-REACH:]) if step.type is not StepType.INSTRUCTION]
    for rule in (by_number, by_count, _by_option):
        if condition := rule(supposed, near):
            return Source(condition)
    if condition := _by_answer(supposed, near, recent):
        return Source(condition)
    if found := by_new_number(supposed):
        return found
    subject = recent[-1].subject if recent else ""
    label = question_of(_without_not(supposed), subject)
    question = DraftStep(label, StepType.BOOLEAN, subject=supposed.text)
    says_no = bool(supposed.find("not"))
    return Source(DraftCondition([DraftComparison(question, Operator.EQ, not says_no)]), question)


def plain_answer(steps: list[DraftStep], recent: list[DraftStep], *, yes: bool) -> DraftCondition | None:
    """`if so`, `if not`: the answer to what was asked last."""
    candidates = [step for step in recent if step.type is StepType.BOOLEAN]
    if not candidates:
        candidates = [step for step in reversed(steps[-REACH:]) if step.type is StepType.BOOLEAN][:1]
    if not candidates:
        return None
    if candidates[-1].label.endswith("?"):
        candidates = candidates[-1:]
    comparisons = [DraftComparison(step, Operator.EQ, yes) for step in candidates[:MAX_COMPARISONS]]
    return DraftCondition(comparisons, any_of=len(comparisons) > 1)


def _without_not(span: Span) -> Span:
    found = span.find("not")
    return span.without(*found) if found and len(span) > 1 else span


def _by_option(supposed: Span, near: list[DraftStep]) -> DraftCondition | None:
    said = {supposed.words.language.any_stem(token.text) for token in supposed if token.is_word or token.is_number}
    for step in near:
        if step.type is StepType.BOOLEAN and (named := _by_named_answer(supposed, step)) is not None:
            return named
        if step.type not in {StepType.CHOICE, StepType.MULTI_CHOICE}:
            continue
        hits = []
        for option in step.options:
            words = words_of(option, supposed)
            stems = {
                supposed.words.language.any_stem(token.text) for token in words if token.is_word or token.is_number
            }
            if stems and all(stem in said or any(alike(stem, word) for word in said) for stem in stems):
                hits.append((option, len(stems)))
        longest = max((length for _, length in hits), default=0)
        chosen = [
            option
            for option, length in hits
            if length == longest or not _is_part(option, [o for o, _ in hits if o != option])
        ]
        if not chosen:
            continue
        no = supposed.has("not") and not any(words_of(option, supposed).has("not") for option in chosen)
        if step.type is StepType.MULTI_CHOICE:
            op = Operator.NOT_CONTAINS if no else Operator.CONTAINS
            return DraftCondition(
                [DraftComparison(step, op, option) for option in chosen[:MAX_COMPARISONS]], any_of=len(chosen) > 1
            )
        if len(chosen) == 1:
            return DraftCondition([DraftComparison(step, Operator.NE if no else Operator.EQ, chosen[0])])
        return DraftCondition([DraftComparison(step, Operator.NOT_IN if no else Operator.IN, chosen)])
    return None


def _by_named_answer(supposed: Span, step: DraftStep) -> DraftCondition | None:
    """`(passed / failed)` gives yes and no names of their own, by which a supposition may call them."""
    if not step.true_label or not step.false_label:
        return None
    yes, no = words_of(step.true_label, supposed), words_of(step.false_label, supposed)
    about = content_of(supposed)
    if not about or not about <= content_of(yes) | content_of(no):
        return None
    if content_of(yes) == content_of(no):
        return DraftCondition([DraftComparison(step, Operator.EQ, not supposed.has("not"))])
    return DraftCondition([DraftComparison(step, Operator.EQ, about <= content_of(yes))])


def option_condition(supposed: Span, steps: list[DraftStep]) -> DraftCondition | None:
    """The condition that an option was chosen which these words name, or None."""
    return _by_option(supposed, list(reversed(steps[-REACH:])))


def _is_part(option: str, others: list[str]) -> bool:
    return any(option.casefold() in other.casefold() for other in others)


def _by_answer(supposed: Span, near: list[DraftStep], recent: list[DraftStep]) -> DraftCondition | None:
    booleans = [step for step in near if step.type is StepType.BOOLEAN and step.condition is None]
    if not booleans:
        return None
    about = content_of(supposed)
    state = {stem for stem in about if _is_state(stem, supposed)}
    things = about - state
    if _is_one_of_something_else(supposed, things, near):
        return None
    if (asked := _of_last_question(supposed, recent)) is not None:
        return asked
    if supposed.has("anything") or (supposed.has("pronoun") and not things):
        several = [step for step in recent if step.type is StepType.BOOLEAN and not step.label.endswith("?")]
        if not several and supposed.has("anything"):
            several = [step for step in booleans if not step.label.endswith("?")]
        if len(several) > 1 and (supposed.has("bad") or supposed.has("not") or supposed.has("anything")):
            fails = _fails(supposed)
            comparisons = [DraftComparison(step, Operator.EQ, not fails) for step in several[-MAX_COMPARISONS:]]
            return DraftCondition(comparisons, any_of=True)
    best, best_score = None, 0.0
    for distance, step in enumerate(booleans):
        own = content_of_label(step.label, supposed)
        shared = len(own & about) - 0.01 * distance
        if own & about and shared > best_score:
            best, best_score = step, shared
    if best is None:
        best = next((step for step in booleans if step in recent), None)
        known = bool(state) or supposed.has("not")
        if best is None or not known or (things and not supposed.has("pronoun", "anything")):
            return None
    return _answer_of(best, supposed, state)


def _of_last_question(supposed: Span, recent: list[DraftStep]) -> DraftCondition | None:
    """`Is the corridor clear?`, `if it is jammed`; `¿Falta algún libro?`, `si falta alguno`: of what was just asked."""
    last = next((step for step in reversed(recent) if step.type is StepType.BOOLEAN), None)
    if last is None or not supposed.any_at(("pronoun", "self", "be")) or last.condition is not None:
        return _is_there(supposed, last)
    label = words_of(last.label, supposed)
    if is_contrary(label, supposed) or (last.label.endswith("?") and is_other_state(label, supposed)):
        return DraftCondition([DraftComparison(last, Operator.EQ, supposed.has("not"))])
    return _is_there(supposed, last)


def _is_there(supposed: Span, asked: DraftStep | None) -> DraftCondition | None:
    """Whether nothing is supposed but that there is some of what was asked for: `if any are missing`."""
    if asked is None or not asked.label.endswith("?") or not supposed.has("anything", "pronoun"):
        return None
    label = words_of(asked.label, supposed)
    stem = supposed.words.language.any_stem
    plain = (i for i in range(len(supposed)) if not supposed.any_at(("anything", "pronoun", "article", "not", "be"), i))
    about = {stem(supposed[i].text) for i in plain if supposed[i].is_word}
    if not about or not about <= {stem(token.text) for token in label} or not label.has("anything", "there", "bad"):
        return None
    return DraftCondition([DraftComparison(asked, Operator.EQ, not supposed.has("not"))])


def _is_one_of_something_else(supposed: Span, things: set[str], near: list[DraftStep]) -> bool:
    """`si un animal est malade` behind chores: in front of a thing that none of them names, `un` is none of these."""
    one = supposed.at("anything") and supposed.at("article") and len(supposed) > 1
    if not one or not things or supposed.any_at(("bad", "good", "be", "of", "preposition"), 1):
        return False
    return not any(thing in fold(step.label) for step in near for thing in things)


def _is_state(stem: str, supposed: Span) -> bool:
    language = supposed.words.language
    return any(
        language.any_stem(supposed[position].text) == stem
        for role in ("bad", "good")
        for position in range(len(supposed))
        if supposed.at(role, position)
    )


def _fails(supposed: Span) -> bool:
    """Whether the supposition is that something is not as it should be."""
    bad, good, no = supposed.has("bad"), supposed.has("good"), supposed.has("not")
    if bad and not good:
        return not no
    if good and not bad:
        return no
    if bad and good:
        return True
    return no


def _answer_of(step: DraftStep, supposed: Span, state: set[str]) -> DraftCondition | None:
    label = words_of(step.label, supposed)
    own = content_of(label)
    if (said := said_again(label, supposed)) is not None:
        return DraftCondition([DraftComparison(step, Operator.EQ, said)])
    asks_bad = bool(label.has("bad")) and (label.at("question") > 0 or step.label.endswith("?"))
    if step.label.endswith("?") or label.at("question"):
        if asks_bad:
            if not (supposed.has("bad") or supposed.has("good") or supposed.has("not")):
                return DraftCondition([DraftComparison(step, Operator.EQ, True)])
            return DraftCondition([DraftComparison(step, Operator.EQ, _fails(supposed))])
        if state and not state & own:
            if supposed.has("bad"):
                return DraftCondition([DraftComparison(step, Operator.EQ, False)])
            if not supposed.has("pronoun"):
                return None
        return DraftCondition([DraftComparison(step, Operator.EQ, not supposed.has("not"))])
    if supposed.has("bad", "good", "not"):
        return DraftCondition([DraftComparison(step, Operator.EQ, not _fails(supposed))])
    if (
        own and own <= content_of(supposed) and (not is_task(label) or label.at("confirm"))
    ):  # `battery there`: if the battery is there
        return DraftCondition([DraftComparison(step, Operator.EQ, True)])
    about = content_of(supposed)
    if about and about <= own and supposed.has("state"):  # `check soil dry`: if dry
        return DraftCondition([DraftComparison(step, Operator.EQ, True)])
    return None
