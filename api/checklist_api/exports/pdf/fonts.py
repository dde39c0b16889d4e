"""Fonts of a PDF: Noto, subset to the characters of the document.

Each character is drawn with the first font that has it. Chinese, Japanese and Korean share characters with different
forms, so the text's region selects among them. Characters without a font are replaced and reported.

HarfBuzz subsets a font of 65,535 glyphs and nine weights within milliseconds. The fonts come from two packages under
the SIL Open Font License 1.1; the fonts of a package that is not installed are skipped.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import uharfbuzz as hb

REPLACEMENT: Final = "\ufffd"
MAIN: Final = "NotoSans"
_WEIGHTS: Final = {"": 400, "B": 600}
_SCRIPTS: Final = (
    "Arabic",
    "Hebrew",
    "Devanagari",
    "Bengali",
    "Gurmukhi",
    "Gujarati",
    "Oriya",
    "Tamil",
    "Telugu",
    "Kannada",
    "Malayalam",
    "Sinhala",
    "Thai",
    "Lao",
    "Myanmar",
    "Khmer",
    "Georgian",
    "Armenian",
    "Ethiopic",
)
_FACES: Final = {"JP": 0, "KR": 1, "SC": 2, "TC": 3}
"""Indexes of faces in the CJK font collection."""
_JOINERS: Final = "\u200c\u200d"
_ISOLATES: Final = "\u2066\u2067\u2068\u2069"
"""Set the direction of a part of a text (Unicode Standard Annex 9); without ink."""
_FLAGS: Final = hb.SubsetFlags.DOWNGRADE_CFF2 | hb.SubsetFlags.NO_HINTING | hb.SubsetFlags.NOTDEF_OUTLINE


@dataclass(slots=True)
class Typeface:
    name: str
    face: "hb.Face"
    characters: frozenset[int]
    used: set[str] = field(default_factory=set)

    def has(self, character: str) -> bool:
        return ord(character) in self.characters

    def subset(self, weight: int) -> bytes:
        """Return a font with the used characters in one weight."""
        wanted = hb.SubsetInput()
        for character in self.used:
            wanted.unicode_set.add(ord(character))
        for axis in self.face.axis_infos:
            if axis.tag == "wght":
                wanted.pin_axis_location(self.face, "wght", weight)
            else:
                wanted.pin_axis_to_default(self.face, axis.tag)
        wanted.flags = _FLAGS
        return bytes(wanted.subset(self.face).blob.data)


@dataclass(slots=True)
class FontCase:
    """The fonts of one document. Call `clean` for all texts, then `write`, then `order` for each text drawn."""

    typefaces: dict[str, Typeface] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    """Characters without a font."""
    region: str = "SC"
    """Region of CJK characters in texts of unknown region."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "FontCase":
        """Load the fonts for a document with these texts."""
        case = cls(region=_region("\n".join(texts)) or "SC")
        folder = _folder("manimgx_fonts")
        if folder is None:
            raise FileNotFoundError("the package manimgx-fonts is not installed")
        case._open(MAIN, folder / "NotoSans[wght].ttf")
        for script in _SCRIPTS:
            case._open(f"NotoSans{script}", folder / f"NotoSans{script}[wght].ttf")
        if (east := _folder("manimgx_fonts_cjk")) is not None:
            for region, index in _FACES.items():
                case._open(f"CJK{region}", east / "NotoSansCJK-VF.otf.ttc", index)
        case._open("NotoSansSymbols", folder / "NotoSansSymbols[wght].ttf")
        case._open("NotoEmoji", folder / "NotoEmoji[wght].ttf")
        return case

    def clean(self, text: str) -> str:
        """Return the text with replacements for characters without a font."""
        drawn = []
        order = self.order(text)
        for character in unicodedata.normalize("NFC", text.replace("\t", "    ")):
            if character in "\n ":
                drawn.append(character)
            elif _is_invisible(character):
                continue
            elif character == "\u00a0":
                drawn.append(" ")
            else:
                drawn.append(self._with_a_font(character, order))
        return "".join(drawn)

    def order(self, text: str) -> list[str]:
        """Return the typefaces' names in order of preference for the text."""
        preferred = f"CJK{_region(text) or self.region}"
        return sorted(self.typefaces, key=lambda name: (name != MAIN, name.startswith("CJK") and name != preferred))

    def write(self, folder: Path) -> list[tuple[str, str, Path]]:
        """Write the used fonts; returns (name, style, file) of each."""
        made = []
        for typeface in self.typefaces.values():
            if not typeface.used and typeface.name != MAIN:
                continue
            typeface.used.add(" ")
            if typeface.name == MAIN:
                typeface.used |= {chr(point) for point in range(0x20, 0x7F)}
            for style, weight in _WEIGHTS.items():
                file = folder / f"{typeface.name}{style}.otf"
                file.write_bytes(typeface.subset(weight))
                made.append((typeface.name, style, file))
        return made

    def _with_a_font(self, character: str, order: list[str]) -> str:
        for name in order:
            typeface = self.typefaces[name]
            # Joiners need the font of their neighbours; Latin letters need none.
            if typeface.has(character) and not (name == MAIN and character in _JOINERS):
                typeface.used.add(character)
                return character
        if character in _JOINERS or character in _ISOLATES:
            return ""
        self.missing.add(character)
        self.typefaces[MAIN].used.add(REPLACEMENT)
        return REPLACEMENT

    def _open(self, name: str, file: Path, index: int = 0) -> None:
        if not file.exists():
            return
        face = hb.Face(hb.Blob.from_file_path(str(file)), index)
        self.typefaces[name] = Typeface(name, face, frozenset(face.unicodes))


def _folder(package: str) -> Path | None:
    spec = find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def _is_invisible(character: str) -> bool:
    """Whether it is a control or a variation selector."""
    if character in _JOINERS or character in _ISOLATES:
        return False
    return unicodedata.category(character) in ("Cc", "Cf", "Cs") or "\ufe00" <= character <= "\ufe0f"


def _region(text: str) -> str | None:
    """Return the region of the text (JP, KR, SC or TC); None if it is ambiguous."""
    if any("\u3040" <= character <= "\u30ff" for character in text):
        return "JP"
    if any("\uac00" <= character <= "\ud7a3" for character in text):
        return "KR"
    simplified = traditional = 0
    for character in text:
        if "\u4e00" <= character <= "\u9fff":
            in_simplified, in_traditional = _is_in(character, "gb2312"), _is_in(character, "big5")
            simplified += in_simplified and not in_traditional
            traditional += in_traditional and not in_simplified
    if simplified == traditional:
        return None
    return "TC" if traditional > simplified else "SC"


def _is_in(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
