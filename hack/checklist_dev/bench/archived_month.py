"""An archive of one month, written as the operator's archiver writes it, for what is measured beside it."""

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from checklist_crds.archive import ArchiveStore, Folder, Record, encode_part, month_of
from checklist_crds.archive.part import MAX_RUNS
from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import RUN, TEMPLATE_REVISION
from checklist_crds.resources.run import RunPhase
from checklist_crds.times import format_timestamp
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.load.checklist import TEMPLATE, value_for

FIRST_DAY: Final = datetime(2026, 3, 1, tzinfo=UTC)
MONTH: Final = timedelta(days=31)
Json = dict[str, Any]


async def example_of(client: KubeClient, run_id: str) -> tuple[Json, Json]:
    """The run as the cluster has it, and the revision that it was made of: what `records` are made after."""
    run = await client.get(RUN, run_id, NAMESPACE)
    return run, await client.get(TEMPLATE_REVISION, run["spec"]["resolved"]["revisionRef"]["name"], NAMESPACE)


def records(
    example: Json, revision: Json, count: int, identity_of: Callable[[int], Json | None] = lambda _: None
) -> Iterator[Record]:
    """Runs of a month in order of time: four fifths completed, the others cancelled or expired; of many references.
    `identity_of`: of the person who answered the run of that number."""
    rng = random.Random(9)
    for number in range(count):
        created_at = FIRST_DAY + MONTH * (number / count)
        ended_at = format_timestamp(created_at + timedelta(minutes=10))
        phase = RunPhase.COMPLETED if number % 5 else RunPhase.CANCELLED if number % 2 else RunPhase.EXPIRED
        spec = {**example["spec"], "createdAt": format_timestamp(created_at), "executorRef": f"ref {number % 97}"}
        status: Json = {"phase": phase.value, "settled": True, "progress": {"total": 9, "answered": 9, "skipped": 0}}
        if phase is RunPhase.COMPLETED:
            status |= {"startedAt": spec["createdAt"], "completedAt": ended_at, "answers": answers(rng, ended_at)}
        elif phase is RunPhase.CANCELLED:
            status |= {"cancelledAt": ended_at, "cancelReason": "not today"}
        else:
            spec |= {"expiresAt": ended_at}
        if identity := identity_of(number):
            status["identity"] = identity
        metadata = {**example["metadata"], "name": new_id("r"), "resourceVersion": str(1_000 + number)}
        yield Record.of({**example, "metadata": metadata, "spec": spec, "status": status}, revision, ())


def answers(rng: random.Random, at: str) -> Json:
    steps = (step for section in TEMPLATE["sections"] for step in section["steps"])
    values = {step["id"]: value_for(rng, step["type"]) for step in steps}
    return {step: {"value": json.dumps(value), "at": at, "revision": 1} for step, value in values.items()}


async def fill(store: ArchiveStore, organization: str, some_records: Iterator[Record]) -> list[str]:
    """Parts as the archiver makes them. The ids of their runs."""
    found: list[str] = []
    while some := list(islice(some_records, MAX_RUNS)):
        folder = Folder(organization, month_of(some[0].created_at))
        part = await asyncio.to_thread(
            encode_part, folder, some, written_at=some[-1].created_at, written_by="the bench"
        )
        await store.put(part.place.key, part.content)
        await store.put(part.place.manifest_key, part.manifest.encoded())
        found += part.manifest.run_ids
    return found
