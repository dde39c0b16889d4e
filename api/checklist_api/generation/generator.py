"""Chooses what makes a template: the language model where one is set up, otherwise or on failure the composer."""

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
"""At 50 ms each, the last of them waits three seconds."""

_T = TypeVar("_T")


class ComposerPool:
    """Runs the built-in composer off the event loop: a long prompt takes it some ten milliseconds, and the first one
    reads its data. `close` it.

    One thread, since Python runs one at a time anyway; what does not fit into its queue is refused for now.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="composer")
        self._waiting = 0

    async def run(self, function: Callable[[str], _T], text: str) -> _T:
        """What `function(text)` returns or raises. Raises ServiceUnavailable when too many wait."""
        if self._waiting >= _WAITING:
            raise ServiceUnavailable("Too many templates are being made; please try again.", retry_after_s=2)
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

_OURS: Final = frozenset({Reason.LIMIT, Reason.BUDGET, Reason.BUSY})
"""Bounds of this service: the model is well, and the caller may come again."""
_WHY: Final[Mapping[Reason, str]] = {
    Reason.TIMEOUT: "It was not done in time.",
    Reason.UNREACHABLE: "There is no connection to it.",
    Reason.UNAUTHORIZED: "It does not take this service's key.",
    Reason.RATE_LIMITED: "It takes no more requests at the moment.",
    Reason.ERROR: "It answered with an error.",
    Reason.TOO_LARGE: "Its answer is too large.",
    Reason.REFUSED: "It refused to answer.",
    Reason.NONSENSE: "What it wrote is no valid template.",
    Reason.INCOMPLETE: "Its template lacks much of what the prompt asks for.",
}
_SETTLED_S: Final = 3.0
_FIRST_PROMPTS: Final = (
    ("Restaurant opening", "en"),
    ("Wohnungsübergabe", "de"),
    ("Apertura del restaurante", "es"),
    ("État des lieux", "fr"),
)
"""One of each language, which has tables of its own."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A template, and who made it."""

    definition: Definition
    reason: Reason | None = None
    """Why the model did not; None when it did, or when there is none."""
    by_model: bool = False
    sources: tuple["StepSource", ...] = ()
    """What of the prompt the composer made each step of; a model does not say."""
    unused: tuple[tuple[int, int], ...] = ()
    """Offsets of the parts of the prompt that became nothing."""

    @property
    def generated_by(self) -> str:
        """The value of `X-Generated-By`."""
        if self.by_model:
            return "model"
        return "composer" if self.reason is None else f"composer; reason={self.reason.value}"


class Generator:
    """One for a process. `close` it."""

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
        """Raises GenerationFailed, and without a fallback ModelFailed and RateLimited; ServiceUnavailable."""
        made = await self._generate(prompt, locale, organization)
        self._metrics.count_template("model" if made.by_model else "composer")
        return made

    async def warm_up(self) -> None:
        """Load what the composer reads, some time after the start: neither that nor the first caller has to wait."""
        await asyncio.sleep(_SETTLED_S)
        with contextlib.suppress(ServiceError):  # with so many prompts already, it is warm
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
                _tell_of_bug("model.bug", error)
                reason = self._failed(ModelFailure(Reason.ERROR, "unforeseen"), organization)
        compose_it: Callable[[str], Composition] = functools.partial(_composed, locale=locale)
        made = await self._pool.run(compose_it, prompt)
        return Generated(made.definition, reason, sources=made.sources, unused=made.unused)

    def _failed(self, failure: ModelFailure, organization: str) -> Reason:
        """Why the composer is to answer. Raises ModelFailed or RateLimited when it is not."""
        # Nothing of the prompt or the answer: only which of our reasons, and a word of ours.
        said = {"reason": failure.reason.value, "explanation": failure.explanation, "organization": organization}
        logger.warning("model.failed", extra=said)
        if self._fallback is Fallback.ERROR:
            raise _as_error(failure) from None
        return failure.reason


def _provider(settings: ModelSettings, metrics: Metrics, clock: Clock, pool: ComposerPool) -> "ModelProvider":
    # And its HTTP client: a service without a model need not load them.
    from .language_model.provider import ModelProvider

    return ModelProvider(settings, metrics=metrics, clock=clock, aside=pool.run)


def _warmed(_: str) -> None:
    for prompt, locale in _FIRST_PROMPTS:
        _composed(prompt, locale=locale)


def _composed(prompt: str, *, locale: str | None) -> "Composition":
    # It takes a second to load, with its tables: not before it is needed, and in the thread of the pool.
    from checklist_composer.composing import NothingToCompose, compose

    try:
        return compose(prompt, locale=locale)
    except NothingToCompose as nothing:
        closest = [Problem("prompt", "closest_job", job) for job in nothing.closest]
        raise GenerationFailed(str(nothing), details=closest) from None
    except Exception as error:
        _tell_of_bug("composer.bug", error)
        raise InternalError() from None


def _tell_of_bug(event: str, error: Exception) -> None:
    """What and where, without the error's text and the values: they may be of the prompt, which nobody is to log."""
    places = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    logger.error(event, extra={"type": type(error).__name__, "places": places})


def _as_error(failure: ModelFailure) -> ModelFailed | RateLimited:
    if failure.reason in _OURS:
        return RateLimited(failure.retry_after_s or 1.0)
    return ModelFailed(details=[Problem("", failure.reason.value, _WHY[failure.reason])])
