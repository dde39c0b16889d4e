"""The lines of a prompt as an outline: headings, list items with their level, rows of tables, running text.

Pasted lists look like anything: bullets, check boxes, numbers with dots or parentheses, letters, `Step 3:`, tabs,
Markdown, or just lines. What belongs below what is told by indentation and, where nobody indented, by the style of
the marker: a new style opens a level, a known one returns to it.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_LEVEL: Final = 6

_BULLET: Final = re.compile(
    r"(?:[-–—*•·▪▫●○◦‣⁃■□☐☑☒✓✔✗➢➤►▶→+>]|\[[ xX_]?\]|\([ _]\))(?:\s*\[[ xX_]?\])?(?=\s)\s+|"
    r"[•▪●○◦‣☐☑☒✓✔➢➤►▶]\s*|\[[ xX_]?\]\s*"
)
_NUMBER: Final = re.compile(
    r"(?P<dotted>\d{1,3}(?:\.\d{1,3}){1,4})[.)]?\s+(?=\D)|\(?(?P<plain>\d{1,3})(?:[.)](?=\s|[^\W\d])|\s*[-–:](?=\s))\s*|"
    r"\(?(?P<letter>[a-zA-Z])[.)]\s+|(?P<roman>[ivxIVX]{2,4})[.)]\s+|"
    r"(?P<word>(?:step|schritt|paso|étape|etape|punkt|point|punto|task|aufgabe)\s*\d{1,3})\s*(?:[.:)–-]\s*|\s)",
    re.IGNORECASE,
)
_HASHES: Final = re.compile(r"(#{1,6})\s*([^#\s].*)")
_BOLD: Final = re.compile(r"(\*\*|__)([^*_]{1,120})(\*\*|__)\s*:?\s*$")
_RULE: Final = re.compile(r"[-=*_~─]{3,}$")
_EMPHASIS: Final = re.compile(r"\*\*|__|`+")
_BLANK: Final = re.compile(r"_{2,}(?:\s?[/.\-:]\s?_{2,})*|\.{4,}|…{2,}")
"""Where somebody would write on paper."""
_BOX: Final = re.compile(r"\[[ xX_]?\]|\([ _]?\)|[☐□○]")
_MAX_PLAIN_ITEM: Final = 90
_FEW_LINES: Final = 3
_SHORT_LINE: Final = 45
_WRAPPED: Final = 60
_SHOUTED: Final = 3
_MAX_FIELD: Final = 40
_MAX_CELL: Final = 30


class Kind(StrEnum):
    """What a line is."""

    HEADING = "heading"
    ITEM = "item"
    TEXT = "text"
    ROW = "row"


@dataclass(slots=True)
class Block:
    """One line, or some lines of running text. `level` counts from 0; of a heading, its depth."""

    kind: Kind
    text: str
    level: int = 0
    numbered: bool = False
    cells: tuple[str, ...] = ()
    after_gap: bool = False
    plain: bool = False
    """An item without a marker: a line that stands for itself."""
    field: bool = False
    """A line that ends in a colon and is to be filled in."""


def clean(prompt: str) -> str:
    """The prompt in one form of Unicode, without what nobody sees: controls, marks of direction, broken surrogates."""
    text = prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    return text.translate(_Seen())


class _Seen(dict[int, str]):
    """What is kept of characters, by their numbers. Each is asked for once, when it is met first."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        category = unicodedata.category(character)
        kept = character if character in "\n\t" or category[0] != "C" or category == "Co" else ""
        self[number] = " " if category == "Zs" or (category == "Cc" and not kept) else kept
        return self[number]


def outline(text: str) -> list[Block]:
    """The blocks of a text that `clean` returned, in order."""
    lines = text.split("\n")
    blocks: list[Block] = []
    levels = _Levels()
    gap = True
    for raw in lines:
        line = raw.strip()
        if not line or _RULE.match(line):
            if line and line[0] in "=-" and blocks and not gap and blocks[-1].kind is Kind.TEXT and len(line) >= 3:
                blocks[-1].kind = Kind.HEADING
            gap = True
            continue
        block = _block(
            line, len(raw) - len(raw.lstrip(" \t")) + 3 * raw[: len(raw) - len(raw.lstrip())].count("\t"), levels
        )
        block.after_gap = gap
        before = blocks[-1] if blocks and not gap else None
        gap = False
        if before is not None and before.kind is Kind.ITEM and block.kind is Kind.TEXT and _goes_on(before.text, line):
            before.text += " " + block.text
            continue
        blocks.append(block)
        if block.kind is Kind.HEADING:
            levels = _Levels()
    _shouted(blocks)
    blocks = _paragraphs(blocks)
    _groups(blocks)
    return _headings(blocks)


