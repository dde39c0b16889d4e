"""Brings a snapshot into a cluster.

Nothing acts before it is whole: no operator may lead meanwhile, and each organization is paused until all of its
objects are there. What is written says which backup it comes from, so a restore that was stopped goes on where it was,
and one that is finished does nothing more, even when the service has worked on since.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeForbidden, KubeNotFound
from checklist_crds.resources.base import ORGANIZATION_LABEL, RESTORED_ANNOTATION, RESTORING_ANNOTATION
from checklist_crds.resources.kinds import NAMESPACE, ORGANIZATION, RUN, SECRET, WEBHOOK_DELIVERY, Kind
from checklist_crds.resources.pause import is_paused
from checklist_crds.runs.seal import RunSeals
from checklist_crds.secrets.sealing import KeyRing, SealBroken, ServerKeys
from checklist_crds.times import Clock, utc_now

from ..console.command import CommandFailed
from ..console.progress import Progress
from . import layout
from .archived import archived_and_live, archived_runs
from .copying import ARCHIVE, CopyingResult, copy_these, is_photo_of
from .format import BackupManifest, OrganizationEntry, SecretNeed, from_line
from .guard import leaders
from .keys import fingerprints
from .objects import KINDS, Rewriting, Wanted, end_of_restore, organization_of, sealed_texts
from .parallel import for_each
from .placing import InTheWay, Placed, Placing, patiently
from .reading import copies_of, lines_of, objects_of
from .store import BackupStore
from .taking import Stores, crd_versions, secret_owner

_LOOK_FOR_LEADERS_S: Final = 3.0
_TOLD: Final = 20
_SEALS_SINCE: Final = 10
"""The version of the definitions since which the API seals runs: those of earlier backups have no seals."""


@dataclass(slots=True)
class Result:
    """What was done."""

    placed: Counter[Placed] = field(default_factory=Counter)
    archived: int = 0
    """Runs that went to the archive while the backup was taken: they are there, and not in the cluster."""
    copies: CopyingResult | None = None
    finished: list[str] = field(default_factory=list)
    """Organizations that this restore brought back."""
    unproved: list[str] = field(default_factory=list)
    """Runs whose word that they were admitted was left out."""
    were_finished: list[str] = field(default_factory=list)
    secrets_missing: list[SecretNeed] = field(default_factory=list)
    """Not there, without that key, or not to be seen by who restores."""


class Restore:
    """Methods raise KubeError, StoreUnavailable, DamagedBackup and CommandFailed."""

    def __init__(
        self,
        client: KubeClient,
        store: BackupStore,
        manifest: BackupManifest,
        *,
        stores: Stores | None,
        server_keys: ServerKeys | None,
        ring: KeyRing | None,
        namespaces: Mapping[str, str],
        only: Collection[str] = (),
        check_keys: bool = True,
        parallel: int = 16,
        progress: Progress | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """`namespaces`: new by old, of those that change. `only`: names or ids of organizations; none: everything.
        `stores`: None leaves photos and archive out."""
        self._client = client
        self._store = store
        self._manifest = manifest
        self._stores = stores
        self._server_keys = server_keys
        self._ring = ring
        self._only = frozenset(only)
        self._check_keys = check_keys
        self._parallel = parallel
        self._progress = progress or Progress()
        self._clock = clock
        seals = None
        if check_keys and server_keys is not None and manifest.crd_version >= _SEALS_SINCE:
            seals = RunSeals(server_keys)
        self._rewriting = Rewriting(
            snapshot=manifest.name, namespaces=namespaces, ring=ring, seals=seals, seals_expire=manifest.seals_expire
        )
        self._placing = Placing(client, ring)
        self._there: frozenset[tuple[str | None, str]] = frozenset()
        self._archived: frozenset[str] = frozenset()
        self.result = Result()

    async def run(self) -> Result:
        chosen = self._chosen()
        await self._check_cluster()
        if self._check_keys:
            await self._check_that_keys_fit(chosen)
        todo = await self._organizations_to_do(chosen)
        folders = frozenset(one.id for one in todo) | (frozenset() if self._only else {layout.NOBODY})
        await self._check_names(todo)
        watching = asyncio.create_task(self._watch_for_leaders())
        working = asyncio.create_task(self._bring_all(todo, folders))
        try:
            await asyncio.wait({watching, working}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                watching.result()  # raises
            await working
        finally:
            for task in (watching, working):
                task.cancel()
            await asyncio.gather(watching, working, return_exceptions=True)
        return self.result

    # -- before anything is written --------------------------------------------------------------------------------

    def _chosen(self) -> list[OrganizationEntry]:
        all_of_them = self._manifest.organizations
        chosen = [one for one in all_of_them if not self._only or {one.name, one.id} & self._only]
        if missing := sorted(self._only - {one.name for one in chosen} - {one.id for one in chosen}):
            raise CommandFailed(f"the snapshot {self._manifest.name} has no organization {', '.join(missing)}")
        return chosen

    async def _check_cluster(self) -> None:
        if held := await leaders(self._client, clock=self._clock):
            raise CommandFailed(
                f"an operator works on this cluster: {', '.join(held)}. Scale it to 0, wait 20 seconds, then again"
            )
        versions = await crd_versions(self._client)
        missing = [
            kind.plural for kind in KINDS if kind.plural not in versions and self._manifest.counts.get(kind.plural)
        ]
        if missing:
            raise CommandFailed(
                f"the cluster does not know {', '.join(missing)}: install the definitions first (docs/install.md)"
            )
        older = [plural for plural, version in versions.items() if version < self._manifest.crd_version]
        if older:
            raise CommandFailed(
                f"the definitions of {', '.join(sorted(older))} are older than those of the backup "
                f"({self._manifest.crd_version}): bring them up to date first (docs/install.md)"
            )
        for namespace in sorted({self._rewriting.namespace(old) for old in self._manifest.namespaces}):
            try:
                await self._client.get(NAMESPACE, namespace)
            except KubeNotFound:
                if not self._only:
                    raise CommandFailed(
                        f"there is no namespace {namespace}: make it first, or name another with --into-namespace"
                    ) from None

    async def _check_that_keys_fit(self, chosen: list[OrganizationEntry]) -> None:
        """Links and tokens go on under the same server key alone, and what is sealed opens under its own keys alone."""
        given = fingerprints(self._server_keys)
        if not given and self._manifest.counts.get(RUN.plural):
            raise CommandFailed(
                "the server key is not known here, which tells whether runs were admitted: set CHECKLISTS_SERVER_KEY "
                "to the one of the backup"
            )
        if self._manifest.server_key:
            if not given:
                raise CommandFailed(
                    "the server key is not known here: set CHECKLISTS_SERVER_KEY to the one of the backup"
                )
            if self._manifest.server_key[0] not in given:
                raise CommandFailed(
                    "the server key is another one than that of the backup: links and tokens would open nothing. Set "
                    "CHECKLISTS_SERVER_KEY to the old one, or to new,old"
                )
        folders = {one.id for one in chosen} | (set() if self._only else {layout.NOBODY})
        broken: list[str] = []
        for kind in KINDS:
            async for body in objects_of(self._store, self._manifest, kind, folders):
                metadata = body["metadata"]
                where = metadata.get("namespace", "")
                for sealed in sealed_texts(kind, where, metadata["name"], body.get("spec") or {}):
                    if self._ring is None:
                        raise CommandFailed(
                            "the sealing keys are not known here: set CHECKLISTS_SEALING_KEYS to those of the backup "
                            f"({', '.join(self._manifest.sealing_keys)})"
                        )
                    try:
                        self._ring.open(sealed.text, owner=sealed.owner)
                    except SealBroken as error:
                        broken.append(f"{kind.kind} {metadata['name']}: {error}")
        if broken:
            raise CommandFailed(
                f"{len(broken)} sealed texts do not open with the keys that are given: {'; '.join(broken[:3])}. Set "
                f"CHECKLISTS_SEALING_KEYS to the keys of the backup ({', '.join(self._manifest.sealing_keys)})"
            )

    async def _organizations_to_do(self, chosen: list[OrganizationEntry]) -> list[OrganizationEntry]:
        """Without those that this very restore has finished; what is there of another origin is in the way."""
        todo, in_the_way = [], []
        for one in chosen:
            try:
                found = await self._client.get(ORGANIZATION, one.name)
            except KubeNotFound:
                todo.append(one)
                continue
            annotations = found["metadata"].get("annotations") or {}
            if annotations.get(RESTORING_ANNOTATION) == self._manifest.name:
                todo.append(one)
            elif annotations.get(RESTORED_ANNOTATION) == self._manifest.name:
                self.result.were_finished.append(one.name)
            else:
                in_the_way.append(one.name)
        if in_the_way:
            raise InTheWay(f"these organizations are in the cluster already: {_told(in_the_way)}. Nothing was changed")
        return todo

    async def _check_names(self, todo: list[OrganizationEntry]) -> None:
        """Whether anything of another origin bears a name that is needed."""
        ours = {one.name for one in todo}
        folders = {one.id for one in todo}
        there: set[tuple[str | None, str]] = set()
        in_the_way: list[str] = []
        for kind in KINDS:
            if kind is ORGANIZATION:
                continue
            found: dict[tuple[str, str], str | None] = {}
            async for page, _ in self._client.pages(kind, metadata_only=True):
                for body in page:
                    metadata = body["metadata"]
                    labels = metadata.get("labels") or {}
                    found[metadata["namespace"], metadata["name"]] = labels.get(ORGANIZATION_LABEL)
            if not found:
                continue
            async for body in objects_of(self._store, self._manifest, kind, folders):
                name = body["metadata"]["name"]
                place = self._rewriting.namespace(body["metadata"]["namespace"]), name
                if place not in found:
                    continue
                label = (body["metadata"].get("labels") or {}).get(ORGANIZATION_LABEL)
                if found[place] != label or organization_of(kind, body) not in ours:
                    in_the_way.append(f"{kind.kind} {'/'.join(place)}")
                there.add((kind.plural, "/".join(place)))
        if in_the_way:
            raise InTheWay(f"these names are taken by something else: {_told(in_the_way)}. Nothing was changed")
        self._there = frozenset(there)

    # -- the work --------------------------------------------------------------------------------------------------

    async def _watch_for_leaders(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_FOR_LEADERS_S)
            if held := await patiently(lambda: leaders(self._client, clock=self._clock)):
                raise CommandFailed(
                    f"an operator has begun to work on this cluster: {', '.join(held)}. What is not whole stays "
                    "paused; scale the operator to 0, then run this again"
                )

    async def _bring_all(self, todo: list[OrganizationEntry], folders: frozenset[str]) -> None:
        if self._stores is not None and self._manifest.copies is not None:
            await self._bring_copies(self._stores, todo)
        self._archived = await archived_and_live(self._store, self._manifest, {one.id for one in todo})
        await self._bring_secrets(todo)
        total = sum(
            part.lines for part in self._manifest.parts if part.folder in folders and self._is_objects(part.plural)
        )
        was_paused: dict[str, bool] = {}
        for kind in KINDS:

            async def bodies(kind: Kind = kind) -> AsyncIterator[JsonObject]:
                async for body in objects_of(self._store, self._manifest, kind, folders):
                    if kind is ORGANIZATION:
                        was_paused[body["metadata"]["name"]] = is_paused(body["metadata"])
                    if self._is_archived(kind, body):
                        self.result.archived += kind is RUN
                        continue
                    yield body

            async def one(body: JsonObject, kind: Kind = kind) -> None:
                await self._bring(kind, body)
                done = self.result.placed.total()
                self._progress.now_and_then(lambda: f"{done:,} of {total:,} objects are there ({kind.plural})")

            await for_each(bodies(), one, parallel=self._parallel)
        for entry in todo:
            patch = end_of_restore(self._manifest.name, was_paused=was_paused.get(entry.name, False))
            await patiently(lambda name=entry.name, patch=patch: self._client.patch(ORGANIZATION, name, patch))  # type: ignore[misc]
            self.result.finished.append(entry.name)

    def _is_archived(self, kind: Kind, body: JsonObject) -> bool:
        """A run in the archive, or a delivery of one, which is in the same line of it."""
        if kind is RUN:
            return body["metadata"]["name"] in self._archived
        return kind is WEBHOOK_DELIVERY and body["spec"]["runRef"]["name"] in self._archived

    async def _bring(self, kind: Kind, body: JsonObject) -> None:
        try:
            wanted: Wanted = self._rewriting.wanted(kind, body)
        except SealBroken as error:
            raise CommandFailed(f"{kind.kind} {body['metadata']['name']}: {error}") from None
        where = f"{wanted.namespace}/{wanted.name}"
        try:
            placed = await self._placing.place(wanted, expected_there=(kind.plural, where) in self._there)
        except InTheWay:
            # Where an organization of this backup is finished, the service may have worked since: on accounts, too.
            if organization_of(kind, body) is not None or not self.result.were_finished:
                raise
            placed = Placed.PRESENT
        self.result.placed[placed] += 1
        if wanted.unproved:
            self.result.unproved.append(wanted.name)

    async def _bring_copies(self, stores: Stores, todo: list[OrganizationEntry]) -> None:
        copies = await copies_of(self._store, self._manifest)
        if self._only:
            ids = {one.id for one in todo}
            runs = {
                str(body["metadata"]["name"]) async for body in objects_of(self._store, self._manifest, RUN, ids)
            } | await archived_runs(self._store, self._manifest, ids)
            copies = [
                one
                for one in copies
                if (is_photo_of(one.key, runs, ids) if one.is_photo else one.key.split("/")[1] in ids)
            ]
        both = CopyingResult()
        for what, target in (("archive", stores.archive), ("photos", stores.photos)):
            chosen = [one for one in copies if one.is_photo == (what != ARCHIVE)]

            def tell(result: CopyingResult, what: str = what, total: int = len(chosen)) -> None:
                self._progress.now_and_then(lambda: f"{what}: {result.seen:,} of {total:,} objects are there")

            done = await copy_these(self._store, target, chosen, report=tell)
            both.copied += done.copied
            both.present += done.present
            both.bytes += done.bytes
        self.result.copies = both

    async def _bring_secrets(self, todo: list[OrganizationEntry]) -> None:
        """Webhook secrets that the snapshot holds; which of the others are not in the cluster is told at the end."""
        needed = list(self._manifest.secrets_needed)
        for part in self._manifest.parts:
            if part.plural != "secrets" or not todo:
                continue
            for line in await lines_of(self._store, part):
                document: dict[str, Any] = from_line(line, part.key)
                need = SecretNeed.model_validate(document)
                if self._ring is None:
                    needed.append(need)
                    continue
                try:
                    value = self._ring.open(document["sealed"], owner=secret_owner(need))
                except SealBroken as error:
                    raise CommandFailed(f"the Secret {need.namespace}/{need.name}: {error}") from None
                await self._make_secret(need, value)
        for need in needed:
            try:
                body = await self._client.get(SECRET, need.name, self._rewriting.namespace(need.namespace))
                if need.key not in (body.get("data") or {}):
                    self.result.secrets_missing.append(need)
            except (KubeNotFound, KubeForbidden):
                self.result.secrets_missing.append(need)

    async def _make_secret(self, need: SecretNeed, value: str) -> None:
        """`value`: base64, as the cluster has it."""
        namespace = self._rewriting.namespace(need.namespace)
        metadata = {"name": need.name, "namespace": namespace}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {need.key: value}}
        try:
            await self._client.create(SECRET, body, namespace)
        except KubeAlreadyExists:
            found = (await self._client.get(SECRET, need.name, namespace)).get("data") or {}
            if need.key not in found:
                await self._client.patch(SECRET, need.name, {"data": {need.key: value}}, namespace)
            elif found[need.key] != value:
                raise InTheWay(f"the Secret {namespace}/{need.name} is there with another {need.key}") from None

    @staticmethod
    def _is_objects(plural: str) -> bool:
        return any(kind.plural == plural for kind in KINDS)


def _told(names: list[str]) -> str:
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(sorted(names)[:_TOLD]) + more
