"""Parses details of an answer: options, units, expected values, scales, numbers of photos."""

import re
from collections.abc import Mapping
from typing import Final

from ..language import Language, fold
from ..naming import label_of
from .tokens import TokenizedText

_NUMBER: Final = re.compile(r"[-−–]?\d+(?:[.,]\d+)?")
_STRONG: Final = re.compile(r"\s*(?:[/|;•·]|\[[ xX]?\]|[☐☑□○●]|\n\s*[-*•]?|\s[-–—]\s)\s*")
_COMMA: Final = re.compile(r"\s*,\s*")
_NUMBERED: Final = re.compile(r"(?:(?<=^)|(?<=[\s,;]))\(?(?:[1-9a-e])[.)]\s+")
_FRACTION: Final = re.compile(r"\b(\d)/(\d)\b")
_EDGE: Final = " \t\n,;:.()[]{}\"'“”„«»/|"
_LONG_OPTION: Final = 6
"""Maximum words of an option; more are a sentence."""
YES: Final = frozenset({"yes", "ja", "si", "oui", "y", "j", "s", "o"})
NO: Final = frozenset({"no", "nein", "non", "n"})
_SCALE: Final = re.compile(r"(\d+)\s*(?:-|–|—|\.{2,3}|…|/|[^\W\d_]{1,6})\s*(\d+)")
_MAX_GRADE: Final = 100
_UPPER: Final = frozenset({"below", "at_most", "after_number_most"})
_LOWER: Final = frozenset({"above", "at_least", "after_number_least"})
_BOUNDING: Final = _UPPER | _LOWER
_BEHIND: Final = frozenset({"after_number_most", "after_number_least"})
_LIMITING: Final = frozenset({"between", "to", "should_be", "allowed", "article"})
_DOUBTFUL: Final = re.compile(r"[1-9]\d*[.,]\d{3}(?!\d)|\d/\d")


def options_of(text: str, language: Language) -> list[str]:
    """The options in a text; empty if there are fewer than two.

    `good, fair or poor`, `ok/worn/broken`, `[ ] left [ ] right`, `A B C`.
    """
    text = text.strip(_EDGE + "?")
    text = _FRACTION.sub("\\1⁄\\2", _NUMBERED.sub("|", text))
    pieces = _STRONG.split(text)
    if len([piece for piece in pieces if piece.strip(_EDGE)]) < 2:
        pieces = [part for piece in _COMMA.split(text) for part in _split_at_words(piece, language)]
    else:
        last = [piece for piece in pieces if piece.strip(_EDGE)][-1]
        pieces = [piece for piece in pieces if piece != last] + _split_at_words(last, language, only="or")
    found = list(dict.fromkeys(option for piece in pieces if (option := _tidy(piece, language))))
    if len(found) < 2:
        words = [word for word in text.split() if not _is(word, language, "or") and not _is(word, language, "and")]
        found = list(dict.fromkeys(_tidy(word, language) for word in words)) if len(words) >= 2 else []
        if any(fold(word) in language.function_words for word in words):
            return []
    if any(len(option.split()) > _LONG_OPTION for option in found):
        return []
    return [option.replace("⁄", "/") for option in found if option]


def _split_at_words(piece: str, language: Language, only: str = "") -> list[str]:
    parts: list[str] = [""]
    for word in piece.split(" "):
        joins = _is(word, language, "or") or (not only and _is(word, language, "and"))
        if joins and word.lower() not in {"-", "/"}:
            parts.append("")
        else:
            parts[-1] = f"{parts[-1]} {word}".strip()
    return [part for part in parts if part]


def roles_of(word: str, language: Language) -> Mapping[str, int]:
    """The roles of a single word."""
    return language.marks([language.forms(word)], 0)


def _is(word: str, language: Language, role: str) -> bool:
    return bool(word) and roles_of(word.strip(",") or word, language).get(role) == 1


def _tidy(option: str, language: Language) -> str:
    words = option.strip(_EDGE).split()
    while len(words) > 1 and any(_is(words[0], language, role) for role in ("or", "either", "and")):
        words = words[1:]
    return label_of(" ".join(words)) if any(word[0].isalnum() or word in "+-" for word in words) else ""