def _goes_on(item: str, line: str) -> bool:
    """Whether a line without a marker is the rest of the item above it."""
    return line[0].islower() and len(item) >= _WRAPPED * 2 // 3 and not item.endswith((".", "!", "?", ":"))


class _Levels:
    """Which marker styles and indentations are open, outermost first."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def level(self, indent: int, style: str) -> int:
        for depth, (known_indent, known_style) in enumerate(self._open):
            if known_style == style and abs(known_indent - indent) < 2:
                del self._open[depth + 1 :]
                return min(depth, MAX_LEVEL)
        while self._open and indent < self._open[-1][0] - 1:
            self._open.pop()
        self._open.append((indent, style))
        return min(len(self._open) - 1, MAX_LEVEL)


def _shouted(blocks: list[Block]) -> None:
    """Short lines in capitals are headings, where not everything is in capitals."""
    shouted = [block for block in blocks if block.kind is Kind.TEXT and _is_shouted(block.text)]
    if len(shouted) * 2 <= len(blocks):
        for block in shouted:
            block.kind = Kind.HEADING


def _is_shouted(line: str) -> bool:
    if len(line) > 60 or line.upper() != line or any(character.isdigit() or character in ".?!,;" for character in line):
        return False
    return sum(map(str.isalpha, line)) >= _SHOUTED


def _symbols(line: str) -> int:
    """How many characters of emoji stand in front of a line."""
    if line[:1].isascii():
        return 0
    end = 0
    while end < len(line) and unicodedata.category(line[end]) in {"So", "Sk", "Mn", "Zs", "Me"}:
        end += 1
    return end if end < len(line) and unicodedata.category(line[0]) == "So" and line[0] != "°" else 0


def _block(line: str, indent: int, levels: _Levels) -> Block:
    if (hashes := _HASHES.match(line)) and hashes[2] and (not hashes[2][0].isdigit() or len(hashes[1]) > 1):
        return Block(Kind.HEADING, _plain(hashes[2].rstrip("# ")), level=len(hashes[1]))
    if bold := _BOLD.match(line):
        return Block(Kind.HEADING, bold[2].strip(), level=3)
    marked = _NUMBER.match(line) or _BULLET.match(line)
    marks = "|" if line.count("|") >= 2 else "\t" if "\t" in line else ";" if _is_row(line) and not marked else ""
    if marks:
        cells = tuple(_plain(cell) for cell in line.strip("| ").split(marks) if cell.strip())
        bare = (
            marks == "|" and len(cells) == 1 and line.strip().startswith("|") and not line.strip("| ").startswith("**")
        )
        if len(cells) > 1 or bare:  # of a table, a row may have nothing in its other cells
            return Block(Kind.ROW, " ".join(cells), cells=cells)
    if bullet := _BULLET.match(line):
        rest = line[bullet.end() :]
        if rest.strip():
            if bold := _BOLD.match(rest):
                rest = bold[2]
            number = _NUMBER.match(rest)
            return Block(
                Kind.ITEM,
                _plain(rest[number.end() :] if number and number.end() < len(rest) else rest),
                levels.level(indent, bullet.group().strip()[:1]),
            )
    if symbols := _symbols(line):
        return Block(Kind.ITEM, _plain(line[symbols:]), levels.level(indent, "symbol"))
    if (number := _NUMBER.match(line)) and number.end() < len(line):
        rest, style = line[number.end() :], number.lastgroup or "plain"
        if style == "dotted":
            dots = number["dotted"].count(".")
            return Block(Kind.ITEM, _plain(rest), min(levels.level(indent, f"dotted{dots}"), MAX_LEVEL), numbered=True)
        style += "^" if style in {"letter", "roman"} and number[style].isupper() else ""
        bracket = ")" if ")" in number.group() else "."
        return Block(Kind.ITEM, _plain(rest), levels.level(indent, style + bracket), numbered=True)
    return Block(Kind.TEXT, _plain(line))


def _is_row(line: str) -> bool:
    """`inflow; 20-80; m³/h`: short cells, and no sentence."""
    cells = line.split(";")
    return len(cells) > 2 and all(len(cell) <= _MAX_CELL for cell in cells) and not line.endswith(".")


def _plain(text: str) -> str:
    if blank := _BLANK.search(text):
        ends = not text[blank.end() :].strip()
        text = _BLANK.sub(" ", text)
        text = text.rstrip(" :") if ends else text
    text = _EMPHASIS.sub("", text)
    if len(_BOX.findall(text)) > 1:
        head, *options = _BOX.split(text)
        text = f"{head.strip(' :')}: " + " / ".join(option.strip() for option in options if option.strip())
    return " ".join(text.split())


def _paragraphs(blocks: list[Block]) -> list[Block]:
    """Lines of running text that were wrapped become one block; lines that stand for themselves become items."""
    result: list[Block] = []
    index = 0
    while index < len(blocks):
        if blocks[index].kind is not Kind.TEXT:
            result.append(blocks[index])
            index += 1
            continue
        end = index + 1
        while end < len(blocks) and blocks[end].kind is Kind.TEXT and not blocks[end].after_gap:
            end += 1
        result += _lines(blocks[index:end])
        index = end
    return result


def _lines(lines: list[Block]) -> list[Block]:
    if len(lines) == 1:
        return lines
    if _is_wrapped([line.text for line in lines]):
        return _sentences(lines)
    few = _FEW_LINES - all(len(line.text) <= _SHORT_LINE for line in lines)
    itself = len(lines) - lines[0].text.endswith(":") >= few
    for number, line in enumerate(lines):
        field = (number + 1 < len(lines) and ":" in lines[number + 1].text) or (number and lines[number - 1].field)
        if line.text.endswith(":") and field and len(line.text) <= _MAX_FIELD:
            line.kind, line.text, line.field = Kind.ITEM, line.text.rstrip(" :"), True
        elif line.text.endswith(":"):
            line.kind = Kind.HEADING
        elif itself and len(line.text) <= _MAX_PLAIN_ITEM and not (number == 0 and line.text.endswith(".")):
            line.kind, line.plain = Kind.ITEM, True
    return lines


def _is_wrapped(lines: list[str]) -> bool:
    """Whether these are lines of one text, cut where a window or a sheet ended: all but the last are long."""
    longest = max(map(len, lines))
    if longest < _WRAPPED:
        return False
    full = sum(len(line) >= longest * 0.7 and not line.endswith(":") for line in lines[:-1])
    return full * 4 >= 3 * (len(lines) - 1)


def _sentences(lines: list[Block]) -> list[Block]:
    joined: list[Block] = []
    for line in lines:
        if joined and not joined[-1].text.endswith((".", "!", "?", ":")):
            joined[-1].text += " " + line.text
        else:
            joined.append(line)
    return joined


def _groups(blocks: list[Block]) -> None:
    """Of lines in groups with gaps between them, the first of each is a heading when all of them are short."""
    starts = [index for index, block in enumerate(blocks) if block.plain and block.after_gap]
    ends = [*starts[1:], len(blocks)] if starts else []
    groups = [(start, end) for start, end in zip(starts, ends, strict=True) if end - start > 2]
    if len(groups) < 2 or len(groups) < len(starts):
        return
    if any(
        len(blocks[start].text) > 30 or blocks[start].text[-1:] in {".", "?", "!", ",", ";", ""} for start, _ in groups
    ):
        return
    for start, _ in groups:
        blocks[start].kind = Kind.HEADING


def _headings(blocks: list[Block]) -> list[Block]:
    """Short lines in front of a list are its heading."""
    for index, block in enumerate(blocks):
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        if block.kind is not Kind.TEXT or following is None:
            continue
        listed = following.kind in {Kind.ITEM, Kind.ROW}
        short = len(block.text) <= 60 and not block.text.endswith((".", "!", "?", ",", ";"))
        if (listed and (short or block.text.endswith(":")) and len(block.text) <= 200) or (
            short and block.text.endswith(":")
        ):
            block.kind, block.level = Kind.HEADING, 6
    last = blocks[-1] if len(blocks) > 1 else None
    if last is not None and last.kind is Kind.HEADING and last.text.endswith(":"):
        last.kind, last.text, last.field = Kind.ITEM, last.text.rstrip(" :"), True  # nothing stands below it
    return blocks
