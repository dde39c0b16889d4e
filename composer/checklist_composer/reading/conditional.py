"""Sentences with a condition: what is supposed, what follows from it, and what otherwise."""

from dataclasses import dataclass
from typing import Final

from ..verb_forms import looks_like_infinitive
from .last_verbs import last_verb
from .quantities import bounds_in
from .settings import without_setting
from .tasks import is_task, task_at
from .words import Span, remembered


@dataclass(slots=True)
class Conditional:
    """`before` says something that always applies; it may be empty, and so may `otherwise`."""

    before: Span
    supposed: Span
    negated: bool
    """`unless`, `if not`: what follows applies when the supposition does not hold."""
    then: Span
    otherwise: Span
    certain: bool = True
    """Whether it surely supposes something: `if`, and not `when`, which may be a moment only."""


_OPENERS = ("only_if", "unless", "if_not", "if_yes", "if")
_MAX_SUPPOSED = 6
_QUOTES = '"“”„»«'
_NO_END = ("article", "be", "pronoun", "preposition", "or")
"""A supposition does not end with one of these."""
_FINDING = frozenset({"record", "check", "confirm", "measure", "count", "describe"})
_MOMENTS: Final = (
    "ende", "beginn", "anfang", "schluss", "wechsel", "kunft", "fahrt", "gabe", "nahme", "start", "holung",
)  # fmt: skip
"""Ends of German nouns that say when something happens."""


@remembered
def conditional_of(span: Span) -> Conditional | None:
    """The parts of a sentence that says when something applies, or None."""
    found = _opener(span)
    if found is None:
        return None
    role, start, end = found
    if _stands_in_list(span, start, end):
        return None
    certain = role != "if" or end == start or bool(span.at("if_certain", start)) or start > 0
    before = span.sub(0, start).stripped()
    before = _without_and(before)
    after = span.sub(end)
    empty = span.sub(0, 0)
    negated = role in {"unless", "if_not"}
    if role in {"if_not", "if_yes"} and not _ends_thought(after) and not span.at("answered", start):
        # `if it is damaged`, `if not closed`: more words of the supposition follow.
        role, end = "if", start + span.at("if", start)
        after, negated = span.sub(end), False
        if end == start:
            return None
    if role in {"if_not", "if_yes"}:
        supposed, then = empty, after.stripped()
        if not len(then):
            supposed, then, before = empty, before, empty
        then, otherwise = _split_otherwise(then)
        return Conditional(before, supposed, negated, then, otherwise) if len(then) else None
    boundary = _behind_case(span, start, after) or _boundary(after)
    if boundary is None:
        if not len(before) or _asks_whether(span, start):
            return None
        before, then = _last_thing(before)
        return Conditional(before, after.stripped(), negated, then, empty, certain)
    supposed, then = after.sub(0, boundary).stripped(), _without_and(after.sub(boundary).stripped())
    then, otherwise = _split_otherwise(then)
    if not len(supposed) or not len(then):
        return None
    return Conditional(before, supposed, negated, then, otherwise, certain)


def _stands_in_list(span: Span, start: int, end: int) -> bool:
    """`..., water if dry, feed the fish`: it is said of one thing in a list, which has to be cut first."""
    if not start or not span[start - 1].is_word or span.any_at(("and", "then", "or"), start - 1):
        return False
    before = span.sub(0, start)
    commas = [i for i in range(start) if span[i].text in ",;" and "(" not in span.sub(i, start).text]
    if commas and not is_task(before) and not bounds_in(before.sub(commas[-1])) and "(" not in before.text:
        return True
    comma = next((i for i in range(end + 1, len(span)) if span[i].text in ",;"), None)
    last = before.sub(commas[-1] + 1 if commas else 0)
    if comma is None or not is_task(last) or comma - end > _MAX_SUPPOSED:
        return False
    rest = span.sub(comma + 1)
    return len(rest) > 2 and not rest.any_at(("and", "or", "otherwise", "then", "if_not")) and not rest.has("or")


def otherwise_of(span: Span) -> Span | None:
    """What a sentence says that begins with `otherwise`."""
    length = span.at("otherwise")
    if not length or (span.at("if_not") > length and not _ends_thought(span.sub(span.at("if_not")))):
        return None
    length = max(length, span.at("if_not"))
    rest = span.sub(length).stripped(",:;- ")
    return rest if len(rest) else None


