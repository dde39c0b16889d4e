import asyncio

import pytest

from checklist_operator.latest import Latest


async def test_the_oldest_goes_when_there_are_too_many() -> None:
    latest: Latest[str, int] = Latest(2)
    for number, key in enumerate("abac", 1):
        latest.put(key, number)
    assert [latest.get(key) for key in "abc"] == [3, None, 4]
    assert len(latest) == 2


@pytest.mark.looptime
async def test_a_value_that_was_taken_or_is_too_old_is_gone() -> None:
    latest: Latest[str, int] = Latest(2, for_s=2.0)
    latest.put("a", 1)
    assert (latest.pop("a"), latest.pop("a"), len(latest)) == (1, None, 0)
    latest.put("a", 1)
    await asyncio.sleep(1.9)
    assert latest.get("a") == 1
    await asyncio.sleep(0.2)
    assert (latest.get("a"), latest.pop("a"), len(latest)) == (None, None, 0)
