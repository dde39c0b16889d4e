"""The work that waits in the cluster: runs that should have ended, late events and retries, what was refused."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeError
from checklist_crds.limits.retention import Keep, organization_of
from checklist_crds.resources.base import RESTORING_ANNOTATION, made_at
from checklist_crds.resources.delivery_records import waiting_events
from checklist_crds.resources.kinds import ORGANIZATION, RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.pause import is_paused
from checklist_crds.resources.run import RunPhase
from checklist_crds.secrets.sealing import sealing_key_of
from checklist_crds.times import Clock, parse_timestamp

from .finding import Finding, Level, ok, spoken, unknown

LATE: Final = timedelta(minutes=1)
VERY_LATE: Final = timedelta(minutes=10)
_BEHIND: Final = timedelta(days=1)
_SHOWN: Final = 3
_STUCK_ADVICE: Final = "see whether an operator leads (above), and what its log says of these names"

Told = Callable[[int], None]
"""Called with how many objects were looked at so far."""


@dataclass(slots=True)
class _Late:
    """Names of what is late, and how late the worst is."""

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
    """Organizations that are paused: what waits there waits because somebody said so."""

    organizations: frozenset[str]

    def holds(self, body: JsonObject, organization: str) -> bool:
        return is_paused(body["metadata"]) or organization in self.organizations


async def _paused(client: KubeClient) -> Paused:
    bodies, _ = await client.list_all(ORGANIZATION)
    return Paused(frozenset(body["metadata"]["name"] for body in bodies if is_paused(body["metadata"])))


async def restored(client: KubeClient) -> AsyncIterator[Finding]:
    """Organizations whose restore has begun and not ended; nothing where there are none."""
    try:
        bodies, _ = await client.list_all(ORGANIZATION)
    except KubeError as error:
        yield unknown(
            "restore", f"organizations cannot be read: {error.message}", "run it as somebody who may list them"
        )
        return
    for body in bodies:
        snapshot = (body["metadata"].get("annotations") or {}).get(RESTORING_ANNOTATION)
        if snapshot:
            yield Finding(
                "restore",
                Level.WARNING,
                f"{body['metadata']['name']} is not whole: it is being restored from {snapshot}, and answers 503",
                "wait for that restore; where it was stopped, run the same command again, which goes on",
            )


async def runs(client: KubeClient, keys: Collection[str], now: Clock, told: Told) -> AsyncIterator[Finding]:
    """All runs that are not settled. `keys`: ids of the sealing keys; none: they are not known here."""
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
            told(seen.total())
    except KubeError as error:
        yield unknown("runs", f"cannot be read: {error.message}", "run it as somebody who may list them")
        return
    phases = ", ".join(f"{number:,} {phase}" for phase, number in sorted(seen.items()))
    yield ok("runs", f"{seen.total():,} are not settled" + (f" ({phases})" if phases else ""))
    yield expired.finding(
        "expiry", "no run is past its time and open", "runs are past their time and open", _STUCK_ADVICE
    )
    yield unsent.finding(
        "events", "no event waits to be handed over", "runs have events that nobody took", _STUCK_ADVICE
    )
    if refused:
        text = f"{len(refused):,} runs are not admitted: {_some(refused)}"
        yield Finding("admission", Level.WARNING, text, "kubectl describe clrun NAME tells the reason")
    for key, number in sorted(foreign.items()):
        yield Finding(
            "keys",
            Level.CRITICAL,
            f"webhook secrets of {number:,} runs are sealed with the key {key}, which is not among the keys here",
            "their events cannot be signed: add it again behind the others, CHECKLISTS_SEALING_KEYS in docs/secrets.md",
        )


def _judge_run(  # noqa: PLR0917 - one look, several lists
    body: JsonObject, paused: Paused, now: datetime, expired: _Late, unsent: _Late, refused: list[str]
) -> None:
    name, status = str(body["metadata"]["name"]), body.get("status") or {}
    if not _phase(body).is_final and (ends := _expires_at(body)) is not None:
        expired.note(name, now - ends)
    if paused.holds(body, organization_of(body)):
        return
    if events := waiting_events(status):
        unsent.note(name, now - parse_timestamp(events[0]["ts"]))
    if any(each["type"] == "Admitted" and each["status"] == "False" for each in status.get("conditions") or ()):
        refused.append(name)


async def deliveries(client: KubeClient, now: Clock, told: Told) -> AsyncIterator[Finding]:
    """All deliveries that are not settled: retries whose time has passed."""
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
            told(seen)
    except KubeError as error:
        yield unknown("retries", f"cannot be read: {error.message}", "run it as somebody who may list them")
        return
    yield late.finding("retries", f"{seen:,} deliveries are under way, none is late", "retries are late", _STUCK_ADVICE)


async def past_retention(client: KubeClient, now: Clock, told: Told) -> AsyncIterator[Finding]:
    """Settled runs a day past what their organization keeps: the archive is behind, or its store away."""
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
            told(settled)
    except KubeError as error:
        yield unknown("retention", f"cannot be read: {error.message}", "run it as somebody who may list runs")
        return
    if behind:
        text = f"{behind:,} of {settled:,} settled runs are a day past their retention and still in the cluster"
        advice = "the operator's log says why: a store that is away, or an archive that is off"
        yield Finding("retention", Level.WARNING, text, advice)
    else:
        yield ok("retention", f"{settled:,} settled runs in the cluster, none a day past its retention")


def _phase(body: JsonObject) -> RunPhase:
    return RunPhase((body.get("status") or {}).get("phase") or RunPhase.PENDING)


def _expires_at(body: JsonObject) -> datetime | None:
    spec: dict[str, Any] = body["spec"]
    if spec.get("expiresAt"):
        return parse_timestamp(spec["expiresAt"])
    if spec.get("expiresInHours") is None:
        return None
    created = parse_timestamp(spec.get("createdAt") or made_at(body["metadata"]))
    return created + timedelta(hours=float(spec["expiresInHours"]))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
