"""Erases one person's data: search, journal, erase, repeat until nothing is left; then write the receipt."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from checklist_crds.archive import Damaged
from checklist_crds.resources.audit_entry import Actor, ActorKind, AuditEntrySpec, AuditTarget, entry_name
from checklist_crds.resources.base import OrganizationRef
from checklist_crds.resources.kinds import AUDIT_ENTRY, ORGANIZATION
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import Clock, format_timestamp, utc_now

from ..backup.keys import fingerprints
from ..backup.parallel import gathered
from ..backup.store import BackupStore
from ..console.progress import Progress
from .cluster_search import ClusterSearch, Identity
from .journal import Attempt, Journal, Journals, State
from .receipt import FORMAT, KIND, signed, subject_digest, subject_digests, whole_subject
from .remaining_copies import NOT_SEARCHED, remaining_copies, snapshots_with, stays
from .removal import ClusterRemoval
from .rewriting import PartRewriting
from .search import Places, Search
from .search_result import LOOKED_AT, FoundPart, Organization, SearchResult

_ROUNDS: Final = 5
_PARTS_AT_ONCE: Final = 8
_WRITER: Final = "checklist-dispatch erase"


@dataclass(frozen=True, slots=True)
class Request:
    """The request of the command."""

    organization: Organization
    identity: Identity
    """The person, as resolved in the cluster."""
    asked: tuple[tuple[str, str], ...]
    """How the command named the person: (kind, value), normalised."""
    with_account: bool = False


class Erasure:
    """Methods raise KubeError, StoreUnavailable and Damaged."""

    def __init__(
        self,
        places: Places,
        request: Request,
        *,
        keys: ServerKeys,
        written_by: str,
        backups: Mapping[str, BackupStore] | None = None,
        progress: Progress | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """`backups` by URL: searched for these runs, to report them."""
        self._places = places
        self._request = request
        self._keys = keys
        self._written_by = written_by
        self._backups = backups or {}
        self._progress = progress or Progress()
        self._clock = clock
        organization = request.organization
        self._search = Search(places, organization, clock=clock, progress=self._progress)
        self._journals = Journals(places.archive, organization.id)
        self._removal = ClusterRemoval(places.client, organization.name)
        self._rewriting = PartRewriting(places.archive, clock=clock, writer=_WRITER)

    async def dry_run(self) -> SearchResult:
        """Search, without changes."""
        return await self._find(await self._journal())

    async def run(self) -> dict[str, Any]:
        """Erase, search again, and return the receipt."""
        journal = await self._journal()
        resumed = bool(journal.attempts)
        journal.attempts.append(Attempt(at=self._clock(), by=self._written_by))
        journal.members = sorted({*journal.members, *self._request.identity.person.members})
        for place in journal.written:  # of an interrupted attempt
            with suppress(Damaged):  # the search says so
                await self._rewriting.remove_erased(place)
        result = await self._find(journal)
        announced = False
        for _ in range(_ROUNDS):
            journal.add(result, self._clock())
            if not result.can_go:
                break
            if not announced:
                await self._announce(journal)
                announced = True
            await self._journals.write(journal)
            await self._erase(result, journal)
            self._progress.line("searching all places again")
            result = await self._find(journal)
        journal.forget(result.held)
        for place in result.garbage:
            await self._rewriting.remove_remains(place)
        receipt = signed(await self._receipt(journal, result), self._keys)
        if resumed or announced or journal.runs or journal.account:
            done = not any(result.left.values()) and not result.unreadable
            journal.state = State.DONE if done else State.WORKING
            journal.receipt = receipt
            await self._journals.write(journal)
        return receipt

    async def _journal(self) -> Journal:
        """The journal of an interrupted attempt, or a new one."""
        organization, subject = self._request.organization.id, whole_subject(self._request.asked)
        unfinished = await self._journals.unfinished(subject_digests(self._keys, organization, *subject))
        if unfinished is not None:
            self._progress.line(f"resuming {unfinished.id}, which was interrupted")
            return unfinished
        digest = subject_digest(self._keys, organization, *subject)
        return Journal(id=f"erasure-{uuid.uuid4()}", organization=organization, subject=digest)

    async def _find(self, journal: Journal) -> SearchResult:
        person = self._request.identity.person
        known = person.with_members(journal.members)
        return await self._search.search(known, journal, with_account=self._request.with_account)

    async def _announce(self, journal: Journal) -> None:
        """Write the audit entry, before anything is erased."""
        organization, now = self._request.organization, self._clock()
        spec = AuditEntrySpec(
            organization_ref=OrganizationRef(name=organization.name),
            at=now,
            actor=Actor(kind=ActorKind.SYSTEM, name=self._written_by[:200]),
            action="person.erased",
            target=AuditTarget(kind="person", id=journal.subject),
            details={"erasure": journal.id, "runs": str(len(journal.runs))},
        )
        body = AUDIT_ENTRY.manifest(
            entry_name(now), organization.namespace, spec.to_kube(), organization=organization.name
        )
        await self._places.client.create(AUDIT_ENTRY, body, organization.namespace)

    async def _erase(self, result: SearchResult, journal: Journal) -> None:
        held = set(result.held)
        held |= await self._removal.runs([run for run_id, run in result.live.items() if run_id not in held])
        journal.forget(held)
        await self._removal.objects([one for one in result.objects if one.run_id not in held])
        await self._parts(result, journal, held)
        for place in result.unvouched:
            await self._rewriting.remove_remains(place)
        for run_id, keys in result.photos.items():
            if run_id not in held:
                await self._places.photos.delete(list(keys))
                self._progress.now_and_then(lambda: "deleting photos")
        await self._removal.objects(result.account)

    async def _parts(self, result: SearchResult, journal: Journal, held: Collection[str]) -> None:
        """Rewrite parts in batches; each batch is written to the journal first."""
        waiting = [part for part in result.parts if part.runs.keys() - held]
        for start in range(0, len(waiting), _PARTS_AT_ONCE):
            await self._some_parts(waiting[start : start + _PARTS_AT_ONCE], journal, held)
            done = min(start + _PARTS_AT_ONCE, len(waiting))
            self._progress.now_and_then(partial(_progress_of_parts, done, len(waiting)))

    async def _some_parts(self, parts: Sequence[FoundPart], journal: Journal, held: Collection[str]) -> None:
        plans = await gathered(self._rewriting.plan(part, frozenset(part.runs.keys() - held)) for part in parts)
        journal.parts |= {plan.old.place.key: plan.noted() for plan in plans if plan is not None}
        await self._journals.write(journal)
        await gathered(self._rewriting.carry_out(plan) for plan in plans if plan is not None)

    async def _receipt(self, journal: Journal, result: SearchResult) -> dict[str, Any]:
        request, organization = self._request, self._request.organization
        held, now = result.held, self._clock()
        left = [
            f"{place.key}: the operator is writing it; run the command again in ten minutes" for place in result.in_work
        ]
        left += [f"{what}: cannot be read" for what in result.unreadable]
        if result.can_go:
            left.append("data that arrived during the erasure; run the command again")
        erased = self._erased(journal, result)
        return {
            "kind": KIND,
            "format": FORMAT,
            "id": journal.id,
            "organization": {"id": organization.id, "name": organization.name},
            "subject": [
                {"kind": kind, "digest": subject_digest(self._keys, organization.id, kind, value)}
                for kind, value in request.asked
            ],
            "installation": {"server_key": list(fingerprints(self._keys)), "namespace": self._places.namespace},
            "attempts": [attempt.model_dump(mode="json") for attempt in journal.attempts],
            "finished_at": format_timestamp(now),
            "complete": not held and not left,
            "erased": erased,
            "held": [{"run": run_id, "why": why} for run_id, why in sorted(held.items())],
            "left": left,
            "proof": {
                "at": format_timestamp(now),
                "looked_at": {name: result.looked_at[name] for name in LOOKED_AT},
                "left": result.left,
            },
            "stays": await self._stays(journal),
            "elsewhere": await self._remaining_copies(journal),
            "not_searched": list(NOT_SEARCHED),
        }

    def _erased(self, journal: Journal, result: SearchResult) -> dict[str, Any]:
        """What was found before and is not there any more."""
        objects = {one.name for one in result.objects}
        photos = {key for keys in result.photos.values() for key in keys}
        there = {part.place.key for part in result.parts}
        runs = {run_id: run for run_id, run in journal.runs.items() if not result.places_of(run_id)}
        seen = {run_id: run for run_id, run in runs.items() if run.live or run.archived}
        deliveries = sorted(name for name in journal.deliveries if name not in objects)
        replays = sorted(name for name in journal.replays if name not in objects)
        gone = {key: size for key, size in journal.photos.items() if key not in photos}
        parts = {key: part for key, part in sorted(journal.parts.items()) if key not in there}
        return {
            "counts": {
                "runs": len(seen),
                "runs_live": sum(run.live for run in seen.values()),
                "runs_archived": sum(run.archived for run in seen.values()),
                "deliveries": len(deliveries),
                "replays": len(replays),
                "photo_objects": len(gone),
                "photo_bytes": sum(gone.values()),
                "parts": len(parts),
            },
            "runs": [{"id": run_id, **run.model_dump(mode="json", exclude={"at"})} for run_id, run in runs.items()],
            "deliveries": deliveries,
            "replays": replays,
            "photos": sorted(gone),
            "parts": [{"part": key, **part.model_dump(mode="json")} for key, part in parts.items()],
            "remains": journal.remains,
            "account": journal.account if not result.account else [],
        }

    async def _stays(self, journal: Journal) -> list[dict[str, str]]:
        request = self._request
        cluster = ClusterSearch(self._places.client, self._places.namespace, self._progress)
        person = request.identity.person.with_members(journal.members)
        audit = await cluster.audit(request.organization, person, set(journal.runs))
        body = await self._places.client.get(ORGANIZATION, request.organization.name)
        days = (body["spec"].get("retention") or {}).get("auditDays")
        until = "it is kept (retention.auditDays is not set)" if days is None else f"removed after {days} days"
        identity = request.identity
        account = [] if request.with_account else [*identity.members, *identity.accounts]
        if request.with_account and identity.elsewhere:
            account = identity.accounts
        return stays(audit, [f"{one.kind.kind} {one.namespace}/{one.name}" for one in account], until=until)

    async def _remaining_copies(self, journal: Journal) -> list[dict[str, str]]:
        found = {}
        for url, store in self._backups.items():
            self._progress.line(f"searching the backup {url}")
            found[url] = await snapshots_with(store, self._request.organization.id, journal.runs.keys())
        return remaining_copies({run.host for run in journal.runs.values() if run.host}, found)


def _progress_of_parts(done: int, of: int) -> str:
    return f"{done:,} of {of:,} parts rewritten"
