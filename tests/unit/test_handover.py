"""The note that a leader leaves: what it says, what is made of a wrong one, and for how long it holds."""

import asyncio

import pytest

from checklist_operator.handover import MOST_ATTEMPTS, NO_HANDOVER, BeingRecorded, Handover

LEFT = Handover({"evt-1": 1, "evt-2": 4}, 8.5)


def test_a_note_is_read_as_it_was_written() -> None:
    assert Handover.parse(str(LEFT)) == LEFT


def test_the_longest_note_fits_into_the_annotations_of_an_object() -> None:
    note = Handover({f"evt-0b0f6f5e-8d5c-4d0c-9a55-2f4f0d1{number:05d}": 5 for number in range(MOST_ATTEMPTS)}, 10.0)
    assert len(str(note)) < 200 * 1024


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "not JSON",
        "[]",
        "7",
        "{}",
        '{"for_s": 3}',
        '{"attempts": {"evt-1": 1}}',
        '{"for_s": 3, "attempts": ["evt-1"]}',
        '{"for_s": "soon", "attempts": {"evt-1": 1}}',
        '{"for_s": 3, "attempts": {"evt-1": "first"}}',
        '{"for_s": -1, "attempts": {"evt-1": 1}}',
        '{"for_s": NaN, "attempts": {"evt-1": 1}}',
        '{"for_s": 1e9, "attempts": {"evt-1": 1}}',
    ],
)
def test_what_is_not_understood_is_no_note(text: str | None) -> None:
    assert Handover.parse(text) == NO_HANDOVER


@pytest.mark.looptime
async def test_an_attempt_may_be_being_recorded_for_so_long_and_no_other_one() -> None:
    left = BeingRecorded(LEFT)
    await asyncio.sleep(3.0)
    assert left.for_s(["evt-0", "evt-2"], 4) == pytest.approx(5.5)
    assert (left.for_s(["evt-2"], 5), left.for_s(["evt-0"], 1), left.for_s([], 1)) == (0.0, 0.0, 0.0)
    assert left.attempts == LEFT.attempts
    await asyncio.sleep(5.5)
    assert (left.for_s(["evt-1"], 1), left.attempts) == (0.0, {})


@pytest.mark.looptime
async def test_without_a_note_nothing_waits() -> None:
    left = BeingRecorded(NO_HANDOVER)
    assert (left.for_s(["evt-1"], 1), left.attempts) == (0.0, {})