def _opener(span: Span) -> tuple[str, int, int] | None:
    if _begins_with_its_verb(span):
        return "if", 0, 0
    if not span.has("if_first", *_OPENERS):
        return None
    position = 0
    while position < len(span):
        answers = span.at("yes_no", position)  # `damage si/no`
        optional = span.at("optional", position)
        if (
            position == 0
            and optional
            and span.at("if_yes")
            and span[optional].is_word
            and not is_task(span.sub(optional))
        ):
            optional = 0  # `if any are missing` supposes; `if any, ...` does not
        if skipped := max(span.any_at(("confirm", "please"), position), optional, answers if answers > 1 else 0):
            position += skipped
            continue
        if position == 0 and (length := span.at("if_first")):
            return "if", 0, length
        if _goes_on(span, position) or _is_occasion(span, position):
            position += 1
            continue
        for role in _OPENERS:
            if length := span.at(role, position):
                if position and not span[position].is_word:
                    break
                if role == "if" and position and not span.at("only") and not _may_open(span, position):
                    break
                return role, position, position + length
        position += 1
    return None


def _goes_on(span: Span, position: int) -> bool:
    """`compruebe si ..., si ... y si ...`: the same word as behind the first verb supposes nothing."""
    length = span.at("that_clause", position) and span.at("confirm")
    return bool(length) and span.key(length - 1) == span.key(position)


def _is_occasion(span: Span, position: int) -> bool:
    """`Bei der Rückgabe ...` is when it is done; `bei Schäden` supposes that there are some."""
    length = span.at("in_case", position)
    if not length or not span.words.language.verb_last or span.key(position) not in {"bei", "beim"}:
        return False
    following = span.sub(position + length, position + length + 4)
    if span.key(position + length).endswith(_MOMENTS):
        return True  # `bei Schichtende`
    article = bool(span.at("article", position + length)) or length > 1 or span.key(position) == "beim"
    return article and not following.has("bad")


def _begins_with_its_verb(span: Span) -> bool:
    """`Ist die Leiter beschädigt, Fotos machen`: German supposes without any `wenn`."""
    if not span.words.language.verb_last or not span.at("question") or span[len(span) - 1].text == "?":
        return False
    comma = next((position for position in range(2, len(span)) if span[position].text == ","), None)
    return comma is not None and not task_at(span)[0] and is_task(span.sub(comma + 1).stripped())


def _may_open(span: Span, position: int) -> bool:
    """Words such as `when` or `should` also stand inside of sentences that suppose nothing."""
    if span.at("if_certain", position):
        return True
    if position + 1 >= len(span) or not span[position + 1].is_word:
        return False  # `who, where, when, ...`
    return span[position - 1].text in ",;–—-:(" or bool(span.at("and", position - 1))


def _behind_case(span: Span, start: int, after: Span) -> int | None:
    """`bei Schäden Foto machen`: a noun is supposed, and nothing but its end shows what follows from it."""
    if not span.at("in_case", start) or not span.words.language.verb_last:
        return None
    bad = after.find("bad")
    described = bad is not None and after[bad[0]].text.islower() and after[bad[1]].text[:1].isupper()
    if bad is None or described:
        return _behind_noun(after)
    for position in range(bad[1], len(after)):
        rest = after.sub(position)
        if after[position].text in ",:" or after.at("please", position):
            return position
        if not rest.any_at(("preposition", "and", "or")) and not after.any_at(_NO_END, position - 1) and is_task(rest):
            return position
    return None


def _behind_noun(after: Span) -> int | None:
    """`bei verletzter Haut Termin verschieben`, `bei Ausfall der Heizung den Notdienst rufen`: the case is a noun with
    what belongs to it, and what follows is to be done. `bei Schichtende ...` is when it is done, and supposes nothing.
    """
    noun = next((i for i in range(min(3, len(after))) if after[i].text[:1].isupper()), None)
    if noun is None or any(not token.is_word for token in after.sub(0, noun + 1)):
        return None
    if after[noun].key.endswith(_MOMENTS) or after.sub(noun).any_at(("frequency", "job_noun")):
        return None
    end = noun + 1
    while end < len(after) and (after.key(end) in {"der", "des"} or after.at("preposition", end) == 1):
        further = next((i for i in range(end + 1, min(end + 4, len(after))) if after[i].text[:1].isupper()), None)
        if further is None:
            break
        end = further + 1
    rest = after.sub(end).stripped()
    return end if len(rest) > 1 and rest[0].is_word and is_task(rest) else None


