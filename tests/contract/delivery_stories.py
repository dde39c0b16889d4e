"""What the operator writes of deliveries, written by hand: contract tests run without one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from checklist_crds.resources.base import OrganizationRef
from checklist_crds.resources.delivery import DeliveryAttempt, WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord, text_of
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.resources.run import ObjectNameRef, OutboxEntry, Run
from checklist_crds.runs.commands import AnswerStep, Command, Submit
from checklist_crds.times import utc_now

from .conftest import Account, Api, owned
from .executor_client import WEBHOOK

ENDPOINT = "https://hooks.example.com/in/T0-a-token?key=a-password"
"""A URL whose path and query must not be shown."""


@dataclass(frozen=True)
class Story:
    """A run with a webhook, whose events a test delivers or does not."""

    api: Api
    account: Account
    run_id: str

    async def run(self) -> Run:
        return Run.parse(await self.api.kube.get(RUN, self.run_id, self.account.namespace))

    async def does(self, *commands: Command) -> None:
        await self.api.does(self.run_id, *commands)

    async def completes(self) -> None:
        """Two events: step.completed (1), run.completed (2)."""
        await self.does(AnswerStep(step_id="s-clean", value=True), Submit())

    async def records(self, *attempts: DeliveryAttempt, seq: int = 1) -> str:
        """The event of that number leaves the outbox after these attempts, and the run says so. Its event_id."""
        run = await self.run()
        entry = next(entry for entry in run.status.outbox if entry.seq == seq)
        record = _record(entry, attempts)
        outbox = [other.to_kube() for other in run.status.outbox if other.seq != seq]
        records = text_of([*run.status.delivery_records, record])
        await self.api.kube.patch_status(
            RUN, self.run_id, {"outbox": outbox, "records": records}, self.account.namespace
        )
        return entry.event_id

    async def keeps(self, *attempts: DeliveryAttempt, seq: int = 1, payload: str = "{}", **status: Any) -> str:
        """A WebhookDelivery holds the event after these attempts, and the run says so. Its event_id."""
        run = await self.run()
        entry = next(entry for entry in run.status.outbox if entry.seq == seq)
        record = _record(entry, attempts)
        spec = WebhookDeliverySpec(
            organization_ref=OrganizationRef(name=self.account.organization),
            run_ref=ObjectNameRef(name=self.run_id),
            event_id=entry.event_id,
            event=entry.event,
            seq=seq,
            ts=entry.ts,
            url=ENDPOINT,
            payload=payload,
        )
        last = attempts[-1]
        ended = record.phase.is_final
        stored = WebhookDeliveryStatus(
            phase=record.phase,
            attempt=last.number,
            next_attempt_at=last.next_attempt_at,
            attempts=list(attempts),
            settled=True if ended else None,
            finished_at=last.started_at + timedelta(milliseconds=last.duration_ms) if ended else None,
        ).model_copy(update=status)
        namespace = self.account.namespace
        body = owned(WEBHOOK_DELIVERY, entry.event_id, self.account.organization, namespace, spec.to_kube())
        await self.api.kube.create(WEBHOOK_DELIVERY, body, namespace)
        await self.api.kube.patch_status(WEBHOOK_DELIVERY, entry.event_id, stored.to_kube(), namespace)
        await self.records(*attempts, seq=seq)
        return entry.event_id

    async def shown(self, event_id: str) -> dict[str, Any]:
        response = await self.account.http.get(f"/v1/deliveries/{event_id}")
        assert response.status_code == 200, response.text
        return dict(response.json())


async def listed(account: Account, path: str = "/v1/deliveries", **query: Any) -> list[dict[str, Any]]:
    response = await account.http.get(path, params=query)
    assert response.status_code == 200, response.text
    return list(response.json()["data"])


async def dispatched(api: Api, account: Account | None = None, *, url: str = ENDPOINT) -> Story:
    """A new run whose events are wanted at `url`."""
    account = account or api.account
    return Story(api, account, await account.new_run(webhook=WEBHOOK | {"url": url, "events": ["*"]}))


async def completed_story(api: Api, account: Account | None = None, *, url: str = ENDPOINT) -> Story:
    """The same, and the run is completed: two events wait."""
    story = await dispatched(api, account, url=url)
    await story.completes()
    return story


def sent(number: int = 1, *, status: int = 200, at: datetime | None = None, took_ms: int = 40) -> DeliveryAttempt:
    """An attempt that was answered."""
    outcome = {2: "success", 3: "http_3xx", 4: "http_4xx", 5: "http_5xx"}[status // 100]
    return DeliveryAttempt(
        number=number,
        started_at=at or utc_now(),
        duration_ms=took_ms,
        outcome=OutcomeClass(outcome),
        http_status=status,
    )


def five_failures(at: datetime | None = None) -> Sequence[DeliveryAttempt]:
    """All attempts of the schedule, in vain."""
    at = at or utc_now() - timedelta(hours=2)
    gaps = (30, 120, 600, 3600, None)
    made = []
    for number, gap in enumerate(gaps, 1):
        due = None if gap is None else at + timedelta(seconds=gap)
        detail = "The endpoint answered with 503."
        made.append(sent(number, status=503, at=at).model_copy(update={"next_attempt_at": due, "detail": detail}))
        at = due or at
    return made


def _record(entry: OutboxEntry, attempts: Sequence[DeliveryAttempt]) -> DeliveryRecord:
    last = attempts[-1]
    phase = DeliveryPhase.PENDING if last.next_attempt_at is not None else DeliveryPhase.FAILED
    if last.outcome is OutcomeClass.SUCCESS:
        phase = DeliveryPhase.DELIVERED
    of_entry = {name: getattr(entry, name) for name in ("seq", "event", "event_id", "ts")}
    of_attempt = {name: getattr(last, name) for name in ("started_at", "duration_ms", "outcome", "http_status")}
    return DeliveryRecord(**of_entry, **of_attempt, phase=phase, attempts=last.number)
