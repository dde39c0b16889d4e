"""What is said about a step beside what it asks: photos to attach, the place, whether it has to be, how long it takes.

Each rule takes its words out of the span, so that the label keeps only what the executor has to read.
"""

from dataclasses import dataclass
from typing import Final

from checklist_crds.template_types import MAX_PHOTOS_PER_STEP, StepType

from .quantities import amount_at, bounds_in, number_at
from .words import Span, remembered

_TYPES: Final = (
    ("remarks", StepType.TEXT),
    ("text_type", StepType.TEXT),
    ("yes_no", StepType.BOOLEAN),
    ("number_type", StepType.NUMBER),
    ("datetime_noun", StepType.DATETIME),
    ("date_noun", StepType.DATE),
    ("time_type", StepType.TIME),
    ("signature", StepType.SIGNATURE),
    ("scan_noun", StepType.SCAN),
)
_MODIFYING: Final = ("optional", "required", "yes_no", "verdict", "photo", "location", "remarks")
"""Without a word of one of these roles, nothing modifies it but what stands in parentheses."""
_MAX_SHOWN: Final = 5
_MAX_PHOTO_WORDS: Final = 10
_MINUTES: Final = {"s": 1 / 60, "min": 1.0, "h": 60.0, "½ h": 30.0, "¼ h": 15.0}


@dataclass(slots=True)
class Modifiers:
    """What was found; None or False where nothing was."""

    required: bool | None = None
    photo: tuple[int, int | None] | None = None
    geo: bool = False
    remarks: bool = False
    as_type: StepType | None = None
    """The type of the answer, where it is said outright: `(free text)`, `y/n`."""
    minutes: float | None = None
    answers: tuple[str, str] | None = None
    """What yes and no are called: pass and fail."""
    photo_of: str = ""
    """What the photo shows, in the writer's words: `photo of the display`."""


def take_modifiers(span: Span) -> tuple[Span, Modifiers]:
    """The span without what modifies it, and what that was."""
    found = Modifiers()
    span = _parentheses(span.stripped(), found)
    if not span.has(*_MODIFYING):
        return span, found
    for _ in range(4):
        before = len(span)
        span = _necessity(span, found)
        span = _yes_or_no(span, found)
        span = _attached_photo(span, found)
        span = _attached_place(span, found)
        span = _attached_remarks(span, found)
        if len(span) == before:
            break
    return span, found


def photo_count(span: Span, noun: int) -> tuple[int, int | None, int]:
    """Fewest and most photos that the words in front of the noun ask for, and where these words begin."""
    position = noun - 1
    while position >= 0 and span[position].is_word and number_at(span, position) is None and position > noun - 3:
        if span.any_at(("article", "each", "containing"), position):
            break  # `8 °C with photo` asks for no eight photos
        position -= 1
    number = number_at(span, position) if position >= 0 else None
    if number is None:
        start = noun
        while start > 0 and span.at("article", start - 1) == 1:
            start -= 1
        return 1, None, start
    fewest, most, start = int(number[0]), None, position
    if position >= 2 and (
        span.at("to", position - 1) or span[position - 1].text in "-–" or span.at("or", position - 1)
    ):
        low = number_at(span, position - 2)
        if low is not None:
            return _photos(int(low[0]), fewest, _word_start(span, position - 2))
    for back in (4, 3, 2, 1):
        if back <= position and span.at("at_most", position - back) == back:
            return _photos(1, fewest, position - back)
        if back <= position and span.at("at_least", position - back) == back:
            return _photos(fewest, None, position - back)
    return _photos(fewest, most, start)


def _word_start(span: Span, position: int) -> int:
    return position - 1 if position and span.at("between", position - 1) == 1 else position


def _photos(fewest: int, most: int | None, start: int) -> tuple[int, int | None, int]:
    fewest = min(max(fewest, 1), MAX_PHOTOS_PER_STEP)
    if most is not None:
        most = min(max(most, fewest), MAX_PHOTOS_PER_STEP)
    return fewest, most, start


