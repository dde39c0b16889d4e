"""Generates a template with the language model, with corrections, within limits of time, tokens and cost."""

import asyncio
import base64
import functools
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from checklist_crds.resources.template_definition import Definition
from checklist_crds.times import Clock

from ...metrics import Metrics
from ...settings.language_model import ModelSettings
from .allowance import Allowance
from .answer import Unusable, all_texts, read_answer
from .client import Completion, ModelClient, RequestRefused
from .dialect import MAX_STEPS, Dialect, RememberedDialect
from .failures import ModelFailure, Reason
from .prompt import Message, corrected, messages_for, repeats_instructions

if TYPE_CHECKING:
    from .check import Judgement

logger = logging.getLogger(__name__)

MAX_CORRECTIONS: Final = 2
_CHARACTERS_PER_TOKEN: Final = 2.5
"""A low average over languages, so that reservations are rather too high."""
_SCHEMA_TOKENS: Final = 4_000
"""Added for the schema, which servers count differently."""
_KEY_LENGTH: Final = 16
"""Shorter keys are placeholders of local servers, not secrets, and may occur in templates."""


_T = TypeVar("_T")


class RunsAside(Protocol):
    """Runs a blocking function outside of the event loop."""

    async def __call__(self, function: Callable[[str], _T], text: str, /) -> _T: ...


@dataclass(frozen=True, slots=True)
class _Judged:
    """A valid template of the model with its harms."""

    definition: Definition
    judgement: "Judgement"


@dataclass(slots=True)
class _Conversation:
    """A prompt, and the valid but harmful templates received for it."""

    prompt: str
    locale: str | None
    organization: str
    harmful: list[_Judged] = field(default_factory=list)

    def repaired(self) -> Definition | None:
        """Repair the latest template with the fewest harms; None if none can be repaired."""
        usable = [each.judgement for each in self.harmful if each.judgement.repaired is not None]
        return min(reversed(usable), key=lambda each: len(each.harms)).repaired if usable else None


class ModelProvider:
    """Generates templates with the model. Call `close` at the end."""

    def __init__(
        self,
        settings: ModelSettings,
        *,
        metrics: Metrics,
        clock: Clock,
        aside: RunsAside,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._client = ModelClient(settings, clock)
        self._allowance = Allowance(settings, clock)
        self._dialect = RememberedDialect(monotonic)
        self._aside = aside

    async def generate(self, prompt: str, locale: str | None, organization: str) -> Definition:
        """Return a valid template. Raises ModelFailure."""
        started = time.monotonic()
        outcome = "template"
        try:
            self._allowance.begin(organization)
            try:
                return await self._best(_Conversation(prompt, locale, organization))
            finally:
                self._allowance.end(organization)
        except ModelFailure as failure:
            outcome = failure.reason.value
            raise
        finally:
            self._metrics.count_model_prompt(outcome, time.monotonic() - started)

    async def close(self) -> None:
        await self._client.close()

    async def _best(self, conversation: _Conversation) -> Definition:
        """Return a harmless template, else a repaired one. Raises ModelFailure."""
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                return await self._harmless(conversation)
        except TimeoutError:
            failure = ModelFailure(Reason.TIMEOUT, "deadline")
        except ModelFailure as error:
            failure = error
        if (repaired := conversation.repaired()) is None:
            raise failure
        logger.info("model.repaired", extra={"reason": failure.reason.value, "organization": conversation.organization})
        return repaired

    async def _harmless(self, conversation: _Conversation) -> Definition:
        messages = messages_for(conversation.prompt, conversation.locale)
        judge = functools.partial(_judged, prompt=conversation.prompt, locale=conversation.locale)
        for correction in range(MAX_CORRECTIONS + 1):
            completion = await self._completion(messages, conversation.organization)
            try:
                if completion.cut_off:
                    raise Unusable("It was cut off: write a shorter template.")
                judged = await self._aside(judge, completion.text)
                self._refuse_leaks(judged.definition)
                if not judged.judgement.harms:
                    return judged.definition
                conversation.harmful.append(judged)
                raise Unusable(*(harm.problem for harm in judged.judgement.harms))
            except Unusable as unusable:
                logger.debug("model.unusable", extra={"correction": correction, "problems": len(unusable.problems)})
                messages = [*messages[:2], *corrected(completion.text, unusable.problems)]
        reason = Reason.INCOMPLETE if conversation.harmful else Reason.NONSENSE
        raise ModelFailure(reason, f"after {MAX_CORRECTIONS} corrections")

    async def _completion(self, messages: list[Message], organization: str) -> Completion:
        """Request a completion in the first dialect that the server accepts."""
        dialect, tried = self._dialect.current(), frozenset[Dialect]()
        for _ in range(MAX_STEPS + 1):
            try:
                completion = await self._complete_within_budget(dialect, messages, organization)
            except RequestRefused as refused:
                tried |= {dialect}
                other = dialect.next_after(refused.complaint, tried)
                if other is None:
                    raise ModelFailure(Reason.ERROR, f"status {refused.status}") from None
                dialect = other
                continue
            self._dialect.accepted(dialect)
            return completion
        raise ModelFailure(Reason.ERROR, "every request is refused")

    async def _complete_within_budget(self, dialect: Dialect, messages: list[Message], organization: str) -> Completion:
        most_sent = sum(tokens_at_most(message["content"]) for message in messages)
        most_sent += _SCHEMA_TOKENS if dialect.form.has_schema else 0
        reservation = self._allowance.reserve(organization, most_sent, self._settings.max_tokens)
        request = {"messages": messages, **dialect.members(self._settings.max_tokens)}
        try:
            completion = await self._client.complete(request)
        except RequestRefused:
            self._allowance.settle(reservation, 0, 0)
            raise
        except ModelFailure as failure:
            if failure.free:
                self._allowance.settle(reservation, 0, 0)
            raise
        sent = most_sent if completion.sent is None else completion.sent
        written = tokens_at_most(completion.text) if completion.written is None else completion.written
        self._allowance.settle(reservation, sent, written)
        self._metrics.count_model_tokens(sent, written, self._allowance.cost_of(sent, written))
        return completion

    def _refuse_leaks(self, definition: Definition) -> None:
        """Reject a template that contains the server's key or our instructions."""
        key = self._client.sent_key or ""
        forms = (key, base64.b64encode(key.encode()).decode().rstrip("="), key[::-1]) if len(key) >= _KEY_LENGTH else ()
        for text in all_texts(definition):
            if repeats_instructions(text) or any(form in text for form in forms):
                raise ModelFailure(Reason.NONSENSE, "leaked key or instructions")


def _judged(text: str, *, prompt: str, locale: str | None) -> _Judged:
    """Parse an answer and compare it with its prompt. Raises Unusable."""
    # Imported late and in the pool's thread: it loads the composer's tables.
    from .check import judgement

    definition = read_answer(text)
    return _Judged(definition, judgement(definition, prompt, locale))


def tokens_at_most(text: str) -> int:
    """Return an upper bound of the tokens in `text`."""
    return int(len(text.encode()) / _CHARACTERS_PER_TOKEN) + 8
