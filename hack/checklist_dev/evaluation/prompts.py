"""Generates artificial prompts: random ones, and mutations of real ones."""

import random
from collections.abc import Iterator, Sequence
from typing import Final

from .hostile_prompts import HOSTILE, LONGEST, SHORTEST


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(" "))


WORDS: Final = (
    *_words(
        "check the fridge doors windows and or if it is damaged not otherwise then when unless must optional photo"
    ),
    *_words(
        "photo photos take each rate from to stars with signature sign between below above minutes section kitchen"
    ),
    *_words("bathroom condition good worn broken yes no yes/no describe please restaurant opening checklist for in"),
    *("at least", "at most", "no more than", "which of", "select all", "Step 1:", "describe the damage"),
    *_words(
        "prüfen der die Kühlschrank höchstens zwischen wenn falls sonst Foto Unterschrift bewerten von bis Zustand"
    ),
    *_words("Zustand gut oder nicht Wohnungsübergabe ansonsten ca. Sie revisar la puerta si está dañado entre y foto"),
    *("menos de", "¿hay fugas?", "si oui", "au moins", "qu'il", "l'état", "d'huile"),
    *_words("vérifier sinon prendre prévenir entre et ou la porte du four avec une photo"),
)
UNITS: Final = _words("°C °F % mm psi bar V min h km L kg ppm dB lux € µm m³ x")
NUMBERS: Final = (*_words("0 1 -18 2.2 2,6 5 40-60 1.000 1,000.5 1/2 ½ 10^9 1e400 ² ٣ -0"), "9" * 30)
SIGNS: Final = _words(". , ; : ! ? - – — / | ( ) [ ] [x] { } < > # ## * • · \" ' ` ~ = + & % $ @ \\ ¿ ¡ … « » “ ”")
GAPS: Final = (
    *(" ", " ", " ", " ", "\n", "\n\n", "\n- ", "\n* ", "\n1. ", "\n2) ", "\na) ", "\n  - ", "\t", "\r\n"),
    *(", ", ": ", ". ", ""),
)
STRANGE: Final = (
    *_words("\x00 \x01 \x07 \x1b \x7f \x85 \u200b \u200d \u200e \u200f \u202e \u2028 \u2029 \u2066 \ufeff"),
    *_words("\ufffd \ufffe \ud800 \udfff \U0010ffff \U000e0041 \U0001f600 \U0001f468\u200d\U0001f469 e\u0301\u0301"),
    *_words("شروع בדיקה 厨房检查 проверка ตรวจ ﷽ Ǆ ß İ ı ſ ﬀ 𝔉𝔯𝔦𝔡𝔤𝔢"),
)


def random_prompt(source: random.Random) -> str:
    """A prompt of 4 to 4,000 characters, of the composer's words, numbers, signs and strange characters."""
    length = source.choice((12, 60, 300, 1_200, LONGEST))
    strange = source.choice((0, 0, 1, 20))
    parts: list[str] = []
    size = 0
    while size < length:
        kinds: Sequence[Sequence[str]] = source.choices((WORDS, NUMBERS, UNITS, SIGNS, STRANGE), (70, 8, 8, 8, strange))
        part = source.choice(kinds[0]) + source.choice(GAPS)
        if source.random() < 0.004:
            part *= source.choice((3, 40, 400))
        parts.append(part)
        size += len(part)
    text = "".join(parts)[:length]
    return text if len(text) >= SHORTEST else text + "door"


def mutated(source: random.Random, prompts: Sequence[str]) -> str:
    """A real prompt, cut and joined with another one, repeated, shuffled or with changed letters."""
    text = source.choice(prompts)
    match source.randrange(6):
        case 0:
            other = source.choice(prompts)
            text = text[: source.randrange(len(text))] + other[source.randrange(len(other)) :]
        case 1:
            text = text * source.randrange(2, 30)
        case 2:
            lines = text.splitlines(keepends=True)
            source.shuffle(lines)
            text = "".join(lines)
        case 3:
            words = text.split(" ")
            source.shuffle(words)
            text = " ".join(words)
        case 4:
            letters = list(text)
            for _ in range(len(letters) // 12):
                letters[source.randrange(len(letters))] = source.choice((*STRANGE, *SIGNS, " ", "\n", "x"))
            text = "".join(letters)
        case _:
            text = source.choice((text.upper(), text.lower(), text.replace(" ", ""), text.replace("\n", " ")))
    text = text[:LONGEST]
    return text if len(text) >= SHORTEST else text + "door"


def repeated(source: random.Random) -> str:
    """A short text repeated up to the maximum length, to make quadratic rules visible."""
    kinds = (WORDS, WORDS, WORDS, NUMBERS, UNITS, SIGNS)
    part = "".join(source.choice(source.choice(kinds)) + source.choice(GAPS) for _ in range(source.randrange(1, 7)))
    return (part * LONGEST)[:LONGEST]


def disturbed(source: random.Random) -> str:
    """A hostile prompt, cut and rotated, with a random one inserted."""
    text = source.choice(list(HOSTILE.values()))
    start, end = source.randrange(len(text)), source.randrange(len(text))
    text = text[start:] + random_prompt(source)[: source.choice((0, 20, 200))] + text[:end]
    text = text[:LONGEST]
    return text if len(text) >= SHORTEST else text + "door"


def any_prompts(seed: int, count: int, written: Sequence[str]) -> Iterator[str]:
    """`count` prompts: the hostile ones, then in turn mutations of `written`, random, repeated and disturbed ones."""
    source = random.Random(seed)
    hostile = list(HOSTILE.values())
    yield from hostile[:count]
    for number in range(count - len(hostile)):
        match number % 4:
            case 0:
                yield mutated(source, written)
            case 1:
                yield random_prompt(source)
            case 2:
                yield repeated(source)
            case _:
                yield disturbed(source)
