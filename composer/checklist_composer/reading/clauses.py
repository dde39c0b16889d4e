"""What is listed in a sentence: where one thing ends and the next begins."""

from dataclasses import dataclass

from .last_verbs import OWN_ANSWER, shares_verb, with_last_verbs
from .list_parts import choice_in_list
from .options import options_in
from .quantities import bounds_in, number_at
from .sentences import inside_phrases
from .steps import without_lead
from .tasks import is_task, task_at
from .words import Span, remembered

_ASKED = frozenset({"describe", "record", "confirm"})
_COUNTED = frozenset({"count", "how_much"})
_NEAR = 6
_MAX_PARTS = 60
"""More parts with commas of their own nobody lists in one sentence."""
_REFERRING = ("pronoun", "it_should", "and", "article", "should_be")
_JOINED = ("preposition", "relative", "photo_verb")


@dataclass(slots=True)
class Clause:
    """One thing that is asked for; `verb` is shared with the clause before it."""

    span: Span
    verb: Span | None = None


@remembered
def clauses_of(span: Span, *, evidence: bool = True) -> list[Clause]:
    """The clauses of a sentence, one for each thing that it lists.

    `evidence`: a photo of nothing in particular belongs to what was said before it.
    """
    clauses: list[Clause] = []
    while len(clauses) < _MAX_PARTS and (choice := choice_in_list(span)) is not None:
        start, end = choice
        clauses += _plain_clauses(span.sub(0, start).stripped(",; "), evidence=evidence)
        clauses.append(Clause(span.sub(start, end)))
        span = span.sub(end).stripped(",; ")
    return [*clauses, *_plain_clauses(span, evidence=evidence)]


def _plain_clauses(span: Span, *, evidence: bool) -> list[Clause]:
    if not len(span):
        return []
    pieces = _pieces(span)
    if len(pieces) == 1:
        return [Clause(span)]
    if is_one_choice(span):
        return [Clause(span)]
    clauses = _grouped(_with_shared_predicate(_with_shared_noun(pieces)), span, evidence=evidence)
    if span.words.language.verb_last:
        return [Clause(*said) for said in with_last_verbs([(clause.span, clause.verb) for clause in clauses])]
    return clauses


@remembered
def is_one_choice(span: Span) -> bool:
    """Whether all of it is one choice, instead of a list in which something is a choice."""
    if options_in(span) is None:
        return False
    pieces = [piece for _, piece in _pieces(span)]
    if len(pieces) > 1 and pieces[-1].stripped("?.! ").text.endswith((")", "]")) and options_in(pieces[-1]) is not None:
        return False  # `plate, mileage, scratches (yes/no)`
    if any(piece.sign("(") is not None for piece in pieces[:-1]) and not _heads_several(pieces[0]):
        return False
    return all(options_in(piece) is None for piece in pieces[:-1])


def _heads_several(first: Span) -> bool:
    """`Damage (select all that apply): dent`"""
    colon = first.sign(":", 1)
    return colon is not None and first.sub(0, colon).has("several") and first.sign("(", colon) is None


def _with_shared_noun(pieces: list[tuple[Span, Span]]) -> list[tuple[Span, Span]]:
    """`minimum and maximum temperature`: what stands alone in front takes the noun of the last."""
    result = list(pieces)
    if "qualifier" not in pieces[0][1].words.where:
        return result
    for place, (mark, piece) in enumerate(pieces[:-1]):
        lead = task_at(piece)[1] + piece.at("article", task_at(piece)[1])
        if len(piece) - lead != 1 or not piece.at("qualifier", lead):
            continue
        last = next((other for _, other in pieces[place + 1 :] if len(other) > 1), None)
        if last is not None and last.at("qualifier"):
            noun = last.sub(1)
            result[place] = (mark, Span(piece.words, [*piece.index, *noun.index]))
    return result


def _with_shared_predicate(pieces: list[tuple[Span, Span]]) -> list[tuple[Span, Span]]:
    """`Make sure the doors, windows and gates are closed`: every one of them is to be closed."""
    verb = task_at(without_lead(pieces[0][1]))
    place = next((place for place, (_, piece) in enumerate(pieces) if piece.has("be")), 0)
    if verb[0] != "confirm" or not place:
        return pieces
    source = pieces[place][1]
    predicate = source.find("be")
    if predicate is None or not predicate[0] or source.has("pronoun"):
        return pieces
    if any(piece.has("state") or bounds_in(piece) for _, piece in pieces[:place]):
        return pieces
    tail = source.sub(predicate[0])
    shared = [(mark, Span(piece.words, [*piece.index, *tail.index])) for mark, piece in pieces[:place]]
    return [*shared, *pieces[place:]]


