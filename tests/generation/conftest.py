"""A provider that speaks with a server of the test."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.generation.model_server import Behaviour, ModelServer, model_server

from checklist_api.generation.generator import ComposerPool
from checklist_api.generation.language_model.failures import ModelFailure, Reason
from checklist_api.generation.language_model.provider import ModelProvider
from checklist_api.metrics import Metrics
from checklist_api.settings.language_model import ModelSettings
from checklist_crds.resources.template_definition import Definition

KEY = "sk-test-5f0c2f6e41a84f3bb9d7c0de"
NOW = datetime(2026, 11, 21, 13, 50, tzinfo=UTC)


@dataclass
class Model:
    provider: ModelProvider
    server: ModelServer
    metrics: Metrics

    async def makes(self, prompt: str = "Cold room check", locale: str | None = None, of: str = "org-a") -> Definition:
        return await self.provider.generate(prompt, locale, of)

    async def fails(self, prompt: str = "Cold room check", of: str = "org-a") -> Reason:
        """Why it makes none."""
        with pytest.raises(ModelFailure) as failure:
            await self.provider.generate(prompt, None, of)
        return failure.value.reason

    def counted(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


StartModel = Callable[..., contextlib.AbstractAsyncContextManager[Model]]


@pytest.fixture
def model() -> StartModel:
    """`async with model(says(TEMPLATE), timeout_s=1) as it: await it.makes()`."""

    @contextlib.asynccontextmanager
    async def start(*behaviours: Behaviour, **settings: Any) -> AsyncIterator[Model]:
        clock = settings.pop("clock", lambda: NOW)
        monotonic = {"monotonic": settings.pop("monotonic")} if "monotonic" in settings else {}
        async with model_server(*behaviours) as server:
            wanted = ModelSettings(**{"url": server.url, "name": "test-model", "key": KEY, **settings})
            metrics, pool = Metrics(), ComposerPool()
            provider = ModelProvider(wanted, metrics=metrics, clock=clock, aside=pool.run, **monotonic)
            try:
                yield Model(provider, server, metrics)
            finally:
                await provider.close()
                pool.close()

    return start
