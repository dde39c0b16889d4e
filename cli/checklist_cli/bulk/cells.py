"""Reads the records of a delimited text file as spreadsheets write it (RFC 4180 and its variants)."""

import codecs
import csv
import io
import re
from dataclasses import dataclass
from typing import Final

_DELIMITERS: Final = (",", ";", "\t")
_SEPARATOR_LINE: Final = re.compile(r'"?sep=([^\r\n])"?(?:\r\n|\r|\n)')
"""Excel's own first line, which names the delimiter and is not a row."""
_QUOTED: Final = re.compile(r'"(?:[^"]|"")*"')


class MalformedFile(Exception):
    """`row` counts from 1, as in a spreadsheet; 0: the file as a whole."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row
        self.message = message


@dataclass(frozen=True, slots=True)
class Cells:
    """`records[0]` is row 1. `ends_whole`: the last record has its line end."""

    delimiter: str
    has_bom: bool
    records: list[list[str]]
    ends_whole: bool

    @property
    def whole_records(self) -> list[list[str]]:
        """Without an incomplete last record, which a crash may have left."""
        return self.records if self.ends_whole else self.records[:-1]


def read_cells(content: bytes) -> Cells:
    """Read commas, semicolons or tabs, any line end, quoted line ends, in UTF-8 or UTF-16 with a byte order mark.

    Raises MalformedFile.
    """
    text, has_bom = _decoded(content)
    named = _SEPARATOR_LINE.match(text)
    if named is not None:
        text = text[named.end() :]
    delimiter = named[1] if named is not None else _delimiter_of(text)
    records: list[list[str]] = []
    try:
        records.extend(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except (csv.Error, TypeError):
        message = 'a quotation mark is not closed, or text follows it; write " inside a quoted cell as ""'
        raise MalformedFile(len(records) + 1, message) from None
    return Cells(delimiter, has_bom, records, text == "" or text.endswith(("\n", "\r")))


def _decoded(content: bytes) -> tuple[str, bool]:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding, has_bom = "utf-16", True
    else:
        encoding, has_bom = "utf-8-sig", content.startswith(codecs.BOM_UTF8)
    try:
        return content.decode(encoding), has_bom
    except UnicodeDecodeError as error:
        row = 0 if encoding == "utf-16" else content[: error.start].count(b"\n") + 1
        raise MalformedFile(row, "the text is not UTF-8; in Excel, save as “CSV UTF-8”") from None


def _delimiter_of(text: str) -> str:
    """The most frequent delimiter of the first line, outside of quotation marks; a comma if there is none."""
    first = re.split(r"[\r\n]", _QUOTED.sub("", text[:100_000]), maxsplit=1)[0]
    return max(_DELIMITERS, key=first.count)
