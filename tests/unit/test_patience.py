"""How long a clean end waits: for receivers shortly, for records longer; and how soon it sends nothing more."""

import asyncio

import pytest

from checklist_operator.patience import FOR_ANSWERS_S, FOR_RECORDS_S, FOR_STARTS_S, Patience


@pytest.mark.looptime
async def test_receivers_are_waited_for_shortly_and_records_longer() -> None:
    told: list[float] = []
    loop = asyncio.get_running_loop()
    began = loop.time()

    def tell() -> None:
        told.append(loop.time() - began)

    patience = Patience(no_more_starts=tell, no_more_answers=tell)
    assert patience.lasts_for_answers()
    await asyncio.sleep(FOR_ANSWERS_S)
    assert told == [pytest.approx(FOR_STARTS_S), pytest.approx(FOR_ANSWERS_S)]
    assert (patience.lasts_for_answers(), patience.lasts_for_records()) == (False, True)
    assert patience.left_for_records_s() == pytest.approx(FOR_RECORDS_S - FOR_ANSWERS_S)
    await asyncio.sleep(FOR_RECORDS_S - FOR_ANSWERS_S)
    assert not patience.lasts_for_records()


@pytest.mark.looptime
async def test_when_all_is_done_before_answers_are_taken_to_the_end() -> None:
    told: list[bool] = []
    Patience(no_more_starts=lambda: told.append(False), no_more_answers=lambda: told.append(True)).end()
    await asyncio.sleep(FOR_ANSWERS_S * 2)
    assert told == []
