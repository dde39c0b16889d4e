"""How much of the model may be used: bounds that hold whatever runs at the same time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.generation.conftest import StartModel
from tests.generation.model_server import TEMPLATE, fails, raw, says

from checklist_api.generation.language_model.allowance import AT_ONCE, AT_ONCE_OF_ONE, Allowance
from checklist_api.generation.language_model.failures import ModelFailure, Reason
from checklist_api.settings.language_model import ModelSettings, Prices, PromptLimit


class Counted:
    def __init__(self, **settings: Any) -> None:
        self.now = datetime(2026, 11, 21, 13, 50, tzinfo=UTC)
        self.allowance = Allowance(ModelSettings(url="https://models.example", name="m", **settings), lambda: self.now)

    def prompt(self, organization: str = "a") -> None:
        self.allowance.begin(organization)
        self.allowance.end(organization)

    def refused(self, organization: str = "a") -> tuple[Reason, float | None]:
        with pytest.raises(ModelFailure) as failure:
            self.prompt(organization)
        return failure.value.reason, failure.value.retry_after_s


def test_an_hour_and_a_day_hold_so_many_prompts_of_one_organization() -> None:
    it = Counted(limit=PromptLimit(3, 4))
    for _ in range(3):
        it.prompt()
    assert it.refused() == (Reason.LIMIT, 600.0)
    it.prompt("b")
    it.now += timedelta(minutes=10)
    it.prompt()
    reason, wait = it.refused()
    assert (reason, wait) == (Reason.LIMIT, 10 * 3600)
    it.now += timedelta(seconds=wait or 0)
    it.prompt()


def test_one_organization_does_not_keep_the_others_out() -> None:
    it = Counted()
    for _ in range(AT_ONCE_OF_ONE):
        it.allowance.begin("a")
    assert it.refused("a")[0] is Reason.BUSY
    for number in range(AT_ONCE - AT_ONCE_OF_ONE):
        it.allowance.begin(f"b{number}")
    assert it.refused("c")[0] is Reason.BUSY
    it.allowance.end("a")
    it.prompt("c")


def test_tokens_are_reserved_before_they_are_used_by_organization_and_day() -> None:
    it = Counted(tokens_per_day=1_000)
    first = it.allowance.reserve("a", 400, 300)
    with pytest.raises(ModelFailure) as failure:
        it.allowance.reserve("a", 400, 300)
    assert failure.value.reason is Reason.LIMIT
    it.allowance.reserve("b", 400, 300)
    it.allowance.settle(first, 100, 100)
    late = it.allowance.reserve("a", 400, 400)
    # A call of yesterday takes nothing from today.
    it.now += timedelta(hours=12)
    it.prompt("b")
    it.allowance.settle(late, 0, 0)
    it.allowance.reserve("a", 500, 500)
    with pytest.raises(ModelFailure):
        it.allowance.reserve("a", 1, 0)
    unlimited = Counted(limit=PromptLimit(None, None), tokens_per_day=None)
    for _ in range(1_000):
        unlimited.prompt()
        unlimited.allowance.reserve("a", 10**6, 10**6)


def test_money_is_for_all_organizations_together() -> None:
    it = Counted(prices=Prices(1.0, 10.0), cost_per_day=0.05)
    assert it.allowance.cost_of(1_000_000, 1_000_000) == 11.0
    it.allowance.reserve("a", 10_000, 3_000)
    with pytest.raises(ModelFailure) as failure:
        it.allowance.reserve("b", 10_000, 1_000)
    assert failure.value.reason is Reason.BUDGET
    it.now += timedelta(days=1)
    it.allowance.reserve("b", 10_000, 1_000)


async def test_before_a_correction_is_asked_for_its_tokens_are_looked_at_too(model: StartModel) -> None:
    async with model(says("?", usage=(9_000, 3_000)), says(TEMPLATE), tokens_per_day=20_000) as it:
        assert await it.fails() is Reason.LIMIT
    assert len(it.server.asked) == 1


async def test_a_server_that_fails_uses_up_no_tokens(model: StartModel) -> None:
    async with model(*[fails("403 Forbidden")] * 5, says(TEMPLATE), tokens_per_day=20_000) as it:
        for _ in range(5):
            assert await it.fails() is Reason.UNAUTHORIZED
        await it.makes()


async def test_an_answer_that_breaks_off_uses_up_what_it_may_have_cost(model: StartModel) -> None:
    async with model(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"), tokens_per_day=20_000) as it:
        assert await it.fails() is Reason.ERROR
        assert await it.fails() is Reason.LIMIT


async def test_a_server_that_counts_nothing_or_nonsense_is_counted_by_us(model: StartModel) -> None:
    for usage in (None, (-5, -5), ("many", None), (True, 1e9)):
        async with model(says(TEMPLATE, usage=usage)) as it:
            await it.makes()
        assert 1_000 < it.counted("checklists_model_tokens_total", kind="sent") < 20_000
        assert 100 < it.counted("checklists_model_tokens_total", kind="written") < 5_000
