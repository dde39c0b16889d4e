"""The note that a leader leaves: what it says, what is made of a wrong one, and for how long it holds."""

import asyncio

import pytest

from checklist_operator.handover import MOST_ATTEMPTS, NO_HANDOVER, AttemptMade, BeingRecorded, note_of, read_note

LEFT = {"evt-1": AttemptMade(1, 8.5), "evt-2": AttemptMade(4, 5.0)}


def test_a_note_is_read_as_it_was_written_and_of_nothing_there_is_no_note() -> None:
    assert read_note(note_of(LEFT)) == LEFT
    assert note_of(NO_HANDOVER) is None


def test_what_is_not_understood_is_no_note() -> None:
    attempts = ("3", "[1]", "[1, 2, 3]", '["first", 3]', '[1, "soon"]', "[1, -1]", "[1, NaN]", "[1, 1e9]")
    for text in (None, "", "not JSON", "[]", "7", "{}", *(f'{{"evt-1": {attempt}}}' for attempt in attempts)):
        assert read_note(text) == NO_HANDOVER, text


def test_the_longest_note_fits_into_the_annotations_of_an_object() -> None:
    long = {f"evt-0b0f6f5e-8d5c-4d0c-9a55-2f4f0d1{number:05d}": AttemptMade(5, 10.0) for number in range(9000)}
    note = note_of(long)
    assert note is not None
    assert (len(read_note(note)), len(note) < 220 * 1024) == (MOST_ATTEMPTS, True)


@pytest.mark.looptime
async def test_an_attempt_may_be_being_recorded_for_so_long_and_no_other_one() -> None:
    none = BeingRecorded(NO_HANDOVER)
    assert (none.for_s(["evt-1"], 1), none.with_ours({}, 9.0)) == (0.0, NO_HANDOVER)
    left = BeingRecorded(LEFT)
    await asyncio.sleep(3.0)
    assert left.for_s(["evt-0", "evt-2"], 4) == pytest.approx(2.0)
    assert (left.for_s(["evt-2"], 5), left.for_s(["evt-0"], 1), left.for_s([], 1)) == (0.0, 0.0, 0.0)
    rest = {"evt-1": AttemptMade(1, pytest.approx(5.5)), "evt-2": AttemptMade(5, 9.0), "evt-3": AttemptMade(1, 9.0)}
    assert left.with_ours({"evt-2": 5, "evt-3": 1}, 9.0) == rest
    await asyncio.sleep(3.0)
    assert (left.for_s(["evt-2"], 4), left.for_s(["evt-1"], 1)) == (0.0, pytest.approx(2.5))
    assert left.with_ours({}, 9.0) == {"evt-1": AttemptMade(1, pytest.approx(2.5))}
    await asyncio.sleep(2.5)
    assert (left.for_s(["evt-1"], 1), left.with_ours({}, 9.0)) == (0.0, NO_HANDOVER)
