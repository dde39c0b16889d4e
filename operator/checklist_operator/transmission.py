"""One transmission within the limits: permit, body, send, and what the figures say about it.

Both first attempts and retries go through here, so that fairness and metrics know them all.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from checklist_crds.delivery_types import Attempt
from checklist_operator.delivery.failure import OwnFault
from checklist_operator.delivery.fairness import Permits, host_of
from checklist_operator.delivery.outcome import Outcome
from checklist_operator.delivery.sender import Sender
from checklist_operator.faults import OurFault
from checklist_operator.metrics import Metrics


class Transmitter:
    """Sends when it may."""

    def __init__(self, sender: Sender, permits: Permits, metrics: Metrics) -> None:
        self._sender = sender
        self._permits = permits
        self._metrics = metrics

    @asynccontextmanager
    async def permit(self, url: str, organization: str, *, first: bool) -> AsyncIterator[None]:
        """Waits until an attempt to `url` may start; nothing counts against the receiver yet."""
        async with self._permits.permit(host=host_of(url), organization=organization, first=first):
            yield

    async def send(self, url: str, body: bytes, secret: bytes, run_id: str, *, attempt: int) -> Outcome:
        """Sends now; to be called with a permit. Raises OurFault, after which nothing may be concluded."""
        try:
            outcome = await self._sender.send(url, body, secret, run_id)
        except OwnFault as fault:
            self._metrics.own_faults.labels("TransportUnavailable").inc()
            raise OurFault("TransportUnavailable", f"the event could not be sent: {fault}") from None
        self._permits.record(host_of(url), outcome.outcome_class)
        self._metrics.attempts.labels(outcome.outcome_class.value, str(attempt)).inc()
        self._metrics.attempt_seconds.observe(outcome.duration_ms / 1000)
        return outcome


def attempt_record(number: int, outcome: Outcome, next_attempt_at: datetime | None) -> Attempt:
    """The attempt as the history of a WebhookDelivery shows it."""
    return Attempt(
        number=number,
        started_at=outcome.started_at,
        duration_ms=outcome.duration_ms,
        outcome=outcome.outcome_class,
        http_status=outcome.http_status,
        next_attempt_at=next_attempt_at,
    )


NextAttemptAt = Callable[[datetime, int], datetime | None]
"""When the attempt after a failed one is due: (end of the attempt, its number) -> time, None after the fifth."""
