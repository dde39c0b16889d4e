"""The sentence that says what is wanted: `I need a daily opening checklist for our bar with ...`."""

from dataclasses import dataclass
from typing import Final

from .modifiers import minutes_in
from .options import options_in
from .steps import without_lead
from .tasks import is_task, task_at
from .words import Span

_MAX_JOB_WORDS: Final = 14
_FEW_WORDS: Final = 6
_NOT_A_JOB: Final = (
    "be",
    "date_noun",
    "signature",
    "photo",
    "remarks",
    "scan_noun",
    "serial_noun",
    "if",
    "finds",
    "time_noun",
    "datetime_noun",
    "count",
)
_FIELDS: Final = (
    "number_noun",
    "name_noun",
    "date_noun",
    "time_noun",
    "serial_noun",
    "scan_noun",
    "long_noun",
    "checklist_part",
)
_TITLES: Final = ("job_noun", "checklist", "procedure")


@dataclass(slots=True)
class Intro:
    """The job and what follows it; `name` is the wish's own name for the checklist."""

    job: Span
    name: str
    rest: Span


def intro_of(span: Span) -> Intro | None:
    """The job that a sentence names as a wish or as a title, and the rest of the sentence."""
    if (length := span.at("ask_job")) or (length := _asked_later(span)):
        job = _after_for(span.sub(length)).stripped(" ?.!,:")
        return Intro(job, job.text, span.sub(len(span)))
    start, asked = _after_request(span)
    noun = _noun(span, start)
    if noun is None and not asked and (later := span.find("need")):
        start, asked = _after_request(span.sub(later[0]))
        start += later[0]
        noun = _noun(span, start) or (span.sub(start, start + 8).find("job_noun") and _job_noun(span, start))
    if noun is None and (asked or _describes(span, start)):
        noun = _job_noun(span, start)
    if noun is None:
        return _asked_before_colon(span)
    if _is_errand(span.sub(start, noun[0])):
        return None
    end = _end_of_job(span, noun[1])
    if span.has("if_certain") and not asked and noun[0] > 3:
        return None
    before, after = span.sub(start, noun[0]), span.sub(noun[1], end)
    if is_task(before) and len(before) > 1 and not asked:
        return None
    if not len(before) and not len(after) and end < len(span) and span[end].text == ":" and _is_title_alone(span, end):
        rest = span.sub(end + 1).stripped()  # `Procedure: freeing people from a lift`
        return Intro(rest, rest.text, span.sub(len(span)))
    job = _joined(_without_articles(before), _after_for(after))
    title = span.sub(start, end).stripped()
    rest = _rest(span, end)
    job, title = (_without_making(job), _without_making(title)) if asked else (job, title)
    after = _without_making(after) if asked else after
    if _asks_to_do(after):
        return Intro(before, before.text and span.sub(start, noun[1]).text, after.sub(1))
    return Intro(job, _name(title, before, after), rest)


def _asked_before_colon(span: Span) -> Intro | None:
    """`We run a gym and would like something so that staff check the ropes: scan the code, ...`"""
    colon = next((i for i in range(2, len(span)) if span[i].text == ":"), None)
    if colon is None or not _has_several(span.sub(colon)):
        return None
    found = span.sub(0, colon).find("request")
    if found is None or (is_task(span.sub(0, colon)) and found[0] == 0):
        return None
    return Intro(span.sub(found[1], colon), "", span.sub(colon + 1))


def _describes(span: Span, start: int) -> bool:
    """`Exit interview with employee name, department, ...`"""
    found = span.find("containing", start + 1)
    noun = span.find("job_noun", start)
    several = sum(token.text in ",;" for token in span) >= 2
    return bool(
        found and noun and noun[0] < found[0] <= start + _FEW_WORDS and several and not is_task(span.sub(start))
    )


def _without_making(span: Span) -> Span:
    """`(kannst du mir) eine Liste für die Übergabe machen`: the last word is what is done with the list."""
    last = len(span) - 1
    making = span.words.language.verb_last and last > 1 and span.at("photo_verb", last) and span[last].text.islower()
    return span.sub(0, last) if making else span


def _is_errand(before: Span) -> bool:
    """`I would like to replace our paper forms`: the list is no more than the object of something else."""
    return before.key(0) == "to" and is_task(before.sub(1))


