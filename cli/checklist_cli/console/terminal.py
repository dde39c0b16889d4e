"""Makes untrusted text safe to print on a terminal, and adds colours."""

import json
import os
import unicodedata
from typing import Any, Final, TextIO

_LONGEST: Final = 200
_COLOURS: Final = {"green": "32", "yellow": "33", "red": "31", "dim": "2"}


def plain(text: str) -> str:
    """Replace control and formatting characters, which could rewrite the screen."""
    return "".join("�" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character for character in text)


def pretty_json(document: Any) -> str:
    """Indented JSON for reading, with long texts (pictures in base64) truncated."""
    return "\n".join(plain(line) for line in json.dumps(_cut(document), indent=2, ensure_ascii=False).split("\n"))


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_cut(member) for member in value]
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[: _LONGEST // 4]}… ({len(value):,} characters)"
    return value


class Paint:
    """Colours on a terminal, none in a pipe or with NO_COLOR."""

    def __init__(self, stream: TextIO) -> None:
        self._on = stream.isatty() and not os.environ.get("NO_COLOR")

    def __call__(self, colour: str, text: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._on else text