@remembered
def minutes_in(span: Span) -> tuple[float, int, int] | None:
    """The first duration of a span in minutes, and where it begins and ends. Of a range, its upper end."""
    for position in span.counting():
        amount = amount_at(span, position)
        if amount is None:
            continue
        if amount.unit is None and (to := span.at("to", amount.end) or int(span.key(amount.end) in {"-", "–"})):
            upper = amount_at(span, amount.end + to)
            if upper is not None and upper.kind == "duration" and upper.unit in _MINUTES:
                return upper.value * _MINUTES[upper.unit], position, upper.end
        if amount.kind == "duration" and amount.unit in _MINUTES:
            minutes, end = amount.value * _MINUTES[amount.unit], amount.end
            rest = amount_at(span, end + span.at("and", end))
            if amount.unit == "h" and rest is not None and rest.unit == "min":
                return minutes + rest.value, position, rest.end
            return minutes, position, end
    return None


def _parentheses(span: Span, found: Modifiers) -> Span:
    position = span.sign("([")
    while position is not None:
        closing = span.sign(")]", position + 1)
        if closing is None:
            return span
        inner = span.sub(position + 1, closing)
        scanned = inner.at("scan") and not span.sub(0, position).has("state", "good", "bad", "be")
        if scanned:
            found.as_type = StepType.SCAN  # `tag (scan it)`; but `laptop returned (scan asset tag)`
        if scanned or _take_inner(inner, found):
            span = span.without(position, closing + 1)
            position = span.sign("([", position)
        else:
            position = span.sign("([", closing + 1)
    return span


def _take_inner(inner: Span, found: Modifiers) -> bool:
    if not len(inner):
        return True
    if (photos := _photos_between(inner)) is not None:
        found.photo = photos
        return True
    comma = inner.sign(",;", 1)
    if comma is not None:
        return _take_both(inner.sub(0, comma), inner.sub(comma + 1), found)
    if len(inner) <= 4 and inner.has("optional"):
        found.required = False
        return True
    if len(inner) <= 4 and inner.has("required") and not inner.has("photo", "signature"):
        found.required = True
        return True
    noun = inner.find("photo")
    if noun and len(inner) <= 10 and (noun[1] >= len(inner) - 1 or photo_count(inner, noun[0])[2] == 0):
        fewest, most, _ = photo_count(inner, noun[0])
        found.photo = (fewest, most)
        return True
    if (
        (time := minutes_in(inner))
        and len(inner) - (time[2] - time[1]) <= 2
        and not inner.has("below", "above", "at_most", "at_least")
    ):
        found.minutes = time[0]
        return True
    if len(inner) <= 3 and inner.has("location"):
        found.geo = True
        return True
    for role, type_ in _TYPES:
        if inner.at(role) == len(inner) or (
            role == "number_type" and inner.at(role) and len(inner) <= 3 and not inner.has("in_unit")
        ):
            found.as_type = type_
            return True
    return False


def _photos_between(inner: Span) -> tuple[int, int | None] | None:
    """`(2 photos at least, 6 at most)`, `(four in total)`: how many photos, from and to."""
    noun = inner.find("photo")
    total = inner.find("total", 1)
    if noun is None:
        number = number_at(inner, 0)
        whole = number is not None and total is not None and total == (number[1], len(inner))
        return _photos(int(number[0]), None, 0)[:2] if number is not None and whole else None
    if len(inner) > _MAX_PHOTO_WORDS:
        return None
    rest = inner.without(*noun)
    low = bounds_in(rest)
    high = low if low is None or low.maximum is not None else bounds_in(rest, low.end)
    if low is None or high is None or low.minimum is None or high.maximum is None:
        return None
    return _photos(int(low.minimum), int(high.maximum), 0)[:2]


def _take_both(first: Span, second: Span, found: Modifiers) -> bool:
    """`(date and time, optional)`: only when both parts say something about the step."""
    parts = (Modifiers(), Modifiers())
    if not (_take_inner(first, parts[0]) and _take_inner(second, parts[1])):
        return False
    for part in parts:
        for name in ("required", "photo", "as_type", "minutes"):
            if getattr(part, name) is not None:
                setattr(found, name, getattr(part, name))
        found.geo = found.geo or part.geo
        found.remarks = found.remarks or part.remarks
    return True


def _yes_or_no(span: Span, found: Modifiers) -> Span:
    """`cycle ok y/n`"""
    for back in (5, 4, 3, 2):
        if len(span) > back and span.at("yes_no", len(span) - back) == back:
            found.as_type = StepType.BOOLEAN
            return span.sub(0, len(span) - back).stripped()
    return _verdict(span, found)


