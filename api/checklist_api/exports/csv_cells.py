"""CSV as RFC 4180 has it, and cells that no spreadsheet takes for a formula."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

BOM: Final = b"\xef\xbb\xbf"
"""Without it, Excel reads the file in the machine's old code page, and every accent is broken."""
_QUOTED: Final = re.compile(r'[",\r\n]')
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

Cell = str | int | float | datetime | None


def csv_row(cells: Sequence[Cell]) -> bytes:
    """One record with its line end."""
    return (",".join(map(_cell, cells)) + "\r\n").encode("utf-8", "replace")


def harmless(text: str) -> str:
    """The text so that no spreadsheet computes it: with an apostrophe before what would begin a formula.

    A plain number stays one. All other text is held to it, also after white space, which spreadsheets trim.
    """
    if _NUMBER.fullmatch(text):
        return text
    return f"'{text}" if text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA) else text


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
