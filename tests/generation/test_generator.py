"""Who makes the template, and how much of the model may be used."""

import asyncio
import logging
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.generation.conftest import NOW, StartModel
from tests.generation.model_server import TEMPLATE, fails, raw, says

from checklist_api.generation.generator import ComposerPool, Generator
from checklist_api.generation.language_model.allowance import AT_ONCE, AT_ONCE_OF_ONE, Allowance
from checklist_api.generation.language_model.failures import ModelFailure, Reason
from checklist_api.generation.language_model.provider import ModelProvider
from checklist_api.metrics import Metrics
from checklist_api.settings.language_model import Fallback, ModelSettings, Prices, PromptLimit
from checklist_composer import composing
from checklist_composer.composing import NothingToCompose, compose
from checklist_crds.errors import GenerationFailed, InternalError, ModelFailed, RateLimited, ServiceUnavailable

PROMPT = "Checklist:\n- Doors locked\n- Windows closed\n- Lights off"
OURS = {Reason.LIMIT, Reason.BUDGET, Reason.BUSY}


def new(settings: ModelSettings | None = None, pool: ComposerPool | None = None) -> Generator:
    return Generator(settings, metrics=Metrics(), clock=lambda: NOW, pool=pool)


def with_model(
    monkeypatch: pytest.MonkeyPatch, outcome: Exception, fallback: Fallback = Fallback.COMPOSER
) -> Generator:
    async def generate(*_: object) -> Any:
        raise outcome

    monkeypatch.setattr(ModelProvider, "generate", generate)
    return new(ModelSettings(url="https://models.example/v1", name="m", fallback=fallback))


@pytest.mark.parametrize("reason", list(Reason))
async def test_model_failures_are_reported(monkeypatch: pytest.MonkeyPatch, reason: Reason) -> None:
    made = await with_model(monkeypatch, ModelFailure(reason)).generate(PROMPT, None, "org-a")
    assert (made.definition, made.generated_by) == (compose(PROMPT).definition, f"composer; reason={reason.value}")
    generator = with_model(monkeypatch, ModelFailure(reason, retry_after_s=7.5), Fallback.ERROR)
    with pytest.raises(RateLimited if reason in OURS else ModelFailed) as refused:
        await generator.generate(PROMPT, None, "org-a")
    if reason in OURS:
        assert refused.value.headers["Retry-After"] == "8"
    else:
        assert [problem["code"] for problem in refused.value.as_body()["details"]] == [reason.value]


async def test_a_model_bug_is_a_reason(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    made = await with_model(monkeypatch, KeyError("words of the prompt")).generate(PROMPT, None, "org-a")
    assert made.generated_by == "composer; reason=model_error"
    assert "model.bug" in caplog.text
    assert "words" not in caplog.text + "".join(str(record.__dict__) for record in caplog.records)


async def test_composer_bugs_are_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(prompt: str, **_: object) -> Any:
        raise ValueError(f"cannot read {prompt}")

    monkeypatch.setattr(composing, "compose", broken)
    with pytest.raises(InternalError):
        await new().generate(PROMPT, None, "org-a")
    (record,) = (record for record in caplog.records if record.message == "composer.bug")
    assert record.levelno == logging.ERROR
    assert record.__dict__["type"] == "ValueError"
    assert any("test_generator.py:" in place for place in record.__dict__["places"])
    assert "windows" not in str(record.__dict__)


async def test_a_refused_prompt_gets_the_reason_and_the_closest_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        error = NothingToCompose("This job is unknown.")
        vars(error)["closest"] = ("Boat check", "Car check")
        raise error

    monkeypatch.setattr(composing, "compose", refuse)
    with pytest.raises(GenerationFailed) as refused:
        await new().generate(PROMPT, None, "org-a")
    assert refused.value.as_body() == {
        "error": "generation_failed",
        "message": "This job is unknown.",
        "details": [{"path": "prompt", "code": "closest_job", "message": job} for job in ("Boat check", "Car check")],
    }


async def test_more_prompts_than_can_wait_get_retry_after() -> None:
    pool, may_end = ComposerPool(), threading.Event()

    def waits(_: str) -> str:
        return "done" if may_end.wait(60) else "too late"

    waiting = [asyncio.create_task(pool.run(waits, "x")) for _ in range(64)]
    await asyncio.sleep(0)
    try:
        with pytest.raises(ServiceUnavailable) as refused:
            async with asyncio.timeout(30):
                await new(pool=pool).generate(PROMPT, None, "org-a")
    finally:
        may_end.set()
    assert int(refused.value.headers["Retry-After"]) >= 1
    assert set(await asyncio.gather(*waiting)) == {"done"}
    assert (await new(pool=pool).generate(PROMPT, None, "org-a")).generated_by == "composer"
    pool.close()


def test_a_service_without_a_model_loads_no_http_client_and_no_composer_to_start() -> None:
    program = (
        "import sys, checklist_api.app; print(*sorted({'httpx', 'checklist_composer.composing'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"\n"


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
