"""Generates templates of unseen prompts with a language model as the API does: instructions, corrections, harm rules.

If the model gives none, the composer answers, as in the service; the source is kept with each prompt.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checklist_api.generation.generator import ComposerPool
from checklist_api.generation.language_model.failures import ModelFailure, Reason
from checklist_api.generation.language_model.provider import ModelProvider
from checklist_api.metrics import Metrics
from checklist_api.settings.language_model import ModelSettings
from checklist_crds.resources.template_definition import Definition
from checklist_crds.settings.reading import InvalidSetting, read_group
from checklist_crds.times import utc_now
from checklist_dev.failures import Failure, say

from .batches import Prompt

MOST_AT_ONCE: Final = 16
"""The API's limit of concurrent prompts."""
_HOPELESS: Final = frozenset({Reason.UNREACHABLE, Reason.UNAUTHORIZED, Reason.ERROR})
"""Reasons for which the remaining prompts would fail, too."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A template of the model, or why there is none."""

    definition: Definition | None
    reason: Reason | None = None


def model_settings(url: str, name: str | None, key_file: Path | None, environment: Mapping[str, str]) -> ModelSettings:
    """The API's settings, without its limits of prompts and tokens. Raises Failure."""
    variables = {**environment, "CHECKLISTS_MODEL_URL": url}
    variables |= {"CHECKLISTS_MODEL_LIMIT": "off", "CHECKLISTS_MODEL_TOKENS_PER_DAY": "off"}
    variables["CHECKLISTS_MODEL_NAME"] = name or environment.get("CHECKLISTS_MODEL_NAME") or "default"
    if key_file is not None:
        variables.pop("CHECKLISTS_MODEL_KEY", None)
        variables["CHECKLISTS_MODEL_KEY_FILE"] = str(key_file)
    try:
        settings: ModelSettings | None = read_group(ModelSettings, variables)
    except InvalidSetting as error:
        raise Failure(str(error)) from None
    if settings is None:
        raise Failure("the URL of the model's server is empty")
    return settings


async def model_answers(settings: ModelSettings, prompts: Sequence[Prompt], at_once: int) -> list[Answer]:
    """The answers in the order of the prompts. Raises Failure if the first shows that the server cannot answer."""
    pool = ComposerPool()
    provider = ModelProvider(settings, metrics=Metrics(), clock=utc_now, aside=pool.run)
    turn, done = asyncio.Semaphore(at_once), 0

    async def answer(prompt: Prompt, *, is_first: bool = False) -> Answer:
        nonlocal done
        async with turn:
            try:
                found = Answer(await provider.generate(prompt.prompt, None, prompt.id))
            except ModelFailure as failure:
                if is_first and failure.reason in _HOPELESS:
                    raise Failure(_advice(settings, failure)) from None
                found = Answer(None, failure.reason)
        done += 1
        say(f"{done}/{len(prompts)} {prompt.id}: {'a template' if found.reason is None else found.reason.value}")
        return found

    try:
        first = await answer(prompts[0], is_first=True)
        return [first, *await asyncio.gather(*(answer(prompt) for prompt in prompts[1:]))]
    finally:
        await provider.close()
        pool.close()


def _advice(settings: ModelSettings, failure: ModelFailure) -> str:
    advice = {
        Reason.UNREACHABLE: "Is it running, and is this its base URL (often with /v1)?",
        Reason.UNAUTHORIZED: "Give its key with MODEL_KEY_FILE.",
    }.get(failure.reason, f"Is MODEL_NAME right ({settings.name!r})?")
    return f"the server at {settings.url} gives no template ({failure}). {advice}"