def _verdict(span: Span, found: Modifiers) -> Span:
    """`Result pass or fail`, `seals ok/not ok`: the answers of a question."""
    for position in span.places("", "verdict", start=1):
        if position >= len(span) - 2:
            break
        first = span.at("verdict", position)
        mark = position + first
        between = span.at("or", mark) or int(first > 0 and span.key(mark) == "/")
        second = span.at("verdict", mark + between) if between else 0
        if second and mark + between + second == len(span) and not span.at("be", position - 1):
            found.as_type = StepType.BOOLEAN
            found.answers = (span.sub(position, mark).text, span.sub(mark + between).text)
            return span.sub(0, position).stripped(" :-–(")
    return span


def _necessity(span: Span, found: Modifiers) -> Span:
    for role, value in (("optional", False), ("required", True)):
        for position in span.places("", role):
            length = span.at(role, position)
            if not length:
                continue
            end = position + length
            trailing = end >= len(span) or span[end].text in ",.;!"
            leading = position == 0 and ((end < len(span) and span[end].text in ":,-–") or role == "optional")
            if not (trailing or leading) or length == len(span):
                continue
            if role == "required" and (
                span.sub(0, position).has("if") or span.any_at(("not", "or", "and"), position - 1)
            ):
                continue
            found.required = value
            return span.without(position, end).stripped()
    return span


def _attached_photo(span: Span, found: Modifiers) -> Span:
    """`..., with at least two photos`, `... + photo`, `... and take a picture of it`, `... photo required`."""
    noun = span.find("photo")
    while noun is not None:
        fewest, most, start = photo_count(span, noun[0])
        lead = start
        if lead and span.at("each", lead - 1) == 1:
            lead -= 1
        while lead and span.at("photo_verb", lead - 1) == 1:
            lead -= 1
        while lead and (span.at("and", lead - 1) == 1 or span[lead - 1].text in "+&,–-:;" or span.at("then", lead - 1)):
            lead -= 1
        end = noun[1]
        while end < len(span) and (length := span.any_at(("required", "each"), end)):
            end += length
        if end < len(span) and span.at("preposition", end) and span.any_at(("pronoun", "each"), end + 1):
            end += 1 + span.any_at(("pronoun", "each"), end + 1)
        attached = 0 < lead < start or (lead and span.at("photo_verb", lead))
        attached = attached and span.at("we") != lead  # `on prend une photo`
        if attached and span.at("containing", lead) == 1 and _shows(span.sub(end)):
            found.photo, found.photo_of = (fewest, most), span.sub(noun[0]).text
            return span.sub(0, lead).stripped()
        if attached and lead and span.at("containing", lead) == 1 and span.at("of", end):
            found.photo = found.photo or (fewest, most)  # `test ride with two photos of the top station`
            return span
        if attached and end >= len(span) and span.sub(0, lead).stripped().text:
            found.photo = (fewest, most)
            return span.sub(0, lead).stripped()
        noun = span.find("photo", noun[1])
    return span


def _shows(rest: Span) -> bool:
    """`(photo) of the display`: a few words that only say what is on it."""
    plain = 1 < len(rest) <= _MAX_SHOWN and all(token.is_word for token in rest)
    return plain and bool(rest.any_at(("preposition", "of", "article"))) and not rest.has("and", "or", "containing")


def _attached_place(span: Span, found: Modifiers) -> Span:
    noun = span.find("location")
    if noun is None or noun[1] < len(span):
        return span
    lead = noun[0]
    while lead and span.at("article", lead - 1) == 1:
        lead -= 1
    verb = lead
    while verb and span.at("location_verb", verb - 1) == 1:
        verb -= 1
    if verb == lead:
        return span
    while verb and (span.at("and", verb - 1) == 1 or span[verb - 1].text == ","):
        verb -= 1
    if not verb:
        return span
    found.geo = True
    return span.sub(0, verb).stripped()


def _attached_remarks(span: Span, found: Modifiers) -> Span:
    noun = span.find("remarks")
    if noun is None or noun[1] < len(span):
        return span
    lead = noun[0]
    while lead and (span.at("article", lead - 1) == 1 or span.at("optional", lead - 1) == 1):
        lead -= 1
    if not lead or not span.at("containing", lead - 1):
        return span
    lead -= 1
    while lead and (span.at("and", lead - 1) == 1 or span[lead - 1].text == ","):
        lead -= 1
    if not lead:
        return span
    found.remarks = True
    return span.sub(0, lead).stripped()
