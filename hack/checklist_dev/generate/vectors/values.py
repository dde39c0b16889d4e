"""Steps and values for them: every type at and beyond its bounds, and values of other types."""

from collections.abc import Iterator
from typing import Any, Final

from checklist_crds.resources.template_definition import StepType

OPTIONS: Final = [
    {"id": "o-a", "label": "Alpha"},
    {"id": "o-b", "label": "Beta <b>"},
    {"id": "o-ab", "label": "أبجد"},
    {"id": "o-A", "label": "Capital"},
]
ANYTHING: Final[tuple[Any, ...]] = (None, True, 0, 1, 2.5, "", "yes", [], ["o-a"], {}, {"name": "Ada"})
"""Tried on every step: JSON of each kind."""

_EMOJI: Final = "👩🏽‍🔧"  # five characters of Unicode, seven units of UTF-16
_NAMELESS: Final = "\u00a0\u200b \u2028\ufeff"

_NUMBERS: Final = (
    0,
    -0.0,
    5,
    5.0,
    -1,
    9.99,
    10,
    10.01,
    1e3,
    2**53 - 1,
    2**53,
    -(2**53 - 1),
    -(2**53),
    1e300,
    "5",
    True,
)
_DECIMALS: Final = (
    0.1 + 0.2,
    0.3,
    0.15,
    0.125,
    0.005,
    1.005,
    2.675,
    1e-7,
    1.1 * 3,
    4.35 * 100,
    1234567.89,
    1234567.891,
    99999999999.99,
    -2.5,
    -0.004,
    3,
    4.999999999999999,
    1e21,
    0.1 * 3,
    1.15 + 2.30,
    9007199254740991,
    -(0.1 + 0.2),
    2251799813685248.5,
    2251799813685249.5,
)

STEPS: Final[dict[str, dict[str, Any]]] = {
    "boolean": {"type": "boolean", "config": {"true_label": "Locked", "false_label": "Open"}},
    "boolean without labels": {"type": "boolean"},
    "number": {"type": "number"},
    "number from 0 to 10": {"type": "number", "config": {"min": 0, "max": 10, "unit": "°C"}},
    "number from -0.5": {"type": "number", "config": {"min": -0.5}},
    "number up to 99.5": {"type": "number", "config": {"max": 99.5}},
    "integer": {"type": "number", "config": {"decimal": 0}},
    "number with 1 decimal": {"type": "number", "config": {"decimal": 1, "unit": "bar"}},
    "number with 2 decimals": {"type": "number", "config": {"decimal": 2, "min": -1000}},
    "number with 10 decimals": {"type": "number", "config": {"decimal": 10}},
    "choice": {"type": "choice", "config": {"options": OPTIONS}},
    "multi_choice": {"type": "multi_choice", "config": {"options": OPTIONS}},
    "multi_choice, required": {"type": "multi_choice", "required": True, "config": {"options": OPTIONS}},
    "multi_choice, 2 to 3": {
        "type": "multi_choice",
        "config": {"options": OPTIONS, "min_selected": 2, "max_selected": 3},
    },
    "multi_choice, required with min 0": {
        "type": "multi_choice",
        "required": True,
        "config": {"options": OPTIONS, "min_selected": 0},
    },
    "text": {"type": "text"},
    "text, required": {"type": "text", "required": True},
    "text, multiline": {"type": "text", "config": {"multiline": True}},
    "rating": {"type": "rating", "config": {"low_label": "Bad", "high_label": "Good"}},
    "rating from -2 to 2": {"type": "rating", "config": {"min": -2, "max": 2}},
    "rating of one grade": {"type": "rating", "config": {"min": 3, "max": 3, "low_label": "Low", "high_label": "High"}},
    "date": {"type": "date"},
    "time": {"type": "time"},
    "datetime": {"type": "datetime"},
    "signature": {"type": "signature"},
    "scan": {"type": "scan"},
    "scan, required": {"type": "scan", "required": True},
    "photo": {"type": "photo"},
    "instruction": {"type": "instruction"},
}

_DATES: Final = (
    "2026-11-21",
    "2024-02-29",
    "2026-02-29",
    "1900-02-29",
    "2000-02-29",
    "2026-04-31",
    "2026-13-01",
    "2026-00-10",
    "2026-01-00",
    "0001-01-01",
    "0000-01-01",
    "9999-12-31",
    "10000-01-01",
    "2026-1-1",
    "2026-11-21T00:00:00Z",
    "20261121",
    "2026-W47-6",
    " 2026-11-21",
    "2026-11-21\n",
    "٢٠٢٦-١١-٢١",
)
_TIMES: Final = (
    "13:50",
    "00:00",
    "23:59",
    "24:00",
    "23:60",
    "13:50:30",
    "13:50:00",
    "23:59:60",
    "1:50",
    "13:50:3",
    "13:50Z",
    "13.50",
    "13:50\n",
    "T13:50",
)
_MOMENTS: Final = (
    "2026-11-21T13:50:00Z",
    "2026-11-21t13:50:00z",
    "2026-11-21T13:50:30.1234567Z",
    "2026-11-21T13:50:00.9999Z",
    "2026-11-21T13:50:00.123456789Z",
    "2026-11-21T13:50:00.1234567890Z",
    "2026-11-21T14:50:00+01:00",
    "2026-11-21T00:30:00+05:45",
    "2026-11-20T23:30:00-09:30",
    "2026-11-21T13:50:00+23:59",
    "2026-11-21T13:50:00+24:00",
    "2026-11-21T13:50:00+01:60",
    "2026-11-21T24:00:00Z",
    "2026-11-21T13:50:00-00:00",
    "2026-11-21T13:50:00",
    "2026-11-21 13:50:00Z",
    "2026-11-21T13:50Z",
    "2026-11-21T23:59:60Z",
    "2026-02-30T13:50:00Z",
    "2024-02-29T23:59:59.999-00:01",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-00:01",
    "2026-11-21",
    "now",
)
_TEXTS: Final = (
    "Fine.",
    "  spaces stay  ",
    "line\nbreak",
    _NAMELESS,
    "\u00ad",
    "\u0301",
    "a\x00b",
    "<script>alert(1)</script>",
    "مرحبا",
)
_LONG_TEXTS: Final = ("x" * 500, "x" * 501, "😀" * 500, "😀" * 501, _EMOJI * 100, _EMOJI * 100 + "x")
_SELECTIONS: Final[tuple[Any, ...]] = (
    [],
    ["o-a"],
    ["o-b", "o-a"],
    ["o-ab", "o-b", "o-a"],
    ["o-A", "o-ab", "o-b", "o-a"],
    ["o-a", "o-a"],
    ["o-a", "o-z"],
    ["o-z", "o-z"],
    ["o-a", 1],
    ["o-a", None],
    ["O-A"],
    "o-a",
)
_SIGNATURES: Final = (
    {"name": "  Ada Lovelace\u00a0"},
    {"name": "Ada", "url": "https://example.com/x.png", "signed_at": "2020-01-01T00:00:00Z"},
    {"name": ""},
    {"name": _NAMELESS},
    {"name": None},
    {"name": 5},
    {"name": "x" * 200},
    {"name": "x" * 201},
    {"name": " " + "x" * 200 + " "},
    {"name": "😀" * 200},
    {"name": "a\x00"},
    {"name": "\x85\x1fAda\u2003\ufeff"},
    {"Name": "Ada"},
    "Ada",
    ["Ada"],
)

