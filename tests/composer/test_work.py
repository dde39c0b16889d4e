"""How much work a prompt is, counted and not timed: the functions that are called while it is composed."""

import contextlib
import sys
from types import FrameType

import pytest

from checklist_composer.composing import NothingToCompose, compose
from checklist_composer.locales import LOCALES
from checklist_dev.evaluation.hostile_prompts import HOSTILE, LONGEST

LONG = {name: prompt for name, prompt in HOSTILE.items() if len(prompt) >= LONGEST * 3 // 4}


@pytest.fixture(autouse=True, scope="module")
def _tables_that_are_read_once() -> None:
    for locale in LOCALES:
        compose("forklift pre-use", locale=locale)
        calls("- check the doors\n- photo of the floor", locale)


def calls(prompt: str, locale: str | None = None) -> int:
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        with contextlib.suppress(NothingToCompose):
            compose(prompt, locale=locale)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", LONG)
def test_a_hostile_prompt_of_twice_the_length_is_about_twice_the_work(name: str) -> None:
    prompt = LONG[name][:LONGEST]
    half = calls(prompt[: len(prompt) // 2])
    whole = calls(prompt)
    assert whole <= 3 * half + 10_000  # what grows with the square is four times
