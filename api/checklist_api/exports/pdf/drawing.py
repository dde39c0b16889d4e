"""Draws `PdfContent` on A4 with fpdf2."""

import logging
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any, Final, cast

from fpdf import FPDF, bidi
from fpdf.bidi import auto_detect_base_direction
from fpdf.enums import TextDirection
from fpdf.fonts import TTFFont

from .content import Entry, Image, PdfContent
from .directions import LinearRun
from .fonts import MAIN, FontCase

_MARGIN_MM: Final = 18.0
_FOOT_MM: Final = 16.0
_WIDTH_MM: Final = 210 - 2 * _MARGIN_MM
_NAME_MM: Final = 34.0
_IMAGE_GAP_MM: Final = 4.0
_IMAGE_HIGH_MM: Final = 70.0
_KEPT_TOGETHER_MM: Final = 40.0
_WIDE_MM: Final = 0.2
"""Approximate width of a letter per point of font size, to estimate heights."""
_INK: Final = (26, 28, 33)
_QUIET: Final = (96, 102, 112)
_FLAG: Final = (163, 42, 24)
_LINK: Final = (20, 84, 160)
_LINE: Final = (205, 209, 215)

Pixels = tuple[bytes, int, int]
"""JPEG, width and height."""


def draw(content: PdfContent, images: Mapping[str, Pixels], folder: Path) -> bytes:
    """Return the PDF. `images`: by key; missing ones are marked. `folder`: for temporary font files."""
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    case = FontCase.of(content.texts())
    sheet = _Sheet(content, case, images)
    sheet.prepare(folder)
    sheet.draw()
    return bytes(sheet.output())