def _separators(span: Span) -> list[tuple[int, int]]:
    """Commas and `and`s that may separate things: outside of parentheses and of quantities."""
    found: list[tuple[int, int]] = []
    depth = done = 0
    covered = _quantity_positions(span) | inside_phrases(span)
    behind = {place + 1 for place in covered if place + 1 not in covered and place + 1 < len(span)}
    places = span.places("([)],;", "and", "then")
    for position in sorted({*places, *behind}) if behind else places:
        if position < done:
            continue
        if depth == 0 and position in behind and span.at("number_noun", position):
            found.append((position, position))  # `pH 7.2-7.6 chlorine 1-3 mg/l temperature`
        token = span[position]
        if token.text in "([":
            depth += 1
        elif token.text in ")]":
            depth = max(0, depth - 1)
        length = 0
        if depth == 0 and position not in covered:
            length = int(token.text in ",;") or span.at("and", position) or span.at("then", position)
        if length:
            end = position + length
            while end < len(span) and (more := span.any_at(("and", "also"), end)):
                end += more
            found.append((position, end))
            done = end
    return found


def _quantity_positions(span: Span) -> set[int]:
    covered: set[int] = set()
    start = 0
    while (bounds := bounds_in(span, start)) is not None:
        covered.update(range(bounds.start, bounds.end))
        start = max(bounds.end, start + 1)
    return covered


@remembered
def _pieces(span: Span) -> list[tuple[Span, Span]]:
    """The parts between separators, each with the separator in front of it."""
    pieces: list[tuple[Span, Span]] = []
    start, mark = 0, span.sub(0, 0)
    for begin, end in _separators(span):
        pieces.append((mark, span.sub(start, begin)))
        mark, start = span.sub(begin, end), end
    pieces.append((mark, span.sub(start)))
    return pieces


def _grouped(pieces: list[tuple[Span, Span]], whole: Span, *, evidence: bool) -> list[Clause]:
    clauses: list[Clause] = []
    verb: Span | None = None
    listed = len(pieces) > 2
    for mark, piece in pieces:
        if not len(piece):
            continue
        if not clauses:
            clauses.append(Clause(piece))
            verb = _verb_of(piece)
            continue
        if verb is not None and verb.has("confirm") and piece.at("that_clause"):
            clauses.append(_second_statement(piece, verb))
            continue
        if is_task(piece) or _opens(piece):
            if evidence and _attaches(piece):
                clauses[-1] = Clause(_joined(clauses[-1].span, mark, piece), clauses[-1].verb)
            else:
                clauses.append(Clause(piece))
                verb = _verb_of(piece)
            continue
        if verb is not None and piece.any_at(("wh", "who", "that_clause")) and task_at(verb)[0] in _ASKED:
            clauses.append(Clause(piece))
            continue
        if piece.at("that_clause") and piece.has("be") and (piece.at("article", 1) or not piece.sub(1).has("pronoun")):
            clauses.append(Clause(piece if mark.at("and") else piece.sub(piece.at("that_clause"))))
            continue
        if verb is not None and verb.has("confirm") and _states_another(piece):
            clauses.append(Clause(piece, verb))
            continue
        if _belongs_before(piece, clauses[-1].span, whole, mark, listed=listed):
            clauses[-1] = Clause(_joined(clauses[-1].span, mark, piece), clauses[-1].verb)
        else:
            alone = _says_itself(piece, verb) or (verb is not None and verb.has("of") and len(pieces) > 2 and listed)
            clauses.append(Clause(piece, None if alone else verb))
    return clauses


def _second_statement(piece: Span, verb: Span) -> Clause:
    """`check that a is open and that b is closed`: each keeps its own `that`, which is not always spelled alike."""
    last = len(verb) - 1
    if last > 0 and verb.at("that_clause", last):
        return Clause(piece, verb.sub(0, last))
    return Clause(piece.sub(piece.at("that_clause")), verb)


def _ends_in_state(piece: Span) -> bool:
    """`Wassernäpfe gefüllt`, `gamelles remplies (oui/non)`: a thing and how it ought to be."""
    words = piece.sub(0, next((i for i in range(len(piece)) if piece[i].text in "(["), len(piece))).stripped()
    if len(words) < 2:
        return False
    if words.words.language.verb_last:
        return not shares_verb(words)
    return bool(words.at("participle", len(words) - 1))


def _says_itself(piece: Span, verb: Span | None) -> bool:
    """Whether it needs no verb from before: `gloves available` does not ask for a number of gloves."""
    if verb is None or piece.at("question") or piece.text.startswith("¿"):
        return True
    if verb.has("confirm"):
        return False
    if piece.has(*OWN_ANSWER) and not verb.any_at(("check", "measure", "record")):
        return True
    if task_at(verb)[0] == "scan" and (_ends_in_state(piece) or any(token.is_number for token in piece)):
        return True
    if task_at(verb)[0] in _COUNTED and (_ends_in_state(piece) or piece.has("yes_no") or "(" in piece.text):
        return True
    if task_at(verb)[0] in _COUNTED and (piece.has("number_noun") or any(token.is_number for token in piece)):
        return True
    return piece.has("be", "state", "good", "bad", "name_noun", "date_noun", "photo", "signature") or bool(
        piece.any_at(("question", "wh", "who"))
    )


