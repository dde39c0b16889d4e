"""Prepares attempts: whether one is due and may be sent, and all data it needs.

Also settles a delivery that has no attempt left.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial

from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.platform.tracing import Tracing
from checklist_crds.resources.delivery import WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import RUN, Key
from checklist_crds.resources.run import OutboxEntry, Run
from checklist_crds.resources.run_id import resolved_of, run_id_of
from checklist_crds.resources.webhook_url import InsecureTargets
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.attempt import FIRST_ATTEMPT, Attempt
from checklist_operator.attempts.delivery_objects import Delivery, DeliveryObjects, target_of
from checklist_operator.attempts.delivery_state import Conclude, NextAction, Nothing, Send, Wait, next_action
from checklist_operator.attempts.envelopes import first_envelope, kept_message
from checklist_operator.attempts.pauses import Pauses
from checklist_operator.attempts.record import AttemptRecorder
from checklist_operator.attempts.settle import DeliverySettler
from checklist_operator.attempts.signing_secrets import SigningSecrets
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.fresh_reads import FreshReads
from checklist_operator.runtime.handover import InheritedAttempts


class Preparation:
    """Prepares the attempts of one term."""

    def __init__(
        self,
        *,
        objects: DeliveryObjects,
        reads: FreshReads,
        revisions: RevisionStore,
        secrets: SigningSecrets,
        pauses: Pauses,
        inherited: InheritedAttempts,
        tracing: Tracing,
        settler: DeliverySettler,
        recorder: AttemptRecorder,
        clock: Clock,
        holder: str,
        allow_insecure: InsecureTargets,
    ) -> None:
        self._objects = objects
        self._reads = reads
        self._revisions = revisions
        self._secrets = secrets
        self._pauses = pauses
        self._inherited = inherited
        self._tracing = tracing
        self._settler = settler
        self._recorder = recorder
        self._clock = clock
        self._holder = holder
        self._target_of = partial(target_of, allow_insecure=allow_insecure)
        self._began_at = asyncio.get_running_loop().time()

    # -- first attempts -------------------------------------------------------------------------------------------

    def first_attempts_wait_s(self, event_ids: Iterable[str]) -> float:
        """Seconds to wait with these events, as the previous leader may still be recording attempts of them."""
        return self._inherited.for_s(event_ids, attempt=1)

    async def check_paused(self, run: Run, body: JsonObject) -> None:
        """Raises Paused and KubeError."""
        await self._pauses.check(body, run.admitted_as.organization)

    async def first_attempts(
        self, run: Run, body: JsonObject, events: Iterable[OutboxEntry], *, free_since: datetime | None
    ) -> list[Attempt]:
        """Prepares attempts for outbox events of a run with a webhook; `free_since` is the end of its last pause.

        Raises LocalFault and KubeError.
        """
        webhook, resolved = run.spec.webhook, run.admitted_as
        if webhook is None:
            return []
        try:
            definition = await self._revisions.definition(run.namespace, resolved.revision_ref.name)
        except KubeNotFound:
            raise LocalFault("RevisionMissing", f"TemplateRevision {resolved.revision_ref.name} is gone") from None
        secret = await self._secrets.of(run.namespace, run.name, webhook)
        url = self._target_of(webhook.url)
        return [
            Attempt(
                event=event,
                action=FIRST_ATTEMPT,
                run=run,
                run_body=body,
                organization=resolved.organization,
                url=url,
                secret=secret,
                message=partial(first_envelope, event, run, definition),
                due_at=event.ts if free_since is None else max(event.ts, free_since),
            )
            for event in events
        ]

    # -- retries and replays --------------------------------------------------------------------------------------

    def next_action(self, status: WebhookDeliveryStatus, created_at: datetime) -> NextAction:
        led_for_s = asyncio.get_running_loop().time() - self._began_at
        return next_action(status, now=self._clock(), holder=self._holder, created_at=created_at, led_for_s=led_for_s)

    async def of_delivery(self, key: Key) -> Attempt | Wait | None:
        """Returns the due attempt of a delivery; None when none is left, which is then written.

        Raises KubeNotFound, KubeConflict when it changed meanwhile, other KubeErrors, Paused and LocalFault.
        """
        delivery = await self._objects.get_recent(*key)
        match self.next_action(delivery.status, delivery.created_at):
            case Send() as action:
                waits_s = self._inherited.for_s((delivery.name,), action.attempt)
                if waits_s:
                    return Wait(self._clock() + timedelta(seconds=waits_s))
                return await self._of_action(delivery, action)
            case Wait() as wait:
                return wait
            case Conclude():
                await self._settler.conclude(delivery)
            case Nothing():
                pass
        return None

    async def _of_action(self, delivery: Delivery, action: Send) -> Attempt | None:
        spec = delivery.spec
        body = await self._run_of(delivery)
        if body is not None:
            self._tracing.bind_logs(body)
        run = Run.parse(body, answers=False) if body is not None else None
        if body is None or run is None or run.spec.webhook is None:
            await self._settler.give_up(delivery, action, ReplayRefusal.RUN_DELETED)
            return None
        is_own = run.admitted_as.organization == spec.organization_ref.name
        if not is_own or self._target_of(spec.url) != self._target_of(run.spec.webhook.url):
            # A delivery made by hand: signing for its URL would let its creator have anything signed.
            await self._settler.give_up(delivery, action, ReplayRefusal.FOREIGN_TARGET)
            return None
        if not action.is_replay and _has_arrived(run, delivery.name):
            await self._settler.settle_delivered(delivery)
            return None
        await self._pauses.check(body, spec.organization_ref.name)
        try:
            secret = await self._secrets.of(delivery.namespace, run.name, run.spec.webhook)
        except LocalFault as fault:
            await self._recorder.postpone(delivery, action, fault)
            raise
        return Attempt(
            # The parts were validated with the delivery.
            event=OutboxEntry.model_construct(seq=spec.seq, event=spec.event, event_id=delivery.name, ts=spec.ts),
            action=action,
            run=run,
            run_body=body,
            organization=spec.organization_ref.name,
            url=spec.url,
            secret=secret,
            message=partial(kept_message, spec.payload),
            due_at=delivery.status.next_attempt_at,
            delivery=delivery,
        )

    async def _run_of(self, delivery: Delivery) -> JsonObject | None:
        """Returns the delivery's run if it exists and is admitted. An API server's cache may lag, so etcd decides."""
        for read in (self._reads.get, self._reads.get_newest):
            with contextlib.suppress(KubeNotFound):
                body = await read(RUN, delivery.spec.run_ref.name, delivery.namespace)
                if run_id_of(body) == delivery.spec.public_run_id and resolved_of(body) is not None:
                    return body
        return None


def _has_arrived(run: Run, event_id: str) -> bool:
    """Whether the run has a success of the event on record."""
    return any(one.event_id == event_id and one.phase is DeliveryPhase.DELIVERED for one in run.status.delivery_records)