class _Sheet(FPDF):
    def __init__(self, content: PdfContent, case: FontCase, images: Mapping[str, Pixels]) -> None:
        super().__init__(format="A4")
        self._content, self._style = content, content.style
        self._case = case
        self._drawn = {text: case.clean(text) for text in content.texts()}
        self._images = images
        self._names: set[str] = set()

    def prepare(self, folder: Path) -> None:
        bidi.IsolatingRun = LinearRun  # type: ignore[misc]
        cached_font = _cached_font_type()
        for name, style, file in self._case.write(folder):
            self.add_font(name, style, file)
            self.fonts[f"{name.lower()}{style}"].__class__ = cached_font
            self._names.add(name)
        moment = datetime.fromisoformat(self._content.last_changed)
        self.set_creation_date(moment)
        self.set_lang(self._style.language)
        self.set_title(self._drawn[self._content.title])
        self.set_subject(self._content.run_id)
        self.set_creator("Checklist Dispatch")
        self.set_margins(_MARGIN_MM, _MARGIN_MM, _MARGIN_MM)
        self.set_auto_page_break(True, _MARGIN_MM)
        self.c_margin = 0
        self.set_text_shaping(True)
        self.set_display_mode("fullwidth")

    def footer(self) -> None:
        self.set_y(-_FOOT_MM + 2)
        # A standard font, because fpdf2 replaces {nb} in the content stream at the end.
        self.set_font("Helvetica", size=8)
        self.set_text_color(*_QUIET)
        parts = [self._content.run_id, self._style.page.format(page=self.page_no(), pages="{nb}")]
        left, right = reversed(parts) if self._style.is_right_to_left else parts
        self.cell(_WIDTH_MM / 2, 5, left, new_x="RIGHT", new_y="TOP")
        self.cell(_WIDTH_MM / 2, 5, right, align="R")

    def draw(self) -> None:
        content = self._content
        self.add_page()
        self._words(content.title, size=19, bold=True)
        self._words(content.sender, size=11, color=_QUIET)
        self.ln(2)
        self._words(content.status, size=12, bold=True)
        self.ln(1)
        for name, value in content.facts:
            self._pair(name, value)
        for group in content.groups:
            self._room_for(30)
            self.ln(5)
            self._words(group.title, size=14, bold=True)
            self._rule()
            for entry in group.entries:
                self._entry(entry)
        self._room_for(45)
        self.ln(6)
        self._rule()
        for name, value in content.digests:
            self._pair(name, value)
        self._words(content.explained, size=8, color=_QUIET)
        if self._case.missing:
            points = sorted(ord(character) for character in self._case.missing)
            listed = ", ".join(f"U+{point:04X}" for point in points[:40]) + (", ..." if len(points) > 40 else "")
            self.ln(2)
            self._words(self._style.missing_characters, size=8, color=_QUIET)
            self._plain(f"{listed}.")

    def _entry(self, entry: Entry) -> None:
        first = max((self._height(image) for image in entry.images[: self._style.pictures_in_a_row]), default=0.0)
        self._room_for(min(24 + first, 120))
        self.ln(2.5)
        self._words(entry.label, size=10, bold=True)
        if entry.quiet:
            self._words(entry.quiet, size=10, color=_QUIET)
        if entry.value:
            self._words(entry.value, size=11)
        if entry.flag:
            self._words(entry.flag, size=10, bold=True, color=_FLAG)
        if entry.note:
            self._words(entry.note, size=10)
        if entry.place:
            self._words(entry.place, size=9, color=_LINK if entry.map_link else _INK, link=entry.map_link)
        self._pictures(entry.images)
        for note in entry.notes:
            self._words(note, size=8, color=_QUIET)

    def _words(
        self,
        text: str,
        *,
        size: float,
        bold: bool = False,
        color: tuple[int, int, int] = _INK,
        link: str = "",
        width: float = _WIDTH_MM,
    ) -> None:
        """Draw a paragraph, right-aligned on a right-to-left page or if its first letter is of such a script."""
        drawn = self._drawn[text]
        if not drawn.strip():
            return
        self._set_fonts(text, "B" if bold else "", size)
        self.set_text_color(*color)
        high = size * 0.5
        to_left = self._style.is_right_to_left or auto_detect_base_direction(drawn) is TextDirection.RTL
        has_actual_text = _needs_actual_text(drawn)
        if has_actual_text:
            needed = cast(float, self.multi_cell(width, high, drawn, dry_run=True, output="HEIGHT"))
            has_actual_text = needed <= self.eph
        else:
            needed = (drawn.count("\n") + 1 + len(drawn) * size * _WIDE_MM // width) * high
        if has_actual_text or needed <= _KEPT_TOGETHER_MM:
            self._room_for(needed)
        if has_actual_text:
            # Shaped glyphs do not map back to characters, so the text is added for copying.
            actual_text = drawn.encode("utf-16-be").hex()
            self._out(f"/Span <</ActualText <feff{actual_text}>>> BDC")
        self.multi_cell(width, high, drawn, align="R" if to_left else "L", link=link, new_x="LMARGIN", new_y="NEXT")
        if has_actual_text:
            self._out("EMC")

    def _pair(self, name: str, value: str) -> None:
        self._room_for(6)
        top, rest = self.y, _WIDTH_MM - _NAME_MM
        mirrored = self._style.is_right_to_left
        self.set_x(_MARGIN_MM + (rest if mirrored else 0))
        self._words(name, size=9, color=_QUIET, width=_NAME_MM)
        below, page = self.y, self.page
        self.set_xy(_MARGIN_MM + (0 if mirrored else _NAME_MM), top)
        self._words(value, size=9, width=rest)
        if self.page == page:
            self.set_y(max(self.y, below))

    def _plain(self, text: str) -> None:
        self.set_font("Helvetica", size=8)
        self.set_text_color(*_QUIET)
        self.multi_cell(_WIDTH_MM, 4, text, new_x="LMARGIN", new_y="NEXT")

    def _set_fonts(self, text: str, style: str, size: float) -> None:
        self.set_font(MAIN, style, size)
        # fpdf2 takes a font for set that it has set within a line of another font only, and restored after it.
        self.current_font_is_set_on_page = False
        self.set_fallback_fonts([name for name in self._case.order(text) if name in self._names and name != MAIN])

    def _pictures(self, images: list[Image]) -> None:
        """Draw images in rows."""
        count, wide = self._style.pictures_in_a_row, self._column_mm
        for start in range(0, len(images), count):
            row = images[start : start + count]
            high = max(self._height(image) for image in row)
            self._room_for(high + 9)
            self.ln(1.5)
            top, below = self.y, self.y
            for place, image in enumerate(row):
                column = count - 1 - place if self._style.is_right_to_left else place
                left = _MARGIN_MM + column * (wide + _IMAGE_GAP_MM)
                self._picture(image, left, top)
                self.set_xy(left, top + high + 0.5)
                if image.caption:
                    self._words(image.caption, size=8, color=_QUIET, width=wide)
                below = max(below, self.y, top + high + 0.5)
            self.set_xy(_MARGIN_MM, below)

    def _picture(self, image: Image, left: float, top: float) -> None:
        known, wide, high = self._images.get(image.key), self._column_mm, self._height(image)
        if known is None:
            self.set_draw_color(*_LINE)
            self.rect(left, top, wide, high)
            self.set_xy(left + 2, top + 2)
            self._words(self._style.missing_image, size=8, color=_QUIET, width=wide - 4)
            return
        jpeg, across, down = known
        drawn = high * across / down
        start = left + wide - drawn if self._style.is_right_to_left else left
        self.image(BytesIO(jpeg), start, top, h=high, w=drawn, alt_text=self._drawn[image.caption])

    @property
    def _column_mm(self) -> float:
        """Width of a picture."""
        count = self._style.pictures_in_a_row
        return (_WIDTH_MM - _IMAGE_GAP_MM * (count - 1)) / count

    def _height(self, image: Image) -> float:
        known = self._images.get(image.key)
        if known is None:
            return 20.0
        _, across, down = known
        # Small images are not enlarged below 96 dpi.
        return float(min(_IMAGE_HIGH_MM, self._column_mm * down / across, down * 25.4 / 96))

    def _rule(self) -> None:
        self.set_draw_color(*_LINE)
        self.line(_MARGIN_MM, self.y + 0.8, _MARGIN_MM + _WIDTH_MM, self.y + 0.8)
        self.ln(2)

    def _room_for(self, high: float) -> None:
        """Begin a new page if the current one has less room."""
        if self.will_page_break(high):
            self.add_page()


def _cached_font_type() -> type[TTFFont]:
    """Return a font class that caches letter widths: line breaking measures each letter, and shaping is slow."""
    known: dict[tuple[str, str, float, Any], tuple[int, float]] = {}

    class CachedFont(TTFFont):
        __slots__ = ()

        def get_text_width(
            self, text: str, font_size_pt: float, text_shaping_params: dict[str, Any] | None
        ) -> tuple[int, float]:
            if len(text) != 1:
                return super().get_text_width(text, font_size_pt, text_shaping_params)
            direction = text_shaping_params.get("fragment_direction") if text_shaping_params else None
            key = (self.fontkey, text, font_size_pt, (bool(text_shaping_params), direction))
            if key not in known:
                known[key] = super().get_text_width(text, font_size_pt, text_shaping_params)
            return known[key]

    return CachedFont


def _needs_actual_text(text: str) -> bool:
    """Whether the text has letters that are shaped contextually or written from right to left."""
    return any("\u0590" <= character <= "\u1aff" or "\ufb1d" <= character <= "\ufeff" for character in text)