def numbers_of(text: str, language: Language) -> list[float]:
    """The numbers in a text, in digits or words, in order."""
    found: list[tuple[int, float]] = []
    previous = -1
    for match in _NUMBER.finditer(text):
        digits = match.group().replace("−", "-").replace("–", "-")
        if (
            digits.startswith("-")
            and match.start()
            and (text[match.start() - 1].isalnum() or previous == match.start())
        ):
            digits = digits[1:]  # `2-8` is a range
        elif digits.startswith("-") and found and not text[previous : match.start()].strip():
            digits = digits[1:]
        found.append((match.start(), float(digits.replace(",", "."))))
        previous = match.end()
    for match in re.finditer(r"[^\W\d_]+", text):
        value = language.numbers.get(fold(match.group()))
        if value is not None and not _is(match.group(), language, "article"):
            found.append((match.start(), value))
    return [value for _, value in sorted(found)]


def unit_in(text: str, language: Language) -> str | None:
    """The display name of the known unit behind a number in a text, or None."""
    tokens = TokenizedText(language, text).tokens
    for index, token in reversed(list(enumerate(tokens[:-1]))):
        if token.is_number or fold(token.text) in language.numbers:
            for end in range(min(len(tokens), index + 5), index + 1, -1):
                unit = known_unit(text[tokens[index + 1].start : tokens[end - 1].end], language)
                if unit is not None:
                    return unit
    return None


def unit_of(text: str, language: Language) -> str | None:
    """The unit in a span labelled as one: the display name of a known unit, else the words."""
    words = text.strip(_EDGE).split()
    roles = ("in_unit", "preposition", "as_options", "article")
    while len(words) > 1 and (any(_is(words[0], language, role) for role in roles) or words[0] in ":=("):
        words = words[1:]
    said = " ".join(words).strip(_EDGE)
    return known_unit(said, language) or said[:50] or None


def known_unit(words: str, language: Language) -> str | None:
    """The display name of a unit if the words are exactly a known one, or None."""
    if words.casefold().strip() in language.unfolded or _is(words.strip(), language, "preposition"):  # à is no A
        return None
    found = language.units.get(fold(words).strip())
    return found[0] if found else None


def scale_of(text: str, language: Language) -> tuple[int, int] | None:
    """The lowest and highest grade of a scale: `1-5`, `from 1 to 10`, `out of 5`, `1 = bad, 5 = great`."""
    numbers = [int(number) for number in numbers_of(text, language) if float(number).is_integer()]
    match = _SCALE.search(text)
    if match:
        low, high = int(match.group(1)), int(match.group(2))
    elif len(numbers) >= 2:
        low, high = min(numbers), max(numbers)
    elif len(numbers) == 1:
        low, high = 1, numbers[0]
    else:
        return None
    low, high = min(low, high), max(low, high)
    return (low, high) if 0 <= low < high <= _MAX_GRADE and high > 1 else None


def limits_of(text: str, language: Language, *, whole: bool = False) -> tuple[float | None, float | None]:
    """The minimum and maximum expected value in the words of a limit; None if missing or ambiguous.

    `whole`: None, too, if the text has other words, or a number that is not in plain digits: `1.500`, `2/32`, `twelve`.
    """
    tokens = TokenizedText(language, text)
    numbers = numbers_of(text, language)
    found: set[str] = set()
    bounded: set[int] = set()
    known = _BOUNDING - _BEHIND
    for at, roles in enumerate(tokens.roles):
        known = _BOUNDING if at and tokens.tokens[at - 1].is_number else known
        bounding = {role: length for role, length in roles.items() if role in known}
        if at not in bounded and bounding:  # `not below`, without `below`
            longest = max(bounding.values())
            found |= {role for role, length in bounding.items() if length == longest}
            bounded.update(range(at, at + longest))
    if any("not" in roles for at, roles in enumerate(tokens.roles) if at not in bounded):
        return None, None
    if whole and (_DOUBTFUL.search(text) or not _is_limit_only(tokens, bounded if len(numbers) == 1 else set())):
        return None, None
    if whole and sum(token.is_number for token in tokens.tokens) != len(numbers):
        return None, None
    upper, lower = bool(found & _UPPER), bool(found & _LOWER)
    if len(numbers) == 2 and numbers[0] < numbers[1]:
        return numbers[0], numbers[1]
    if len(numbers) == 1 and upper != lower:
        return (None, numbers[0]) if upper else (numbers[0], None)
    return None, None


def _is_limit_only(tokens: TokenizedText, bounded: set[int]) -> bool:
    """Whether all words are numbers, units, words of a limit, or in `bounded`."""
    said = {
        inner
        for at, roles in enumerate(tokens.roles)
        for role in roles.keys() & _LIMITING
        for inner in range(at, at + roles[role])
    }
    return all(
        at in said | bounded or not token.is_word or tokens.may_measure[at] or tokens.tokens[at - 1].text == "°"
        for at, token in enumerate(tokens.tokens)
    )