def _verb_of(piece: Span) -> Span | None:
    piece = without_lead(piece)
    task, length = task_at(piece)
    if task == "count" and piece.any_at(("serial_noun", "name_noun")) > length:
        return None  # `número de lote, guantes`
    if task == "act" and length == 1 and piece.at("noun_too") and not piece.any_at(("article", "each"), 1):
        return None  # `grease points, air filter`: who knows which it is
    return piece.sub(0, length) if length and length < len(piece) else None


def _attaches(piece: Span) -> bool:
    """`... and take a photo (of it)`: belongs to what was said before."""
    noun = piece.find("photo")
    if noun is None or noun[0] > _NEAR:
        return False
    rest = noun[1]
    if rest >= len(piece.stripped()):
        # `..., four photos, ...` is a thing of its own where things are listed without a verb.
        return not piece[0].is_number and not number_at(piece, 0)
    each = piece.find("each", rest)
    if each is not None and each[1] >= len(piece.stripped()):
        return False  # of all that was listed
    of = piece.at("preposition", rest)
    end = rest + of + piece.any_at(("pronoun", "each"), rest + of)
    return bool(of) and end > rest + of and (end >= len(piece.stripped()) or piece.at("step_word", end) > 0)


def _joined(first: Span, mark: Span, second: Span) -> Span:
    return Span(first.words, [*first.index, *mark.index, *second.index])


def _states_another(piece: Span) -> bool:
    """`prüfen, ob die Pumpe läuft und das Licht brennt`: an article, a noun, and its verb at the end."""
    words = piece.stripped(" .!?")
    if not words.words.language.verb_last or not words.at("article") or len(words) < 3:
        return False
    return words[1].text[:1].isupper() and words[len(words) - 1].text.islower()


def _is_thing(piece: Span, before: Span) -> bool:
    """Whether `die Fenster (zu sind)` is something new, and no `die` that goes on about what was said before."""
    if not piece.at("article") or not piece.words.language.verb_last:
        return False
    return shares_verb(piece) or (before.has("confirm") and len(piece) > 1 and piece[1].text[:1].isupper())


def _opens(piece: Span) -> bool:
    """`optional: lost property`"""
    length = piece.at("optional") or piece.at("required")
    return bool(length) and piece.key(length) == ":"


def _says_whether(piece: Span) -> bool:
    """`..., if available`; but `optional: lost property` begins something."""
    length = piece.at("required") or piece.at("optional")
    return bool(length) and piece.key(length) != ":"


def _answers(piece: Span) -> bool:
    """`..., en ayunas si/no`, `..., in place yes/no`: what has its own answers is asked for itself."""
    return any(len(piece) > back and piece.at("yes_no", len(piece) - back) == back for back in (5, 4, 3, 2))


def _is_pair(before: Span, mark: Span, piece: Span) -> bool:
    """`health and safety`: two words that are one thing, on both sides of the mark."""
    if "and" not in piece.words.where:
        return False
    near = _joined(before.sub(max(0, len(before) - 2)), mark, piece.sub(0, 2)).text.casefold()
    return any(pair in near for pair in piece.words.language.pairs)


def _belongs_before(piece: Span, before: Span, whole: Span, mark: Span, *, listed: bool) -> bool:
    if (bounds := bounds_in(piece)) is not None and len(piece) - (bounds.end - bounds.start) <= 2:
        lead = piece.sub(0, bounds.start)
        said = len(lead) or bounds.minimum is not None or bounds.maximum is not None
        if said and (lead.at("allowed") or all(lead.any_at(_REFERRING, i) for i in range(len(lead)))):
            return True  # `the hot water, it must be at least 50 °C`
    if (piece.any_at(_JOINED) and not _is_thing(piece, before) and not _answers(piece)) or _says_whether(piece):
        return True
    if _is_pair(before, mark, piece):
        return True
    statement = before.find("be")
    if statement and statement[0] > 0 and not piece.has("be"):
        states = all(piece.any_at(("state", "good", "bad", "grade_word", "not"), i) for i in range(len(piece)))
        if states or (mark.at("and") and len(piece) <= 2 and not listed and not bounds_in(piece)):
            return True  # `the floor is clean and dry`
    act = before.at("act") and not before.any_at(("check", "confirm", "measure"))
    return bool(act and not listed and len(piece) <= 3 and mark.at("and"))
