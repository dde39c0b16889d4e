"""Writes CSV (RFC 4180) with cells that no spreadsheet interprets as formulas."""

import re
import string
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

BOM: Final = b"\xef\xbb\xbf"
"""Without it, Excel reads the file in the machine's old code page, and every accent is broken."""
_QUOTED: Final = re.compile(r'[",\r\n]')
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_STARTS: Final = re.compile(r"([;|\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029])")
"""What may start a cell within a text. Where a comma is the decimal sign, spreadsheets divide at semicolons, and the
quote that begins a cell for us is within a text for them. A file may also be read with tabs, or line by line."""

Cell = str | int | float | datetime | None


def csv_row(cells: Sequence[Cell]) -> bytes:
    """One record with its line end."""
    return (",".join(map(_cell, cells)) + "\r\n").encode("utf-8", "replace")


def harmless(text: str) -> str:
    """The text so that no spreadsheet computes it: with an apostrophe before each formula that would begin a cell.

    A plain number stays one. White space and quotes before a formula do not hide it: spreadsheets take them off.
    """
    held = "".join(part if place % 2 else _held(part) for place, part in enumerate(_STARTS.split(text)))
    return f"'{held}" if text.startswith(("\t", "\r", "\n")) else held


def _held(part: str) -> str:
    if not part.lstrip('"' + string.whitespace).startswith(_FORMULA) or _NUMBER.fullmatch(part.strip()):
        return part
    return f"'{part}"


def _cell(value: Cell) -> str:
    match value:
        case None:
            return ""
        case datetime():
            # As spreadsheets take it for a date. In UTC, which the column's name says.
            return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        case str():
            text = harmless(value)
            return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) or text != text.strip() else text
        case int():
            return str(value)
        case float():
            return repr(value)