def _asked_later(span: Span) -> int:
    found = span.find("ask_job")
    return found[1] if found and found[0] <= 2 else 0


def title_of(span: Span, *, alone: bool = False) -> Intro | None:
    """The job that a sentence is nothing but the name of: `Van check before every shift.`, `Morning check: ...`.

    `alone` says that it stands in front of everything else, so that few words suffice: `Crane daily.`
    """
    span = without_lead(span)
    if span.at("optional") or options_in(span) is not None:
        return None
    end = next((i for i in range(1, len(span)) if _ends_title(span, i)), None)
    head = span.sub(0, end).stripped()
    if (
        end is not None
        and span[end].text in "-–—"
        and alone
        and not head.has(*_TITLES)
        and not _has_several(span.sub(end))
    ):
        end, head = None, span.stripped()  # the dash is a part of the title
    elif end is not None and span[end].text != "," and alone and _names_what_follows(head, span.sub(end + 1)):
        head = _after_for(_without_wish(head))
        return Intro(head, head.text, span.sub(end + 1))
    if end is not None and span[end].text == ":" and head.any_at(_TITLES) == len(head) and _is_title_alone(span, end):
        return Intro(span.sub(end + 1), span.sub(end + 1).text, span.sub(len(span)))  # `Procedure: freeing people`
    roles = (*_TITLES, "frequency") if alone and len(head) <= _FEW_WORDS else _TITLES
    if not len(head) or len(head) > _MAX_JOB_WORDS or not head.has(*roles):
        return None
    often = head.at("frequency")  # `start of shift`, in which nothing starts
    if (
        head.sub(often if often < len(head) else 0).has("several", "choose", *_NOT_A_JOB)
        or (head.has("wh", "question") and not head.at("procedure"))
        or any(token.text in ";?" or token.is_number for token in head)
        or head.at("it_should")
    ):
        return None
    listed = end is not None and span[end].text == "-" and sum(token.text == "," for token in span.sub(end)) > 1
    if (is_task(head) and not _is_noun(head) and not listed) or head.at("in_place"):
        return None
    rest = span.sub(len(span)) if end is None else span.sub(end + 1)
    if end is not None and span[end].text == "," and not minutes_in(rest.sub(0, 8)) and not _lists_fields(head, rest):
        return None
    job = _without_articles(_without_please(head))
    return Intro(job, job.text, rest)


def _lists_fields(head: Span, rest: Span) -> bool:
    """`Harvest control, sugar at least 85, ...`: a job, and behind it only what is no job."""
    several = sum(token.text in ",;" for token in rest) >= 2
    named = head.has("state", "good", "bad", "number_noun", "name_noun")
    return several and len(head) > 1 and len(head) <= _FEW_WORDS and not named and not rest.has(*_TITLES)


def _is_title_alone(span: Span, colon: int) -> bool:
    rest = span.sub(colon + 1).stripped()
    return 0 < len(rest) <= _MAX_JOB_WORDS and not is_task(rest) and not any(token.text in ",;:?" for token in rest)


def _names_what_follows(head: Span, rest: Span) -> bool:
    """`First aid box: seal intact, gloves available, ...`: a thing, and what is to be said about it."""
    several = _has_several(rest) or _asks_several(rest)
    if len(head) > _FEW_WORDS or is_task(head) or not several or any(token.text == ":" for token in rest):
        return False
    return not head.has(
        "be",
        "place",
        "section_word",
        "if",
        "choose",
        "several",
        "choice_noun",
        "wh",
        "question",
        "notice",
        "section_break",
        "remarks",
        "photo",
        "signature",
        *_FIELDS,
    )


def _asks_several(rest: Span) -> bool:
    """`Tattoo studio: needles sealed? inks in date? ...`"""
    asked = sum(token.text == "?" for token in rest.words.tokens)
    return asked > 2 and len(rest) > 1 and rest[len(rest) - 1].text == "?"


def _has_several(rest: Span) -> bool:
    return sum(token.text in ",;" for token in rest) >= 2


def _ends_title(span: Span, position: int) -> bool:
    token = span[position]
    if token.text in ":–—,":
        return True
    spaced = position + 1 < len(span) and span[position - 1].end < token.start and token.end < span[position + 1].start
    return token.text == "-" and spaced


