"""Building blocks for the JSON Schema of answers, shared by the step types (contract section 4).

JSON Schema cannot order strings, and regular expressions differ between its libraries. The patterns here use only
literal characters, classes and groups, which mean the same in ECMA-262 (with and without the flag u), Python and RE2.
These cannot decide exactly whether a text has visible characters. Rules that depend on it have a strict and a lenient
schema.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

Schema = dict[str, Any] | bool


@dataclass(frozen=True, slots=True)
class Criterion:
    """A rule about a value, an answer or all answers, as two schemas.

    What is valid against `surely` meets the rule; what meets the rule is valid against `possibly`. They are equal where
    JSON Schema can express the rule exactly.
    """

    surely: Schema
    possibly: Schema

    @property
    def is_exact(self) -> bool:
        return self.surely == self.possibly

    def negated(self) -> "Criterion":
        return Criterion(_not(self.possibly), _not(self.surely))

    def of_member(self, name: str, *, required: bool = False) -> "Criterion":
        """Apply the rule to a member of an object. An object without the member meets it, unless `required`."""
        return Criterion(_of_member(name, self.surely, required), _of_member(name, self.possibly, required))


def exact(schema: Schema) -> Criterion:
    return Criterion(schema, schema)


def all_of(criteria: Iterable[Criterion]) -> Criterion:
    return _joined("allOf", list(criteria))


def any_of(criteria: Iterable[Criterion]) -> Criterion:
    return _joined("anyOf", list(criteria))


NEVER: Final = exact(False)
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|")
_SURELY_VISIBLE: Final = (
    # Contiguous ranges since Unicode 14 of the most used scripts.
    *((0x21, 0x7E), (0xA1, 0xAC), (0xAE, 0x377), (0x3A3, 0x52F), (0x5D0, 0x5EA), (0x61D, 0x6DC), (0x8E3, 0x983)),
    *((0xE01, 0xE3A), (0x1000, 0x10C5), (0x10D0, 0x1248), (0x1780, 0x17DD), (0x1D00, 0x1F15), (0x2100, 0x218B)),
    *((0x2190, 0x2426), (0x2460, 0x2B73), (0x3041, 0x3096), (0x3099, 0x30FF), (0x3220, 0xA48C), (0xAC00, 0xD7A3)),
    (0xFF01, 0xFFBE),
)
_INVISIBLE: Final = (
    # Incomplete: other invisible characters count as possibly visible.
    *((0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200F), (0x2028, 0x202F)),
    *((0x205F, 0x2064), (0x2066, 0x206F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)


def literal(text: str) -> str:
    """Return a regular expression that matches `text` literally."""
    return "".join(f"\\{character}" if character in _SYNTAX else character for character in text)


def _class_of(ranges: Iterable[tuple[int, int]]) -> str:
    ends = ((_in_class(first), _in_class(last)) for first, last in ranges)
    return "".join(first if first == last else f"{first}-{last}" for first, last in ends)


def _in_class(code_point: int) -> str:
    # Control characters are escaped: they are unreadable in a schema.
    return f"\\x{code_point:02x}" if code_point < 0x100 else chr(code_point)


POSSIBLY_VISIBLE: Final[dict[str, Any]] = {"type": "string", "pattern": f"[^{_class_of(_INVISIBLE)}]"}
VISIBLE: Final = Criterion({"type": "string", "pattern": f"[{_class_of(_SURELY_VISIBLE)}]"}, POSSIBLY_VISIBLE)
"""Whether a text has visible characters, as `has_visible_text` decides."""


def sorts_after(text: str, *, or_equal: bool) -> str:
    """Return a regular expression for strings that sort after `text` and have digits at the same places (dates)."""
    greater, prefix = [], ""
    for character in text:
        if "0" <= character < "9":
            greater.append(f"{prefix}[{chr(ord(character) + 1)}-9]")
        prefix += f"\\{character}" if character in _SYNTAX else character
    return f"^(?:{'|'.join([*greater, prefix if or_equal else prefix + '.'])})"


def _not(schema: Schema) -> Schema:
    if isinstance(schema, bool):
        return not schema
    return schema["not"] if schema.keys() == {"not"} else {"not": schema}


def _of_member(name: str, schema: Schema, required: bool) -> Schema:
    if schema is False and required:
        return False
    return {"required": [name], "properties": {name: schema}} if required else {"properties": {name: schema}}


def _joined(keyword: str, criteria: list[Criterion]) -> Criterion:
    if len(criteria) == 1:
        return criteria[0]
    return Criterion(
        {keyword: [criterion.surely for criterion in criteria]},
        {keyword: [criterion.possibly for criterion in criteria]},
    )
