"""How much work a prompt is, counted and not timed: the functions that are called while it is composed."""

import gc
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from checklist_composer.composing import NothingToCompose, compose
from checklist_composer.language import language_of
from checklist_composer.locales import LOCALES
from checklist_composer.ranking_index import index_of
from checklist_composer.reading.steps import steps_of
from checklist_composer.reading.words import Span, Words, remembered
from checklist_crds.template_types import MAX_STEPS
from checklist_dev.evaluation.hostile_prompts import HOSTILE, LONGEST

LONG = {name: prompt for name, prompt in HOSTILE.items() if len(prompt) >= LONGEST * 3 // 4}
MOST_CALLS = 200_000
"""A fifth more than the worst of them takes. With what it does, a call takes about a fifth of a microsecond."""
CALLS_OF_ITEM = 250
"""What may be asked about one thing of a list that says nothing but its name, until it is a step of a template."""


@pytest.fixture(autouse=True, scope="module")
def _tables_that_are_read_once() -> None:
    for locale in LOCALES:
        index_of(locale)
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
        compose(prompt)
    except NothingToCompose:
        pass
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


def items(count: int) -> str:
    return ", ".join(f"thing{number}" for number in range(count))


def rooms(count: int) -> str:
    return "".join(f"# Room {number}\n- Door {number}\n" for number in range(count))


def test_one_more_plain_thing_in_a_list_is_little_work() -> None:
    assert calls(items(400)) - calls(items(200)) <= 200 * CALLS_OF_ITEM


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(lambda count: rooms(count // 10), id="sections"),
        pytest.param(lambda count: "".join(f"a{number}? " for number in range(count)), id="questions"),
        pytest.param(items, id="things"),
    ],
)
def test_what_a_full_template_would_throw_away_is_hardly_work(more: Callable[[int], str]) -> None:
    full, too_much = more(MAX_STEPS), more(2 * MAX_STEPS)
    assert compose(too_much).definition.sections == compose(full).definition.sections
    assert compose(too_much).definition.settings == compose(full).definition.settings
    assert calls(too_much) <= 1.25 * calls(full)


def test_a_mark_is_found_wherever_it_stands_in_a_span() -> None:
    whole = Words(language_of("en"), "a, b; (c, d) and e: f / g, h").span()
    for start in range(len(whole)):
        for span in (whole.sub(start), whole.without(start, start + 3), whole.sub(2, start)):
            for signs in (",", ",;", "([)]", "?"):
                found = [position for position in range(len(span)) if span[position].text in signs]
                assert list(span.places(signs)) == found
                for first in range(len(span) + 1):
                    assert span.sign(signs, first) == next((place for place in found if place >= first), None)
            there = [position for position in range(len(span)) if span[position].text in ("and", ",")]
            assert list(span.places(",", "and")) == there


def test_a_sentence_that_is_repeated_is_read_once() -> None:
    calls("check doors, windows and lights. " * 2)
    once = calls("check doors, windows and lights. " * 2)
    assert calls("check doors, windows and lights. " * 22) - once < 20 * once / 3


def test_a_rule_is_asked_once_about_the_same_words() -> None:
    asked: list[str] = []

    @remembered
    def rule(span: Span, detail: int = 0) -> int:
        asked.append(span.text)
        return len(span) + detail

    span = Words(language_of("en"), "check the doors and the windows").span()
    assert [rule(span), rule(span.sub(0)), rule(span, 1), rule(span.sub(1)), rule(span)] == [6, 6, 7, 5, 6]
    assert len(asked) == 3


def test_words_that_are_said_again_are_the_first_ones_only_if_all_rules_read_them_alike() -> None:
    span = Words(language_of("en"), "so check the doors, check the doors, take two, take two and a half").span()
    assert span.sub(1, 4).first() == span.sub(5, 8).first() == span.sub(1, 4)
    assert span.sub(9, 11).text == span.sub(12, 14).text == "take two"
    assert span.sub(9, 11).first() != span.sub(12, 14).first()


def test_steps_that_are_asked_for_twice_are_two_steps() -> None:
    span = Words(language_of("en"), "rate the food, rate the food").span()
    first, second = steps_of(span.sub(0, 3))[0], steps_of(span.sub(4, 7))[0]
    first.options.append("changed")
    assert first is not second
    assert (first.label, first.type) == (second.label, second.type)
    assert second.options == []


def test_what_is_read_once_is_no_work_for_the_garbage_collector() -> None:
    compose("restaurant opening checklist")
    gc.collect()
    before = gc.get_freeze_count()
    assert before > 10_000
    for _ in range(3):
        compose("restaurant opening checklist, check the fridge")
    assert gc.get_freeze_count() <= before