def _is_noun(head: Span) -> bool:
    """Whether a word that could be an instruction names a job: `check of the doors`, `test drive`."""
    found = head.find_any(_TITLES)
    if found is None:
        return False
    if found[0] > 0:
        return bool(head.at("noun_too") or head.at("for_title")) and not head.at("article", 1)
    return task_at(head)[1] < 2 and bool(head.at("for", found[1]) or len(head) == found[1])


def _without_wish(head: Span) -> Span:
    """`After a door opening I need: ...`"""
    found = head.find("it_should", 1) or head.find("request", 1)
    return head.sub(0, found[0]) if found is not None and found[1] == len(head) else head


def _without_please(span: Span) -> Span:
    while len(span) > 1 and span.at("please", len(span) - 1) == 1:
        span = span.sub(0, len(span) - 1)
    return span


def _after_request(span: Span) -> tuple[int, bool]:
    position, asked = 0, False
    moved = True
    while moved and position < len(span):
        moved = False
        for role in ("request", "also", "article", "meta", "please"):
            length = span.at(role, position)
            if length and (role != "please" or asked or position == 0):
                position, moved = position + length, True
                asked = asked or role == "request"
                break
        if not moved and asked and (length := span.at("to_whom", position)):
            position, moved = position + length, True
        if not moved and span[position].text in ",-":
            position, moved = position + 1, True
    return position, asked


def _noun(span: Span, start: int) -> tuple[int, int] | None:
    position = start
    while position < min(len(span), start + 12):
        if span[position].text in ":;.?!,":
            return None
        if length := span.at("checklist", position):
            return position, position + length
        position += 1
    return None


def _job_noun(span: Span, start: int) -> tuple[int, int] | None:
    """`we need a pool check every morning`: what is wished is a job."""
    position = start
    while position < min(len(span), start + 6):
        if span[position].text in ":;.?!," or (
            position == start and is_task(span.sub(position)) and span.at("article", position + 1)
        ):
            return None
        length = span.at("job_noun", position)
        if length and not span.at("job_noun", position + length):
            return position, position + length
        position += 1
    return None


def _end_of_job(span: Span, start: int) -> int:
    for position in range(start, len(span)):
        token = span[position]
        if token.text in ":;.!?" or (token.text in "–—-" and token.start > span[position - 1].end):
            return position
        spaced = token.text == "-" and span[position - 1].end < token.start
        if spaced or span.at("containing", position) or (span.at("it_should", position) and position > start):
            return position
        relative = span.at("relative", position) and not span.at("for", position)
        if relative and (not span.words.language.verb_last or span[position - 1].text == ","):
            return position
        if token.text == "," or span.at("and", position):
            after = span.sub(position + 1)
            if (
                is_task(after)
                or after.any_at(("containing", "it_should", "signer", "takes", "request", "if"))
                or minutes_in(after.sub(0, 5))
            ):
                return position
    return len(span)


def _rest(span: Span, end: int) -> Span:
    moved = True
    while moved and end < len(span):
        moved = False
        length = int(span[end].text in ":;,.–—-!") or span.any_at(("containing", "and"), end)
        if not length and span.at("it_should", end):
            length = span.at("it_should", end)
        if length:
            end, moved = end + length, True
    return span.sub(end)


def _asks_to_do(after: Span) -> bool:
    """`a checklist to check the doors`."""
    return bool(
        after.at("for") == 1
        and len(after) > 2
        and after.any_at(("check", "confirm", "measure"), 1)
        and after.key(0) in {"to", "zum", "para", "pour"}
    )


def _after_for(after: Span) -> Span:
    length = after.at("for")
    return _without_articles(after.sub(length) if length else after)


def _without_articles(span: Span) -> Span:
    while len(span) and span.at("article"):
        span = span.sub(span.at("article"))
    return span.stripped()


def _joined(first: Span, second: Span) -> Span:
    return Span(first.words, [*first.index, *second.index])


def _name(title: Span, before: Span, after: Span) -> str:
    if len(before) or not after.at("for"):
        return _without_articles(title).text
    return _after_for(after).text or title.text