_OF_TYPE: Final[dict[str, tuple[Any, ...]]] = {
    "boolean": (False, "true"),
    "number": _NUMBERS,
    "rating": (-3, -2, -1, 1.0, 3, 3.5, 4, 5, 6, 100, 2**53, -0.0, "3"),
    "choice": ("o-a", "o-A", "o-ab", "o-z", "O-a", "Alpha", "constructor", "__proto__"),
    "multi_choice": _SELECTIONS,
    "text": _TEXTS,
    "scan": _TEXTS[:7],
    "date": _DATES,
    "time": _TIMES,
    "datetime": _MOMENTS,
    "signature": _SIGNATURES,
    "photo": ("a photo", {"photo_index": 0}),
    "instruction": ("read",),
}
_OF_STEP: Final[dict[str, tuple[Any, ...]]] = {
    "integer": _DECIMALS,
    "number with 1 decimal": _DECIMALS,
    "number with 2 decimals": _DECIMALS,
    "number with 10 decimals": _DECIMALS,
    "number from -0.5": (-0.5, -0.50001, -1),
    "number up to 99.5": (99.5, 99.50001, 100),
    "text": _LONG_TEXTS,
    "text, multiline": ("x" * 501, "x" * 4000, "x" * 4001),
    "scan": _LONG_TEXTS[:2],
}


def value_cases() -> Iterator[tuple[str, Any]]:
    """(name of a step, value)"""
    seen_types: set[str] = set()
    for name, step in STEPS.items():
        kind = StepType(step["type"])
        # Values of other types are tried once per type; bounds and forms on every step.
        values = (*(ANYTHING if kind not in seen_types else ANYTHING[:1]), *_OF_TYPE[kind], *_OF_STEP.get(name, ()))
        seen_types.add(kind)
        for value in values:
            yield name, value


LOCATIONS: Final[tuple[Any, ...]] = (
    None,
    {"lat": 52.5, "lng": 13.4, "accuracy_m": 8},
    {"lat": 52.5, "lng": 13.4, "accuracy_m": None},
    {"lat": 52.5, "lng": 13.4},
    {"lat": -90, "lng": 180, "accuracy_m": 0},
    {"lat": 90.0001, "lng": -180.0001, "accuracy_m": -1},
    {"lat": "52.5", "lng": True},
    {"lng": 13.4},
    {},
    [],
    "52.5,13.4",
    5,
    False,
)
IDENTITIES: Final[tuple[tuple[str, str], ...]] = (
    ("Ada Lovelace", "ada@example.com"),
    ("  Ada  ", "  ada@example.com  "),
    ("", ""),
    (_NAMELESS, "ada"),
    ("x" * 200, "ada@example"),
    ("x" * 201, "ada@@example.com"),
    ("😀" * 200, "a.b+c@sub.example.co.uk"),
    ("two\nlines", ".ada@example.com"),
    ("a\x00b", "ada.@example.com"),
    ("Ada", "a..b@example.com"),
    ("Ada", "ada@example.com."),
    ("Ada", "ada@-example.com"),
    ("Ada", "ada@exa_mple.com"),
    ("Ada", "ada@127.0.0.1"),
    ("Ada", "ada@[127.0.0.1]"),
    ("Ada", "ada@example.com:25"),
    ("Ada", "ada@example.com/x"),
    ("Ada", "ada@exam ple.com"),
    ("Ada", "ada lovelace@example.com"),
    ("Ada", '"ada"@example.com'),
    ("Ada", "ada@münchen.example"),
    ("Ada", "użytkownik@example.com"),
    ("Ada", "ada@EXAMPLE.com"),
    ("Ada", "ada@مثال.example"),
    ("Ada", "x" * 64 + "@example.com"),
    ("Ada", "x" * 65 + "@example.com"),
    ("Ada", "ada@" + "x" * 64 + ".com"),
    ("Ada", "ada\u200b@example.com"),
    ("Ada", "ada@example.123"),
    ("Ada", "ada@example..com"),
    ("Ada", "ada@" + "x." * 124 + "com"),
)
