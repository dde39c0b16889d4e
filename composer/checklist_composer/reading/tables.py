"""Reads tables row by row: one cell names the item, the others say how it is answered.

A table is three lines or more in succession. Columns before the names become headings or nothing; the first row is a
heading unless it has answers. What else a cell asks for becomes an optional step.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from ..language import fold
from .answers import NO, YES, known_unit, limits_of, options_of, unit_in
from .conditions import SUPPOSING
from .labels import ITEMS, Label, LabelledSpan
from .overlooked import NAMED, named_kinds
from .steps import SURE
from .tokens import TokenizedText

Cell = tuple[int, int]
"""The first token and the one behind the last; equal if it is empty."""
_MARKS: Final = {"|": 1, "\t": 1, ";": 2}
"""What separates cells, with its least number in a line."""
_LEAST: Final = 3
_DISTINCT: Final = 0.7
"""Least share of different names among the rows."""
_BEFORE: Final = 2
"""Most columns before the names."""
_FEW: Final = 4
"""Most words of an option, and most tokens of a unit."""
_EMPTY: Final = "_-–—|;:,.=*"
_THEN: Final = frozenset({"->", "→", "=>", ">", "="})
_PARTS: Final = _THEN | {",", ";", "+"}
_SUPPOSING: Final = SUPPOSING | {"only"}
_ACTS: Final = frozenset({"act", "announce", "confirm", "check", "record", "describe", "prohibition"})
"""Roles of words for what is to be done."""
_SAID: Final = {
    **NAMED,
    **dict.fromkeys(("sign", "signed"), Label.SIGNATURE),
    **dict.fromkeys(("number_type", "how_much", "measure"), Label.NUMBER),
    **{"scan_noun": Label.SCAN, "location": Label.LOCATION, "time_type": Label.DATE, "text_type": Label.TEXT},
}
"""Answers by the roles of words."""
_NO_OPTIONS: Final = _SAID.keys() - {"measure", "count"}
_OWN: Final = frozenset({Label.PHOTO, Label.SIGNATURE, Label.SCAN, Label.LOCATION})
"""Answers that become a step of their own behind another answer."""


def table_spans(text: TokenizedText, spans: Sequence[LabelledSpan]) -> tuple[list[LabelledSpan], set[int]]:
    """The spans of the tables, in order, and the tokens of their lines."""
    found: list[LabelledSpan] = []
    taken: set[int] = set()
    for mark, lines in groupby(_lines(text), key=lambda line: line[0]):
        rows = [(inside, cells) for _, inside, cells in lines if any(start < end for start, end in cells)]
        table = [cells for _, cells in rows]
        if mark and len(rows) >= _LEAST and (own := list(_Table(text, table, spans).spans())):
            found += own
            taken.update(range(rows[0][0].start, rows[-1][0].stop))
    return found, taken


def _lines(text: TokenizedText) -> Iterator[tuple[str, range, list[Cell]]]:
    """The separator, the tokens and the cells of each line; no separator if the line has no cells."""
    at, offset = 0, 0
    for line in text.lines:
        mark = next((mark for mark, least in _MARKS.items() if line.count(mark) >= least), "")
        opening, cells = at, []
        for piece in line.split(mark) if mark else [line]:
            start, offset = at, offset + len(piece) + 1
            while at < len(text) and text.tokens[at].start < offset:
                at += 1
            cells.append(_trimmed(text, start, at))
        yield mark, range(opening, at), cells


def _trimmed(text: TokenizedText, start: int, end: int) -> Cell:
    inside = [at for at in range(start, end) if text.tokens[at].text.strip(_EMPTY)]
    return (inside[0], inside[-1] + 1) if inside else (start, start)


@dataclass
class _Table:
    text: TokenizedText
    rows: list[list[Cell]]
    read: Sequence[LabelledSpan]

    def __post_init__(self) -> None:
        self.starts, self.ends = [span.start for span in self.read], [span.end for span in self.read]

    def spans(self) -> Iterator[LabelledSpan]:
        """The spans of all rows; none if no column names items, or all other cells are empty."""
        first = [cell for cell in self.rows[0][1:] if cell[0] < cell[1]]
        body = self.rows[1:] if 2 * sum(map(self._answers, first)) < len(first) else self.rows
        column = next((at for at in range(_BEFORE + 1) if self._names(body, at)), None)
        if column is None or not any(start < end for row in body for start, end in row[column + 1 :]):
            return
        group = ""
        names = [{self.text.slice(*row[at]) for row in body if at < len(row)} for at in range(column)]
        for row in body:
            for at, cell in enumerate(row[:column]):
                said = self.text.slice(*cell)
                if said not in {"", group} and 2 * len(names[at]) <= len(body):
                    group = said
                    yield LabelledSpan(Label.SECTION, *cell, 1.0)
            filled = [cell for cell in row[column:] if cell[0] < cell[1]]
            if filled and filled[0] == row[column]:
                yield from self._row(filled[0], filled[1:])
            elif filled:  # no name: it is about the table
                yield LabelledSpan(Label.INSTRUCTION, filled[0][0], filled[-1][1], 1.0)

    def _names(self, body: Sequence[Sequence[Cell]], column: int) -> bool:
        """Whether a column has different names in most rows, and not only codes such as `T01`."""
        text = self.text
        plain = {at for at, token in enumerate(text.tokens) if token.text.isalpha() and text.carries_meaning(at)}
        cells = [row[column] for row in body if column < len(row)]
        named = {text.slice(*cell) for cell in cells if plain.intersection(range(*cell))}
        return len(named) >= max(2, _DISTINCT * len(body))

    def _answers(self, cell: Cell) -> bool:
        """Whether a cell of the first row says how an item is answered, so that the row is no heading."""
        details = self._details(cell) if fold(self.text.slice(*cell)) not in YES | NO else ()  # `No` is a number
        return any(span.label in {Label.OPTIONS, Label.LIMIT} or self._is_polar(span) for span in details)

    def _row(self, name: Cell, cells: Sequence[Cell]) -> Iterator[LabelledSpan]:
        start, end = name
        inside = self.read[bisect_right(self.ends, start) : bisect_left(self.starts, end)]
        details = [replace(span, end=min(span.end, end)) for span in inside if span.label is Label.UNIT][:1]
        end = details[0].start if details and details[0].start > start else end
        details += [span for cell in cells for span in self._details(cell)]
        kinds = [kind for span in details if span.label is not Label.IF and (kind := self._kind(span))]
        known = next((span for span in inside if span.label in ITEMS), LabelledSpan(Label.TEXT, start, end, 0.0))
        label = kinds[0] if kinds else next(named_kinds(self.text, start, end), known.label)
        yield LabelledSpan(label, start, end, 1.0 if kinds or label is not known.label else known.confidence)
        for span in details:
            own, first = self._kind(span), any(start == span.start for start, _ in cells)
            task = not first and len(self.text.stems(span.start, span.end)) > 1
            if span.label is Label.IF:
                opens = first and bool(self.text.roles[span.start].keys() & _SUPPOSING)
                marks = any(self.text.tokens[at].text in _PARTS - {"="} for at in range(span.start, span.end))
                if opens:
                    yield replace(span, label=Label.OPTIONAL)
                if opens and own is None and not marks and not self.text.any_of(_ACTS, span.start, span.end):
                    yield replace(span, label=Label.HINT)
                else:  # what is to be done then
                    only = own if len(set(self._named(span))) == 1 else None
                    yield replace(span, label=only or Label.TEXT, confidence=SURE if only else 0.0)
                    yield replace(span, label=Label.OPTIONAL)
            elif own in _OWN and own is not label:
                yield replace(span, label=own, confidence=SURE)
            elif span.label is Label.HINT and (task or self.text.tokens[span.end - 1].text == "?"):
                yield replace(span, label=Label.TEXT, confidence=0.0)  # `count, | tell the supervisor above 5`
            elif span.label is not Label.HINT or own is None or (span.end - span.start > 1 and own is not Label.CHECK):
                yield span

    def _kind(self, span: LabelledSpan) -> Label | None:
        """The answer that a detail asks for."""
        if span.label in {Label.UNIT, Label.LIMIT}:
            return Label.NUMBER
        if span.label is Label.OPTIONS:  # a remark behind them may allow several
            remark = "(" in {token.text for token in self.text.tokens[span.end : span.end + 1]}
            return Label.MULTI_CHOICE if remark or self.text.has("several", span.start, span.end) else Label.CHOICE
        if span.label is Label.HINT and self._is_polar(span):
            return Label.CHECK
        return next(self._named(span), None)

    def _named(self, span: LabelledSpan) -> Iterator[Label]:
        roles = (role for at in range(span.start, span.end) for role in self.text.roles[at])
        return (_SAID[role] for role in roles if role in _SAID)

    def _is_polar(self, span: LabelledSpan) -> bool:
        said = self.text.slice(span.start, span.end).casefold()
        options = {fold(option.split()[-1]) for option in options_of(said, self.text.language)}
        asked = self.text.has("yes_no", span.start, span.end) and not self._supposes(span.start, span.end)
        ticked = span.end - span.start == 1 and bool(self.text.roles[span.start].keys() & {"confirm", "check"})
        return said == "x" or ticked or asked or (len(options) > 1 and options <= YES | NO)

    def _supposes(self, start: int, end: int) -> bool:
        return self.text.any_of(_SUPPOSING, start, end)

    def _details(self, cell: Cell) -> Iterator[LabelledSpan]:
        """What a cell says; a part that supposes something is labelled as a condition, to the end of the cell."""
        offers = self._offers(cell)
        first, end = cell
        for at in range(first, end + 1):
            mark = self.text.tokens[at].text if at < end else ""
            joins = at < end and (mark in _PARTS or "and" in self.text.roles[at]) and (mark in _THEN or not offers)
            if at < end and not joins:
                continue
            start, stop = _trimmed(self.text, first, at)
            polar = start < stop and self._is_polar(LabelledSpan(Label.HINT, start, stop, 1.0))
            then = mark in _THEN and (first > cell[0] or not (polar or self._offers((start, stop))))
            if start < stop and (then or (self._supposes(start, stop) and not polar)):  # `worn -> photo`
                yield LabelledSpan(Label.IF, start, end, 1.0)
                return
            if start < stop:
                yield from self._part(start, stop)
            first = at + 1

    def _part(self, start: int, end: int) -> Iterator[LabelledSpan]:
        text, language = self.text, self.text.language
        led = (at + 1 for at in range(start, end - 1) if text.tokens[at].text == "(" or "in_unit" in text.roles[at])
        places = ((at, to) for at in (start, *led) for to in range(min(end, at + _FEW), at, -1))
        units = (place for place in places if known_unit(text.slice(*place), language))
        at, to = next(units, (end, end))
        if at < to and (to == end or not (text.tokens[to].is_number or text.tokens[to].text == "/")):
            if text.stems(start, at):
                yield LabelledSpan(Label.HINT, start, at, 1.0)
            yield LabelledSpan(Label.UNIT, at, to, 1.0)
            start = next((at for at in range(to, end) if text.tokens[at].text not in "(:=)"), end)
            end -= start < end and text.tokens[end - 1].text == ")"
        said = text.slice(start, end)
        alone = end - start == 1 and text.tokens[start].is_number
        if said and (alone or unit_in(said, language) or limits_of(said, language, whole=True) != (None, None)):
            yield LabelledSpan(Label.LIMIT, start, end, 1.0)
        elif said:
            last = next((at for at in range(start, end) if text.tokens[at].text == "("), end)
            offers = self._offers((start, last))
            yield LabelledSpan(Label.OPTIONS if offers else Label.HINT, start, last if offers else end, 1.0)
            if offers and last + 1 < end:
                yield LabelledSpan(Label.HINT, last + 1, end, 1.0)

    def _offers(self, cell: Cell) -> bool:
        """Whether a cell names options."""
        said = self.text.slice(*cell)
        listed = any(mark in said for mark in "/,") and not self._supposes(*cell)
        options = options_of(said, self.text.language) if listed else []
        polar = {fold(option.split()[-1]) for option in options} <= YES | NO
        asks = any(self.text.tokens[at].is_number or self.text.roles[at].keys() & _NO_OPTIONS for at in range(*cell))
        short = all(len(option.split()) <= _FEW for option in options)
        return len(options) > 1 and short and not asks and not polar
