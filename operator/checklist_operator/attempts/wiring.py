"""Builds the pipeline of attempts for one term of leadership."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Self

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.platform.tracing import Tracing
from checklist_crds.resources.kinds import Key
from checklist_crds.resources.webhook_url import InsecureTargets
from checklist_crds.times import Clock
from checklist_operator.attempts.claim import Claims
from checklist_operator.attempts.delivery_objects import DeliveryObjects
from checklist_operator.attempts.envelopes import EventPhotos
from checklist_operator.attempts.pauses import Pauses
from checklist_operator.attempts.pipeline import AttemptPipeline
from checklist_operator.attempts.prepare import Preparation
from checklist_operator.attempts.record import AttemptRecorder
from checklist_operator.attempts.run_records import RunRecords
from checklist_operator.attempts.schedule import RetrySchedule
from checklist_operator.attempts.send import Transmitter
from checklist_operator.attempts.settle import DeliverySettler
from checklist_operator.attempts.signing_secrets import SigningSecrets
from checklist_operator.runtime.fresh_reads import FreshReads
from checklist_operator.runtime.handover import InheritedAttempts
from checklist_operator.runtime.kube_events import EventRecorder
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.transport.fairness import Permits


@dataclass(frozen=True, slots=True)
class AttemptParts:
    """The parts that controllers use, and those to close at the end."""

    objects: DeliveryObjects
    preparation: Preparation
    pipeline: AttemptPipeline
    recorder: AttemptRecorder
    settler: DeliverySettler
    transmitter: Transmitter
    pauses: Pauses
    permits: Permits
    claims: Claims
    records: RunRecords
    reads: FreshReads
    tracing: Tracing

    @classmethod
    def build(
        cls,
        client: KubeClient,
        transmitter: Transmitter,
        permits: Permits,
        *,
        revisions: RevisionStore,
        secrets: SigningSecrets,
        pauses: Pauses,
        photos: EventPhotos,
        inherited: InheritedAttempts,
        confirm_lead: Callable[[], Awaitable[None]],
        holder: str,
        schedule: RetrySchedule,
        claims_per_s: int,
        allow_insecure: InsecureTargets,
        metrics: Metrics,
        kube_events: EventRecorder,
        clock: Clock,
        tracing: Tracing,
        on_settled: Callable[[Key], None],
    ) -> Self:
        """`on_settled` is called with each settled delivery."""
        reads = FreshReads(client)
        objects = DeliveryObjects(client=client, reads=reads, schedule=schedule, clock=clock)
        claims = Claims(objects, confirm_lead, holder=holder, clock=clock, one_by_one_per_s=claims_per_s)
        records = RunRecords(client, reads, clock)
        settler = DeliverySettler(
            objects=objects,
            records=records,
            metrics=metrics,
            kube_events=kube_events,
            clock=clock,
            on_settled=on_settled,
        )
        recorder = AttemptRecorder(
            client=client,
            objects=objects,
            claims=claims,
            settler=settler,
            metrics=metrics,
            kube_events=kube_events,
            clock=clock,
        )
        preparation = Preparation(
            objects=objects,
            reads=reads,
            revisions=revisions,
            secrets=secrets,
            pauses=pauses,
            inherited=inherited,
            tracing=tracing,
            settler=settler,
            recorder=recorder,
            clock=clock,
            holder=holder,
            allow_insecure=allow_insecure,
        )
        pipeline = AttemptPipeline(
            permits=permits,
            claims=claims,
            transmitter=transmitter,
            recorder=recorder,
            photos=photos,
            pauses=pauses,
            metrics=metrics,
            clock=clock,
        )
        return cls(
            objects=objects,
            preparation=preparation,
            pipeline=pipeline,
            recorder=recorder,
            settler=settler,
            transmitter=transmitter,
            pauses=pauses,
            permits=permits,
            claims=claims,
            records=records,
            reads=reads,
            tracing=tracing,
        )

    async def close(self) -> None:
        """Cancels background work of the parts."""
        await asyncio.gather(self.claims.close(), self.records.close(), self.reads.close())