def _asks_whether(span: Span, start: int) -> bool:
    """`note the number of boxes and if the press is clean`: one more thing to find out, and no condition."""
    joined = start > 0 and span.at("and", start - 1) and span.at("that_clause", start)
    return bool(joined) and task_at(without_setting(span).rest)[0] in _FINDING


def _ends_thought(after: Span) -> bool:
    if not len(after) or after[0].text in ",:;–—-." or after.at("then"):
        return True
    # `wenn nicht bestanden: Band anhalten`: the task comes after the state.
    return is_task(after) and not (after.words.language.verb_last and after.any_at(("good", "bad", "state", "verdict")))


def _boundary(after: Span) -> int | None:
    """Where what follows from the supposition begins."""
    commas = [position for position in range(1, len(after)) if after[position].text in ",:;–—"]
    for position in range(1, len(after)):
        if after[position].text in ",:;–—" or after.at("then", position):
            rest = _without_and(after.sub(position + max(1, after.at("then", position))).stripped(", "))
            noted = rest.has("photo", "remarks", "signature") and len(rest) <= 6
            if is_task(rest) or _begins_with_object(rest) or noted:
                return position
    if after.words.language.verb_last and (state := max(after.at("bad"), after.at("good"), after.at("state"))):
        rest = after.sub(state)  # `wenn beschädigt ersetzen`
        if len(rest) and (task_at(rest)[1] == len(rest.stripped()) or last_verb(rest) is not None):
            return state
    if after[0].text in _QUOTES:  # `bei "gesperrt" Vorgesetzten anrufen`
        closing = next((i for i in range(1, len(after)) if after[i].text in _QUOTES), len(after))
        if closing + 1 < len(after):
            return closing + 1
    for position in range(1, len(after)):
        if after[position - 1].text not in ",:" and after.at("then", position):
            return position
        if _imperative_at(after, position) and not after.any_at(_NO_END, position - 1):
            if commas and commas[0] < position:
                return commas[0]
            return position - 1 if after.at("and", position - 1) and position > 1 else position
    return commas[0] if commas else None


def _begins_with_object(rest: Span) -> bool:
    """`la fermer`: French puts the pronoun in front of the infinitive."""
    if rest.words.language.locale != "fr" or not rest.at("article") or len(rest) < 2:
        return False
    return looks_like_infinitive("fr", rest.key(1)) and bool(task_at(rest, 1)[0])


def _imperative_at(span: Span, position: int) -> bool:
    if position + 1 >= len(span):
        return False
    named = task_at(span, position)[0] in {
        "describe",
        "photograph",
        "act",
        "record",
        "scan",
        "measure",
        "check",
        "sign",
    }
    return named or bool(span.any_at(("photo_verb", "it_should"), position))


def _without_and(span: Span) -> Span:
    moved = True
    while moved and len(span):
        moved = False
        for length, front in ((span.at("and") or span.at("then"), True), (span.at("and", len(span) - 1), False)):
            if length:
                span = (span.sub(length) if front else span.sub(0, len(span) - 1)).stripped(", ")
                moved = True
                break
    return span


def _last_thing(before: Span) -> tuple[Span, Span]:
    """Of `check the oil, describe the leak if there is one` only the last part depends."""
    for position in range(len(before) - 1, 0, -1):
        if before[position].text in ",;" or before.at("and", position):
            rest = before.sub(position + max(1, before.at("and", position))).stripped()
            if is_task(rest) or rest.has("photo"):
                first = before.sub(0, position).stripped()
                return (first, rest) if len(first) else (before.sub(0, 0), before)
    return before.sub(0, 0), before


def _split_otherwise(then: Span) -> tuple[Span, Span]:
    found = then.find("otherwise", 1) or then.find("if_not", 1)
    if found is None:
        return then, then.sub(0, 0)
    return _without_and(then.sub(0, found[0]).stripped()), then.sub(found[1]).stripped(",:;- ")
