"""Checks the work in the cluster: overdue runs, late events and retries, refused runs."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError
from checklist_crds.limits.retention import Keep, organization_of
from checklist_crds.resources.base import RESTORING_ANNOTATION
from checklist_crds.resources.delivery_records import waiting_events
from checklist_crds.resources.kinds import ORGANIZATION, RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.pause import is_paused
from checklist_crds.resources.run import RunPhase
from checklist_crds.resources.run_expiry import expires_at_of
from checklist_crds.secrets.sealing import sealing_key_of
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values.json_text import JsonObject

from .finding import Finding, Level, ok, spoken, unknown

LATE: Final = timedelta(minutes=1)
VERY_LATE: Final = timedelta(minutes=10)
_BEHIND: Final = timedelta(days=1)
_SHOWN: Final = 3
_STUCK_ADVICE: Final = "check whether an operator leads (above), and what its log says of these names"

Report = Callable[[int], None]
"""Receives the number of objects read so far."""


@dataclass(slots=True)
class _Late:
    """Names of late objects, and the largest delay."""

    names: list[str] = field(default_factory=list)
    worst: timedelta = timedelta(0)

    def note(self, name: str, by: timedelta) -> None:
        if by > LATE:
            self.names.append(name)
            self.worst = max(self.worst, by)

    def finding(self, check: str, good: str, bad: str, advice: str) -> Finding:
        if not self.names:
            return ok(check, good)
        level = Level.CRITICAL if self.worst > VERY_LATE else Level.WARNING
        text = f"{len(self.names):,} {bad}, up to {spoken(self.worst.total_seconds())}: {_some(self.names)}"
        return Finding(check, level, text, advice)


@dataclass(frozen=True, slots=True)
class Paused:
    """Paused organizations: their work waits on purpose."""

    organizations: frozenset[str]

    def holds(self, body: JsonObject, organization: str) -> bool:
        return is_paused(body["metadata"]) or organization in self.organizations


async def _paused(client: KubeClient) -> Paused:
    bodies, _ = await client.list_all(ORGANIZATION)
    return Paused(frozenset(body["metadata"]["name"] for body in bodies if is_paused(body["metadata"])))


async def restored(client: KubeClient) -> AsyncIterator[Finding]:
    """Report organizations whose restore has not ended."""
    try:
        bodies, _ = await client.list_all(ORGANIZATION)
    except KubeError as error:
        yield unknown("restore", f"organizations cannot be read: {error.message}", "run it with the right to list them")
        return
    for body in bodies:
        snapshot = (body["metadata"].get("annotations") or {}).get(RESTORING_ANNOTATION)
        if snapshot:
            yield Finding(
                "restore",
                Level.WARNING,
                f"{body['metadata']['name']} is being restored from {snapshot}, and answers 503",
                "wait for that restore; if it was interrupted, run the same command again",
            )


async def runs(client: KubeClient, keys: Collection[str], now: Clock, report: Report) -> AsyncIterator[Finding]:
    """Check all unsettled runs. `keys`: ids of the sealing keys, empty if unknown."""
    expired, unsent = _Late(), _Late()
    refused: list[str] = []
    seen, foreign = Counter[str](), Counter[str]()
    try:
        paused = await _paused(client)
        async for page, _ in client.pages(RUN, field_selector="status.settled!=true"):
            for body in page:
                seen[_phase(body).value] += 1
                _judge_run(body, paused, now(), expired, unsent, refused)
                sealed = ((body["spec"].get("webhook") or {}).get("sealedSecret")) or ""
                key = sealing_key_of(sealed) if sealed else None
                if key is not None and keys and key not in keys:
                    foreign[key] += 1
            report(seen.total())
    except KubeError as error:
        yield unknown("runs", f"cannot be read: {error.message}", "run it with the right to list them")
        return
    phases = ", ".join(f"{number:,} {phase}" for phase, number in sorted(seen.items()))
    yield ok("runs", f"{seen.total():,} are not settled" + (f" ({phases})" if phases else ""))
    yield expired.finding("expiry", "no open run is past its expiry", "open runs are past their expiry", _STUCK_ADVICE)
    yield unsent.finding("events", "no event waits to be sent", "runs have unsent events", _STUCK_ADVICE)
    if refused:
        text = f"{len(refused):,} runs are not admitted: {_some(refused)}"
        yield Finding("admission", Level.WARNING, text, "see the reason with kubectl describe clrun NAME")
    for key, number in sorted(foreign.items()):
        yield Finding(
            "keys",
            Level.CRITICAL,
            f"webhook secrets of {number:,} runs are sealed with the unknown key {key}",
            "their events cannot be signed: add the key behind the others, CHECKLISTS_SEALING_KEYS in docs/secrets.md",
        )


def _judge_run(  # noqa: PLR0917 - one pass, several lists
    body: JsonObject, paused: Paused, now: datetime, expired: _Late, unsent: _Late, refused: list[str]
) -> None:
    name, status = str(body["metadata"]["name"]), body.get("status") or {}
    if not _phase(body).is_final and (ends := expires_at_of(body)) is not None:
        expired.note(name, now - ends)
    if paused.holds(body, organization_of(body)):
        return
    if events := waiting_events(status):
        unsent.note(name, now - parse_timestamp(events[0]["ts"]))
    if any(each["type"] == "Admitted" and each["status"] == "False" for each in status.get("conditions") or ()):
        refused.append(name)


async def deliveries(client: KubeClient, now: Clock, report: Report) -> AsyncIterator[Finding]:
    """Check all unsettled deliveries for late retries."""
    late, seen = _Late(), 0
    try:
        paused = await _paused(client)
        async for page, _ in client.pages(WEBHOOK_DELIVERY, field_selector="status.settled!=true"):
            for body in page:
                seen += 1
                due = (body.get("status") or {}).get("nextAttemptAt")
                organization = str(body["spec"]["organizationRef"]["name"])
                if due is not None and not paused.holds(body, organization):
                    late.note(str(body["metadata"]["name"]), now() - parse_timestamp(due))
            report(seen)
    except KubeError as error:
        yield unknown("retries", f"cannot be read: {error.message}", "run it with the right to list them")
        return
    yield late.finding("retries", f"{seen:,} deliveries are under way, none is late", "retries are late", _STUCK_ADVICE)


async def past_retention(client: KubeClient, now: Clock, report: Report) -> AsyncIterator[Finding]:
    """Check for settled runs a day past their retention: archiving is late, or its store unavailable."""
    try:
        bodies, _ = await client.list_all(ORGANIZATION)
        keeps = {keep.name: keep for keep in map(Keep.of, bodies)}
        settled, behind = 0, 0
        async for page, _ in client.pages(RUN, field_selector="status.settled=true"):
            for body in page:
                settled += 1
                keep = keeps.get(organization_of(body))
                due = keep.due_at(body) if keep is not None else None
                behind += due is not None and now() - due > _BEHIND
            report(settled)
    except KubeError as error:
        yield unknown("retention", f"cannot be read: {error.message}", "run it with the right to list runs")
        return
    if behind:
        text = f"{behind:,} of {settled:,} settled runs are a day past their retention and still in the cluster"
        advice = "see the operator's log: the store may be unavailable, or the archive off"
        yield Finding("retention", Level.WARNING, text, advice)
    else:
        yield ok("retention", f"{settled:,} settled runs in the cluster, none a day past its retention")


def _phase(body: JsonObject) -> RunPhase:
    return RunPhase((body.get("status") or {}).get("phase") or RunPhase.PENDING)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
