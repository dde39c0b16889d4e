"""Text from strangers on a terminal."""

import io
import json

import pytest

from checklist_cli.console.terminal import Paint, plain, pretty_json


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b2J", "\u202eevil", "\r", "\x07", "\u200b", "\ud800"])
def test_nothing_that_moves_the_cursor_or_turns_the_text_round_gets_through(text: str) -> None:
    assert not set(plain(f"a{text}b")) & {"\x1b", "\x9b", "\u202e", "\r", "\x07", "\u200b", "\ud800"}
    printed = pretty_json({"note": text, text: 1})
    assert printed.encode()
    assert all(character == "\n" or character.isprintable() for character in printed)


def test_ordinary_text_is_shown_as_it_is_and_long_text_is_cut() -> None:
    assert plain("☃ 4 °C, Grüße, 日本") == "☃ 4 °C, Grüße, 日本"
    cut = json.loads(pretty_json({"a": ["☃", 1.5, None], "thumbnail": "A" * 4096, "alt": "A" * 200}))
    assert cut == {"a": ["☃", 1.5, None], "thumbnail": "A" * 50 + "… (4,096 characters)", "alt": "A" * 200}


def test_colours_are_for_terminals_only_and_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Paint(Screen())("red", "no") == "\x1b[31mno\x1b[0m"
    assert Paint(io.StringIO())("red", "no") == "no"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Paint(Screen())("red", "no") == "no"
