"""Reads DeliveryReplays and writes their status."""

import contextlib
import logging
from dataclasses import dataclass, replace
from typing import Final, Self

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeInvalid
from checklist_crds.resources.base import with_condition
from checklist_crds.resources.kinds import DELIVERY_REPLAY, Key, key_of
from checklist_crds.resources.replay import DeliveryReplaySpec, DeliveryReplayStatus, ReplayPhase
from checklist_crds.times import Clock
from checklist_crds.values import merge_patch
from checklist_crds.values.json_text import JsonObject
from checklist_operator.replays.selection import Tally
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference

logger = logging.getLogger(__name__)

COMPLETE: Final = "Complete"
"""The condition of `kubectl wait --for=condition=Complete`."""


@dataclass(frozen=True, slots=True)
class BulkReplay:
    """A DeliveryReplay, as read."""

    name: str
    namespace: str
    resource_version: str
    generation: int | None
    spec: DeliveryReplaySpec
    status: DeliveryReplayStatus
    body: JsonObject

    @classmethod
    def parse(cls, body: JsonObject) -> Self:
        """Raises pydantic.ValidationError."""
        metadata = body["metadata"]
        return cls(
            name=metadata["name"],
            namespace=metadata["namespace"],
            resource_version=metadata["resourceVersion"],
            generation=metadata.get("generation"),
            spec=DeliveryReplaySpec.model_validate(body["spec"]),
            status=DeliveryReplayStatus.model_validate(body.get("status") or {}),
            body=body,
        )

    @property
    def key(self) -> Key:
        return self.namespace, self.name


class BulkReplayStatus:
    """Writes the status of DeliveryReplays.

    Methods raise KubeConflict after a concurrent write, KubeNotFound when it was deleted, and other KubeErrors.
    """

    def __init__(self, client: KubeClient, kube_events: EventRecorder, clock: Clock) -> None:
        self._client = client
        self._kube_events = kube_events
        self._clock = clock

    async def show(self, replay: BulkReplay, tally: Tally, *, total: int | None = None) -> BulkReplay:
        """Writes the progress."""
        status = replay.status.model_copy(
            update={
                "total": replay.status.total if total is None else total,
                "done": 0 if replay.spec.dry_run else tally.done,
                "delivered": tally.delivered,
                "failed": tally.failed,
                "refused": tally.refused,
                "refusals": tally.refusal_counts,
            }
        )
        return await self.write(replay, status)

    async def end(self, replay: BulkReplay, phase: ReplayPhase, reason: str, message: str) -> None:
        """Writes the result, also as an Event and to the log."""
        now = self._clock()
        conditions = with_condition(
            replay.status.conditions,
            COMPLETE,
            phase is ReplayPhase.COMPLETED,
            reason,
            message,
            now=now,
            generation=replay.generation,
        )
        update = {"phase": phase, "finished_at": now, "settled": True, "conditions": conditions}
        await self.write(replay, replay.status.model_copy(update=update))
        reference = ObjectReference.of(DELIVERY_REPLAY, replay.body)
        if phase is ReplayPhase.REFUSED:
            self._kube_events.warn(reference, reason, message)
        else:
            self._kube_events.record(reference, reason, message)
        logger.info("bulk_replay.ended", extra=about(replay=replay.name, phase=phase.value, reason=reason))

    async def refuse_unreadable(self, body: JsonObject, error: ValidationError) -> None:
        """Refuses a DeliveryReplay whose spec cannot be parsed, such as a date beyond the range of datetime.

        For some of these, the API server rejects every later write; then only the Event shows the reason.
        """
        (namespace, name), now = key_of(body), self._clock()
        first = error.errors(include_url=False)[0]
        message = f"{'.'.join(map(str, ('spec', *first['loc'])))}: {first['msg']}."
        generation = body["metadata"]["generation"]
        conditions = with_condition([], COMPLETE, False, "Invalid", message, now=now, generation=generation)
        status = DeliveryReplayStatus(phase=ReplayPhase.REFUSED, finished_at=now, settled=True, conditions=conditions)
        with contextlib.suppress(KubeInvalid):
            await self._client.patch_status(DELIVERY_REPLAY, name, status.to_kube(), namespace)
        self._kube_events.warn(ObjectReference.of(DELIVERY_REPLAY, body), "Invalid", message)

    async def write(self, replay: BulkReplay, status: DeliveryReplayStatus) -> BulkReplay:
        """Raises KubeConflict after a concurrent write, KubeNotFound when it was deleted."""
        patch = merge_patch.diff(replay.status.to_kube(), status.to_kube())
        if not patch:
            return replace(replay, status=status)
        body = await self._client.patch_status(
            DELIVERY_REPLAY, replay.name, patch, replay.namespace, resource_version=replay.resource_version
        )
        return BulkReplay.parse(body)
