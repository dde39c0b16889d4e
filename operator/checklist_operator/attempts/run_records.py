"""Records on runs how their deliveries ended; concurrent records of one run share a write."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import version_of
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_crds.resources.delivery_records import DeliveryRecord
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import Run, RunStatus
from checklist_crds.times import Clock
from checklist_operator.attempts.run_status import change_run_status, with_delivering, with_records
from checklist_operator.runtime.call_coalescer import CallCoalescer
from checklist_operator.runtime.fresh_reads import FreshReads

_WRITING_AT_ONCE: Final = 8
"""Concurrent writes to runs. They compete with time-critical starts of retries for the cluster."""
_REMEMBERED: Final = 256
"""Number of runs kept as last written."""
_KNOWN: Final = 16_384
"""Number of runs whose last written version is kept: a write based on an older read would fail."""


class RunPlace(NamedTuple):
    """Where a run is, and its id: its name may be used again after it was deleted."""

    namespace: str
    name: str
    run_id: str


Entry = tuple[DeliveryRecord, JsonObject | None]
"""The record, and the run as read before."""


class RunRecords:
    """Writes the ends of deliveries to their runs."""

    def __init__(self, client: KubeClient, reads: FreshReads, clock: Clock) -> None:
        self._client = client
        self._reads = reads
        self._clock = clock
        self._written: TTLCache[RunPlace, JsonObject] = TTLCache(_REMEMBERED)
        self._versions: TTLCache[RunPlace, int] = TTLCache(_KNOWN)
        self._writes: CallCoalescer[RunPlace, Entry, JsonObject | None] = CallCoalescer(
            self._write, at_once=_WRITING_AT_ONCE
        )

    async def record(
        self, run: RunPlace, record: DeliveryRecord, *, known: JsonObject | None = None
    ) -> JsonObject | None:
        """Returns the updated run; None when it is gone. `known` is the run as read before. Raises KubeError."""
        return await self._writes.add(run, (record, known))

    async def close(self) -> None:
        await self._writes.close()

    async def _write(self, run: RunPlace, entries: Sequence[Entry]) -> JsonObject | None:
        records = [record for record, _ in entries]

        def change(now: Run) -> RunStatus:
            if now.public_id != run.run_id:
                raise KubeNotFound(f"run {run.run_id} is gone")
            return with_delivering(now, with_records(now, records), None, now=self._clock())

        try:
            body = await change_run_status(
                self._client,
                run.namespace,
                run.name,
                change,
                known=self._freshest(run, [body for _, body in entries if body is not None]),
            )
        except KubeNotFound:
            return None
        self._reads.note(RUN, body)
        self._written.put(run, body)
        self._versions.put(run, version_of(body))
        return body

    def _freshest(self, run: RunPlace, read: Sequence[JsonObject]) -> JsonObject | None:
        """Returns the newest known state of the run; None if it has certainly changed since."""
        written = self._written.get(run)
        known = max([*read, *([written] if written is not None else [])], key=version_of, default=None)
        return known if known is not None and version_of(known) >= (self._versions.get(run) or 0) else None
