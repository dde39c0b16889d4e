"""Accounts for every run and event after the soak, in cluster and archive."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from checklist_crds.archive import ArchiveReader, ArchiveStore, Record
from checklist_crds.resources.delivery import WebhookDeliveryStatus
from checklist_crds.resources.run import Run
from checklist_dev.perf.judgement.facts import ClusterState, Facts, Finding
from checklist_dev.perf.judgement.invariants import check_all


@dataclass(frozen=True, slots=True)
class Archived:
    """The verified contents of the archive. Deliveries by event id."""

    runs: Mapping[str, Run]
    deliveries: Mapping[str, WebhookDeliveryStatus]
    records: Sequence[Record] = ()


async def read_archive(store_url: str) -> Archived:
    """Read the whole archive. Raises Damaged for a damaged part."""
    store = ArchiveStore.open(store_url)
    reader = ArchiveReader(store)
    newest: dict[str, Record] = {}
    deliveries: dict[str, WebhookDeliveryStatus] = {}
    async for place, _ in store.manifests():
        manifest = await store.manifest(place)
        if manifest is None:
            continue
        for line in await reader.records(manifest):
            for delivery in line.deliveries:
                status = WebhookDeliveryStatus.model_validate(delivery.get("status") or {})
                deliveries[str(delivery["spec"]["eventId"])] = status
            if isinstance(line, Record):
                known = newest.get(line.run_id)
                if known is None or line.version > known.version:
                    newest[line.run_id] = line
    runs = {run_id: record.parsed() for run_id, record in newest.items()}
    return Archived(runs, deliveries, tuple(newest.values()))


def both(state: ClusterState, archived: Archived, history: Collection[str]) -> ClusterState:
    """Cluster and archive merged; the cluster takes precedence. `history`: runs that were not dispatched."""
    runs = {run_id: run for run_id, run in archived.runs.items() if run_id not in history}
    return ClusterState(
        runs={**runs, **{run_id: run for run_id, run in state.runs.items() if run_id not in history}},
        deliveries={**archived.deliveries, **state.deliveries},
        quota=state.quota,
    )


def check_accounts(
    facts: Facts, state: ClusterState, archived: Archived, history: Collection[str], problems: Sequence[str]
) -> list[Finding]:
    """The guarantees of the chaos scenes, over cluster and archive together, and those of the archive."""
    here = [record.run_id for record in facts.records]
    nowhere = [run_id for run_id in here if run_id not in state.runs and run_id not in archived.runs]
    unread = [run_id for run_id in here if facts.views.get(run_id, {}).get("run_id") != run_id]
    lost = [run_id for run_id in history if run_id not in archived.runs]
    left = [run_id for run_id in history if run_id in state.runs]
    moved = sum(run_id in archived.runs for run_id in here)
    return [
        *check_all(facts),
        Finding("every run is in the cluster or in the archive", len(here), nowhere),
        Finding("every run can be read in either place", len(here), unread),
        Finding("readers found every run while it moved", len(here), problems),
        Finding("runs were archived during the load", moved, [] if moved else ["none of them was archived"]),
        Finding("the history is in the archive, and not in the cluster", len(history), [*lost, *left]),
    ]
