"""Which deliveries a DeliveryReplay selects, and the results of those it selected before: pure functions.

The only state of a bulk replay is its start time. It is the timestamp of all its requests, which also contain its name,
so each delivery shows whether this replay has processed it. After a crash, the same queries give the same counts and
exactly the remaining deliveries.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime

from checklist_crds.resources.delivery import (
    LastReplay,
    OutcomeClass,
    ReplayRequest,
    WebhookDeliverySpec,
    WebhookDeliveryStatus,
)
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.replay import RefusalCount, ReplayFilter
from checklist_crds.resources.run import Run
from checklist_crds.resources.webhook_url import host_of
from checklist_crds.runs.replay_rules import ReplayRefusal, refusal_of, refusal_of_record
from checklist_operator.attempts.replay_state import ended_at, is_same


@dataclass(frozen=True, slots=True)
class Target:
    """A delivery to be sent again; `from_run`: it has no WebhookDelivery yet, or an empty one."""

    event_id: str
    run: str
    """The name of the Run object."""
    host: str
    ts: datetime
    from_run: bool = False
    namespace: str = ""


Verdict = Target | LastReplay | ReplayRefusal | None
"""To be sent, already processed, not possible, or not selected."""


@dataclass(slots=True)
class Tally:
    """Results of processed deliveries."""

    delivered: int = 0
    failed: int = 0
    refusals: Counter[ReplayRefusal] = field(default_factory=Counter)

    def count(self, result: LastReplay | ReplayRefusal) -> None:
        match result:
            case LastReplay(outcome=None):
                self.refusals[ReplayRefusal.RUN_DELETED] += 1
            case LastReplay(outcome=OutcomeClass.SUCCESS):
                self.delivered += 1
            case LastReplay():
                self.failed += 1
            case ReplayRefusal():
                self.refusals[result] += 1

    @property
    def refused(self) -> int:
        return self.refusals.total()

    @property
    def done(self) -> int:
        return self.delivered + self.failed + self.refused

    @property
    def refusal_counts(self) -> list[RefusalCount]:
        return [RefusalCount(reason=reason.value, count=count) for reason, count in sorted(self.refusals.items())]


@dataclass(frozen=True, slots=True)
class Choice:
    """The filter of a DeliveryReplay, with its request."""

    filter: ReplayFilter
    organization: str
    request: ReplayRequest
    """The request made for each delivery; its timestamp is the start of the replay."""
    is_new: bool = False
    """No request has been made yet: all ended attempts ended before the start, even if the clock was set back."""

    @property
    def started_at(self) -> datetime:
        return self.request.requested_at

    @property
    def is_explicit(self) -> bool:
        """The caller listed the events; each then gets a result, possibly a refusal."""
        return bool(self.filter.event_ids)

    @property
    def phases(self) -> frozenset[DeliveryPhase]:
        if self.filter.phase is not None:
            return frozenset({self.filter.phase})
        if self.is_explicit:
            return frozenset({DeliveryPhase.DELIVERED, DeliveryPhase.FAILED})
        return frozenset({DeliveryPhase.FAILED})

    @property
    def includes_records(self) -> bool:
        """Whether it may select events without a WebhookDelivery, which were delivered at their first attempt."""
        return self.is_explicit or DeliveryPhase.DELIVERED in self.phases

    def of_delivery(
        self, spec: WebhookDeliverySpec, status: WebhookDeliveryStatus, *, incomplete: bool = False
    ) -> Verdict:
        """Returns the verdict on a WebhookDelivery. `incomplete`: its creation for a replay was interrupted."""
        last = status.last_replay
        if last is not None and is_same(last, self.request):
            return last
        host = host_of(spec.url)
        target = Target(spec.event_id, spec.run_ref.name, host, spec.ts)
        if status.replay is not None and is_same(status.replay, self.request):
            return target  # requested before a crash
        run = spec.run_ref.name, spec.public_run_id
        if spec.organization_ref.name != self.organization or not self._matches(run, spec.event_id, spec.event, host):
            return None
        if incomplete and self.includes_records:
            return replace(target, from_run=True)
        if not status.phase.is_final:
            return refusal_of(status) if self.is_explicit else None
        if last is not None and last.attempted_at is not None and self._is_after_start(last.attempted_at):
            return None  # replayed by another request
        outcome = status.attempts[-1].outcome if status.attempts else None
        if not self._is_in(status.phase, outcome, status.finished_at):
            return None
        return refusal_of(status) or target

    def of_record(self, run: Run, record: DeliveryRecord, ts: datetime) -> Verdict:
        """Returns the verdict on an event without a WebhookDelivery."""
        webhook = run.spec.webhook
        host = host_of(webhook.url) if webhook is not None else ""
        if not self._matches((run.name, run.public_id), record.event_id, record.event, host):
            return None
        if not record.phase.is_final:
            return ReplayRefusal.RETRY_PENDING if self.is_explicit else None
        if not self._is_in(record.phase, record.outcome, ended_at(record)):
            return None
        return refusal_of_record(run, record) or Target(record.event_id, run.name, host, ts, from_run=True)

    def _is_after_start(self, moment: datetime) -> bool:
        """Whether a recorded attempt ended after the replay's start."""
        return not self.is_new and moment >= self.started_at

    def _matches(self, run: tuple[str, str | None], event_id: str, event: EventName, host: str) -> bool:
        """`run`: name and id."""
        wanted = self.filter
        return (
            (wanted.run_ref is None or wanted.run_ref.name == run[0])
            and (wanted.run_id is None or wanted.run_id == run[1])
            and (not wanted.event_ids or event_id in wanted.event_ids)
            and (wanted.event is None or wanted.event is event)
            and (wanted.host is None or wanted.host.lower().rstrip(".") == host)
        )

    def _is_in(self, phase: DeliveryPhase, outcome: OutcomeClass | None, finished_at: datetime | None) -> bool:
        wanted = self.filter
        if phase not in self.phases or (wanted.outcome is not None and wanted.outcome is not outcome):
            return False
        if finished_at is None:
            return wanted.finished_after is None and wanted.finished_before is None
        return (
            (finished_at == self.started_at or not self._is_after_start(finished_at))
            and (wanted.finished_after is None or finished_at >= wanted.finished_after)
            and (wanted.finished_before is None or finished_at < wanted.finished_before)
        )
