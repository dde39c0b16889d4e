"""Finds the targets of a DeliveryReplay in the cluster, page by page, keeping only names."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.delivery import WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.run import Run
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.delivery_objects import time_of
from checklist_operator.attempts.replay_state import is_incomplete
from checklist_operator.replays.selection import Choice, Tally, Target, Verdict
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)

_AT_A_TIME: Final = 20


@dataclass(slots=True)
class Found:
    """Targets that are left, oldest event first, and the tally of the others."""

    targets: list[Target] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def add(self, namespace: str, verdict: Verdict) -> None:
        if isinstance(verdict, Target):
            self.targets.append(replace(verdict, namespace=namespace))
        elif verdict is not None:
            self.tally.count(verdict)


async def search(client: KubeClient, namespaces: Iterable[str], choice: Choice, *, is_new: bool) -> Found:
    """Returns what `choice` selects in `namespaces`. `is_new`: no request has been made yet. Raises KubeError."""
    choice = replace(choice, is_new=is_new)
    found, seen = Found(), set[str]()
    for namespace in namespaces:
        async for body in _deliveries(client, namespace, choice):
            try:
                spec = WebhookDeliverySpec.model_validate(body["spec"])
                status = WebhookDeliveryStatus.model_validate(body.get("status") or {})
            except ValidationError:
                _warn_unreadable(body)
                continue
            seen.add(spec.event_id)
            found.add(namespace, choice.of_delivery(spec, status, incomplete=is_incomplete(body, status)))
        if choice.includes_records:
            async for run in _runs(client, namespace, choice):
                _add_from_run(found, seen, namespace, run, choice)
    for _ in set(choice.filter.event_ids) - seen:
        found.tally.count(ReplayRefusal.PAYLOAD_NOT_KEPT)
    found.targets.sort(key=lambda target: (target.ts, target.event_id))
    return found


def _add_from_run(found: Found, seen: set[str], namespace: str, run: Run, choice: Choice) -> None:
    """Adds the run's events that have no delivery, unless they are in `seen`."""
    for record in run.status.delivery_records:
        if record.event_id not in seen:
            seen.add(record.event_id)
            found.add(namespace, choice.of_record(run, record, time_of(run, record)))
    for entry in run.status.outbox:
        if entry.event_id in choice.filter.event_ids and entry.event_id not in seen:
            seen.add(entry.event_id)
            found.tally.count(ReplayRefusal.RETRY_PENDING)


async def _deliveries(client: KubeClient, namespace: str, choice: Choice) -> AsyncIterator[JsonObject]:
    selectors = []
    if choice.filter.run_ref is not None:
        selectors.append(f"spec.runRef.name={choice.filter.run_ref.name}")
    if choice.is_new and choice.phases == {DeliveryPhase.FAILED}:
        selectors.append(f"status.phase={DeliveryPhase.FAILED.value}")
    pages = client.pages(
        WEBHOOK_DELIVERY,
        namespace,
        field_selector=",".join(selectors) or None,
        label_selector=f"{ORGANIZATION_LABEL}={choice.organization}",
    )
    async for body in _yielding(pages):
        yield body


async def _runs(client: KubeClient, namespace: str, choice: Choice) -> AsyncIterator[Run]:
    """Yields runs of the organization that may have matching events."""
    if choice.filter.run_ref is not None:
        try:
            run = Run.parse(await client.get(RUN, choice.filter.run_ref.name, namespace))
        except KubeNotFound:
            return
        if run.resolved is not None and run.resolved.organization == choice.organization:
            yield run  # `Choice` compares its id
        return
    pages = client.pages(RUN, namespace, label_selector=f"{ORGANIZATION_LABEL}={choice.organization}")
    async for body in _yielding(pages):
        status = body.get("status") or {}
        if not (status.get("records") or status.get("deliveries")):
            continue
        try:
            run = Run.parse(body)
        except ValidationError:
            _warn_unreadable(body)
            continue
        yield run


async def _yielding(pages: AsyncIterator[tuple[list[JsonObject], str]]) -> AsyncIterator[JsonObject]:
    """Yields objects one by one, and lets other tasks run in between."""
    async for items, _ in pages:
        for number, body in enumerate(items):
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            yield body


def _warn_unreadable(body: JsonObject) -> None:
    """Logs an object that cannot be parsed, and which is skipped."""
    logger.warning("bulk_replay.object_not_understood", extra=about(name=body["metadata"]["name"]))
