"""Who makes the template, and what happens where none can."""

import asyncio
import logging
import subprocess
import sys
import threading
from typing import Any

import pytest
from tests.generation.conftest import NOW

from checklist_api.generation.generator import ComposerPool, Generator
from checklist_api.generation.language_model.failures import ModelFailure, Reason
from checklist_api.generation.language_model.provider import ModelProvider
from checklist_api.metrics import Metrics
from checklist_api.settings.language_model import Fallback, ModelSettings
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
async def test_each_reason_of_a_model_is_said_with_the_composers_template_or_is_an_error_of_its_own(
    monkeypatch: pytest.MonkeyPatch, reason: Reason
) -> None:
    made = await with_model(monkeypatch, ModelFailure(reason)).generate(PROMPT, None, "org-a")
    assert (made.definition, made.generated_by) == (compose(PROMPT).definition, f"composer; reason={reason.value}")
    generator = with_model(monkeypatch, ModelFailure(reason, retry_after_s=7.5), Fallback.ERROR)
    with pytest.raises(RateLimited if reason in OURS else ModelFailed) as refused:
        await generator.generate(PROMPT, None, "org-a")
    if reason in OURS:
        assert refused.value.headers["Retry-After"] == "8"
    else:
        assert [problem["code"] for problem in refused.value.as_body()["details"]] == [reason.value]


async def test_a_bug_in_asking_the_model_is_one_more_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = await with_model(monkeypatch, KeyError("words of the prompt")).generate(PROMPT, None, "org-a")
    assert made.generated_by == "composer; reason=model_error"
    assert "model.bug" in caplog.text
    assert "words" not in caplog.text + "".join(str(record.__dict__) for record in caplog.records)


async def test_a_bug_in_the_composer_is_logged_with_its_place_and_without_the_prompt(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
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
