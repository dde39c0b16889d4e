"""Writes CSV (RFC 4180), safe against formula injection."""

import re
import string
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

BOM: Final = b"\xef\xbb\xbf"
"""Byte order mark, without which Excel does not read the file as UTF-8."""
_QUOTED: Final = re.compile(r'[",\r\n]')
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_SEPARATORS: Final = re.compile(r"([;|\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029])")
"""Characters within a text after which other readers may begin a cell: spreadsheets with a decimal comma split at
semicolons and treat our quotes as text; a file may also be read with tabs or line by line."""

Cell = str | int | float | datetime | None


def csv_row(cells: Sequence[Cell]) -> bytes:
    """Return a record with its line end."""
    return (",".join(map(_cell, cells)) + "\r\n").encode("utf-8", "replace")


def escape_formulas(text: str) -> str:
    """Escape each formula that could begin a cell with an apostrophe.

    Plain numbers are unchanged. White space and quotes before a formula are ignored, since spreadsheets strip them.
    """
    escaped = "".join(part if index % 2 else _escaped(part) for index, part in enumerate(_SEPARATORS.split(text)))
    return f"'{escaped}" if text.startswith(("\t", "\r", "\n")) else escaped


def _escaped(part: str) -> str:
    if not part.lstrip('"' + string.whitespace).startswith(_FORMULA) or _NUMBER.fullmatch(part.strip()):
        return part
    return f"'{part}"


def _cell(value: Cell) -> str:
    match value:
        case None:
            return ""
        case datetime():
            # Format recognized by spreadsheets, in UTC (see the column names).
            return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        case str():
            text = escape_formulas(value)
            return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) or text != text.strip() else text
        case int():
            return str(value)
        case float():
            return repr(value)
