"""How much work a prompt is, counted and not timed: the functions that are called while it is composed."""

import contextlib
import gc
import sys
import threading
from collections.abc import Callable
from types import FrameType

import pytest

from checklist_composer.collector import CollectorAtRest
from checklist_composer.composing import NothingToCompose, compose
from checklist_composer.locales import LOCALES
from checklist_crds.template_types import MAX_STEPS
from checklist_dev.evaluation.hostile_prompts import HOSTILE, LONGEST

LONG = {name: prompt for name, prompt in HOSTILE.items() if len(prompt) >= LONGEST * 3 // 4}
MOST_CALLS = 200_000
"""A fifth more than the worst of them takes. With what it does, a call takes about a fifth of a microsecond."""


@pytest.fixture(autouse=True, scope="module")
def _tables_that_are_read_once() -> None:
    for locale in LOCALES:
        compose("forklift pre-use", locale=locale)
    for prompt in ("check the door", "Tür prüfen", "revisar la puerta", "vérifier la porte"):
        compose(prompt)


def calls(prompt: str) -> int:
    """The calls of one composition."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        with contextlib.suppress(NothingToCompose):
            compose(prompt)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", LONG)
def test_a_hostile_prompt_of_twice_the_length_is_hardly_more_than_twice_the_work(name: str) -> None:
    prompt = LONG[name][:LONGEST]
    half = calls(prompt[: len(prompt) // 2])
    whole = calls(prompt)
    assert whole <= 2.5 * half + 10_000
    assert whole <= MOST_CALLS


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(lambda count: "".join(f"# Room {n}\n- Door {n}\n" for n in range(count // 10)), id="sections"),
        pytest.param(lambda count: "".join(f"a{number}? " for number in range(count)), id="questions"),
        pytest.param(lambda count: ", ".join(f"thing{number}" for number in range(count)), id="things"),
    ],
)
def test_what_a_full_template_would_throw_away_is_hardly_work(more: Callable[[int], str]) -> None:
    full, too_much = more(MAX_STEPS), more(2 * MAX_STEPS)
    assert compose(too_much).definition.sections == compose(full).definition.sections
    assert calls(too_much) <= 1.25 * calls(full)


def test_the_garbage_collector_waits_for_the_last_of_several_threads_and_is_then_as_it_was() -> None:
    inside, leave = threading.Event(), threading.Event()
    at_rest = CollectorAtRest()

    def other() -> None:
        with at_rest:
            inside.set()
            leave.wait(20)

    was_enabled = gc.isenabled()
    gc.enable()
    try:
        thread = threading.Thread(target=other)
        with at_rest:
            thread.start()
            assert inside.wait(20)
        assert not gc.isenabled()
        leave.set()
        thread.join()
        assert gc.isenabled()
        gc.disable()
        compose("Check the fridge.")
        assert not gc.isenabled()
    finally:
        (gc.enable if was_enabled else gc.disable)()
