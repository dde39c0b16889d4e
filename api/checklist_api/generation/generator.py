"""Generates a template with the language model if one is configured, else or on failure with the composer."""

import asyncio
import contextlib
import functools
import logging
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from checklist_crds.errors import (
    GenerationFailed,
    InternalError,
    ModelFailed,
    Problem,
    RateLimited,
    ServiceError,
    ServiceUnavailable,
)
from checklist_crds.resources.template_definition import Definition
from checklist_crds.times import Clock

from ..metrics import Metrics
from ..settings.language_model import Fallback, ModelSettings
from .language_model.failures import ModelFailure, Reason

_WAITING: Final = 64
"""At 50 ms each, the last one waits three seconds."""

_T = TypeVar("_T")


class ComposerPool:
    """Runs the built-in composer in a thread: long prompts take tens of milliseconds, and the first loads its data.

    A single thread, because of the GIL. The queue is bounded. Call `close` at the end.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="composer")
        self._waiting = 0

    async def run(self, function: Callable[[str], _T], text: str) -> _T:
        """Call `function(text)` in the thread. Raises ServiceUnavailable when the queue is full."""
        if self._waiting >= _WAITING:
            raise ServiceUnavailable("Too many templates are being generated. Try again.", retry_after_s=2)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, function, text)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


if TYPE_CHECKING:
    from checklist_composer.composing import Composition, StepSource

    from .language_model.provider import ModelProvider

logger = logging.getLogger(__name__)

_LOCAL_LIMITS: Final = frozenset({Reason.LIMIT, Reason.BUDGET, Reason.BUSY})
"""Limits of this service, reported as 429 instead of as a failure of the model."""
_MESSAGES: Final[Mapping[Reason, str]] = {
    Reason.TIMEOUT: "The model timed out.",
    Reason.UNREACHABLE: "The model cannot be reached.",
    Reason.UNAUTHORIZED: "The model's server rejects this service's key.",
    Reason.RATE_LIMITED: "The model's server is rate limiting.",
    Reason.ERROR: "The model's server returned an error.",
    Reason.TOO_LARGE: "The response is too large.",
    Reason.REFUSED: "The model refused the request.",
    Reason.NONSENSE: "The response is not a valid template.",
    Reason.INCOMPLETE: "The template lacks much of what the prompt asks for.",
}
_WARM_UP_DELAY_S: Final = 3.0
_WARM_UP_PROMPTS: Final = (
    ("Restaurant opening", "en"),
    ("Wohnungsübergabe", "de"),
    ("Apertura del restaurante", "es"),
    ("État des lieux", "fr"),
)
"""One for each language, because each has its own tables."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A template and its origin."""

    definition: Definition
    reason: Reason | None = None
    """Why the model failed; None if it did not, or none is configured."""
    by_model: bool = False
    sources: tuple["StepSource", ...] = ()
    """For each step, the part of the prompt that the composer made it of; empty for a model."""
    unused: tuple[tuple[int, int], ...] = ()
    """Offsets of unused parts of the prompt."""

    @property
    def generated_by(self) -> str:
        """The value of `X-Generated-By`."""
        if self.by_model:
            return "model"
        return "composer" if self.reason is None else f"composer; reason={self.reason.value}"


class Generator:
    """One per process. Call `close` at the end."""

    def __init__(
        self,
        settings: ModelSettings | None,
        *,
        metrics: Metrics,
        clock: Clock,
        pool: ComposerPool | None = None,
    ) -> None:
        self._pool = pool or ComposerPool()
        self._metrics = metrics
        self._fallback = Fallback.COMPOSER if settings is None else settings.fallback
        self._model = None if settings is None else _provider(settings, metrics, clock, self._pool)

    async def generate(self, prompt: str, locale: str | None, organization: str) -> Generated:
        """Raises GenerationFailed, ServiceUnavailable; without fallback also ModelFailed, RateLimited."""
        made = await self._generate(prompt, locale, organization)
        self._metrics.count_template("model" if made.by_model else "composer")
        return made

    async def warm_up(self) -> None:
        """Load the composer's data some time after the start, so that neither the start nor the first request waits."""
        await asyncio.sleep(_WARM_UP_DELAY_S)
        with contextlib.suppress(ServiceError):  # a full queue means that it is loaded
            await self._pool.run(_warmed, "")

    async def close(self) -> None:
        self._pool.close()
        if self._model is not None:
            await self._model.close()

    async def _generate(self, prompt: str, locale: str | None, organization: str) -> Generated:
        reason: Reason | None = None
        if self._model is not None:
            try:
                definition = await self._model.generate(prompt, locale, organization)
                return Generated(definition, by_model=True)
            except ModelFailure as failure:
                reason = self._failed(failure, organization)
            except ServiceError:
                raise
            except Exception as error:
                _log_bug("model.bug", error)
                reason = self._failed(ModelFailure(Reason.ERROR, "unexpected"), organization)
        compose_it: Callable[[str], Composition] = functools.partial(_composed, locale=locale)
        made = await self._pool.run(compose_it, prompt)
        return Generated(made.definition, reason, sources=made.sources, unused=made.unused)

    def _failed(self, failure: ModelFailure, organization: str) -> Reason:
        """Log the failure. Raises ModelFailed or RateLimited if the fallback is disabled."""
        # Never log content of the prompt or the response.
        extra = {"reason": failure.reason.value, "explanation": failure.explanation, "organization": organization}
        logger.warning("model.failed", extra=extra)
        if self._fallback is Fallback.ERROR:
            raise _as_error(failure) from None
        return failure.reason


def _provider(settings: ModelSettings, metrics: Metrics, clock: Clock, pool: ComposerPool) -> "ModelProvider":
    # Imported late, because only a configured model needs it and its HTTP client.
    from .language_model.provider import ModelProvider

    return ModelProvider(settings, metrics=metrics, clock=clock, aside=pool.run)


def _warmed(_: str) -> None:
    for prompt, locale in _WARM_UP_PROMPTS:
        _composed(prompt, locale=locale)


def _composed(prompt: str, *, locale: str | None) -> "Composition":
    # Imported late and in the pool's thread, because loading takes a second.
    from checklist_composer.composing import NothingToCompose, compose

    try:
        return compose(prompt, locale=locale)
    except NothingToCompose as nothing:
        closest = [Problem("prompt", "closest_job", job) for job in nothing.closest]
        raise GenerationFailed(str(nothing), details=closest) from None
    except Exception as error:
        _log_bug("composer.bug", error)
        raise InternalError() from None


def _log_bug(event: str, error: Exception) -> None:
    """Log type and traceback without message and values, which may contain the prompt."""
    places = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    logger.error(event, extra={"type": type(error).__name__, "places": places})


def _as_error(failure: ModelFailure) -> ModelFailed | RateLimited:
    if failure.reason in _LOCAL_LIMITS:
        return RateLimited(failure.retry_after_s or 1.0)
    return ModelFailed(details=[Problem("", failure.reason.value, _MESSAGES[failure.reason])])
