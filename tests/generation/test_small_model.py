"""A real language model behind a real OpenAI-compatible server: the way is proved, not the taste.

SmolLM2 with 135 million parameters writes what fits the schema and means little. So that it takes seconds, it may write
little; all else is as in production.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.generation.conftest import NOW

from checklist_api.generation.generator import Generated, Generator
from checklist_api.generation.language_model import schema as model_schema
from checklist_api.generation.language_model.client import Completion, ModelClient
from checklist_api.generation.language_model.schema import strict_schema
from checklist_api.metrics import Metrics
from checklist_api.settings.language_model import ModelSettings
from checklist_crds.templates.validation import parse_definition
from checklist_dev.programs.small_model import small_model

PROMPT = "Bicycle check: tyres, brakes, lights"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with small_model(tmp_path_factory.mktemp("model")) as url:
        yield url


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[Completion]:
    completions: list[Completion] = []
    complete = ModelClient.complete

    async def noted(self: ModelClient, request: dict[str, Any]) -> Completion:
        completions.append(await complete(self, request))
        return completions[-1]

    monkeypatch.setattr(ModelClient, "complete", noted)
    return completions


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Schemas with room for two steps."""
    monkeypatch.setattr(model_schema, "_LONGEST", dict.fromkeys(model_schema._LONGEST, 40))
    monkeypatch.setattr(model_schema, "_MOST", dict.fromkeys(model_schema._MOST, 1) | {"steps": 2, "options": 3})
    strict_schema.cache_clear()
    yield
    strict_schema.cache_clear()


async def generated(url: str, max_tokens: int) -> Generated:
    settings = ModelSettings(url=url, name="small", timeout_s=300, max_tokens=max_tokens)
    generator = Generator(settings, metrics=Metrics(), clock=lambda: NOW)
    try:
        return await generator.generate(PROMPT, None, "org-a")
    finally:
        await generator.close()


@pytest.mark.usefixtures("little")
async def test_a_real_model_makes_a_template(url: str, said: list[Completion]) -> None:
    made = await generated(url, 1_000)
    assert made.generated_by == "model"
    assert parse_definition(made.definition.to_tdl(), strict=True) == made.definition
    assert made.definition.name
    validator = Draft202012Validator(strict_schema(bounded=True))
    for completion in said:
        validator.validate(json.loads(completion.text))
        assert completion.sent
        assert completion.written
