"""Restores a snapshot into a cluster.

No operator may lead meanwhile, and each organization is paused until all of its objects are restored. Restored
organizations name their backup, so an interrupted restore can be resumed, and a finished one changes nothing when it is
repeated, even after the service has worked on.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeForbidden, KubeNotFound
from checklist_crds.resources.kinds import ORGANIZATION, RUN, SECRET, WEBHOOK_DELIVERY, Kind
from checklist_crds.resources.pause import is_paused
from checklist_crds.resources.run_id import run_id_of, run_id_of_delivery
from checklist_crds.runs.seal import RunSeals
from checklist_crds.secrets.sealing import KeyRing, SealBroken, ServerKeys
from checklist_crds.times import Clock, utc_now
from checklist_crds.values.json_text import JsonObject

from ..console.command import CommandFailed
from ..console.progress import Progress
from . import layout
from .archived import archived_and_live, archived_runs
from .copying import ARCHIVE, CopyingResult, copy_these, is_photo_of
from .format import BackupManifest, OrganizationEntry, SecretNeed, from_line
from .guard import leaders
from .objects import KINDS, Rewriting, Wanted, end_of_restore, organization_of
from .parallel import for_each
from .placing import InTheWay, Placed, Placing, patiently
from .preflight import Preflight
from .reading import copies_of, lines_of, objects_of
from .store import BackupStore
from .taking import Stores, secret_owner

_LOOK_FOR_LEADERS_S: Final = 3.0
_SEALS_SINCE: Final = 10
"""The version of the definitions since which the API seals runs; earlier backups have no seals."""


@dataclass(slots=True)
class Result:
    placed: Counter[Placed] = field(default_factory=Counter)
    archived: int = 0
    """Runs that were archived while the backup was taken; they are restored as archived only."""
    copies: CopyingResult | None = None
    finished: list[str] = field(default_factory=list)
    """Organizations that this restore completed."""
    unproved: list[str] = field(default_factory=list)
    """Runs whose unproven admission was left out."""
    were_finished: list[str] = field(default_factory=list)
    secrets_missing: list[SecretNeed] = field(default_factory=list)
    """Missing, without the key, or not readable with our rights."""


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
        """`namespaces`: new by old, of those that change. `only`: names or ids of organizations; empty: everything.
        `stores`: None leaves photos and archive out."""
        self._client = client
        self._store = store
        self._manifest = manifest
        self._stores = stores
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
        self._preflight = Preflight(
            client=client,
            store=store,
            manifest=manifest,
            rewriting=self._rewriting,
            server_keys=server_keys,
            ring=ring,
            only=self._only,
            clock=clock,
        )
        self._there: frozenset[tuple[str, str]] = frozenset()
        self._archived: frozenset[str] = frozenset()
        self.result = Result()

    async def run(self) -> Result:
        chosen = self._preflight.chosen()
        await self._preflight.check_cluster()
        if self._check_keys:
            await self._preflight.check_that_keys_fit(chosen)
        todo, self.result.were_finished = await self._preflight.organizations_to_do(chosen)
        folders = frozenset(one.id for one in todo) | (frozenset() if self._only else {layout.NO_ORGANIZATION})
        self._there = await self._preflight.check_names(todo)
        watching = asyncio.create_task(self._watch_for_leaders())
        working = asyncio.create_task(self._restore_all(todo, folders))
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

    async def _watch_for_leaders(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_FOR_LEADERS_S)
            if held := await patiently(lambda: leaders(self._client, clock=self._clock)):
                raise CommandFailed(
                    f"an operator started to work on this cluster: {', '.join(held)}. Unfinished organizations stay "
                    "paused; scale the operator to 0, then run this again"
                )

    async def _restore_all(self, todo: list[OrganizationEntry], folders: frozenset[str]) -> None:
        if self._stores is not None and self._manifest.copies is not None:
            await self._restore_copies(self._stores, todo)
        self._archived = await archived_and_live(self._store, self._manifest, {one.id for one in todo})
        await self._restore_secrets(todo)
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
                await self._restore(kind, body)
                done = self.result.placed.total()
                self._progress.now_and_then(lambda: f"{done:,} of {total:,} objects restored ({kind.plural})")

            await for_each(bodies(), one, parallel=self._parallel)
        for entry in todo:
            patch = end_of_restore(self._manifest.name, was_paused=was_paused.get(entry.name, False))
            await patiently(lambda name=entry.name, patch=patch: self._client.patch(ORGANIZATION, name, patch))  # type: ignore[misc]
            self.result.finished.append(entry.name)

    def _is_archived(self, kind: Kind, body: JsonObject) -> bool:
        """Whether it is an archived run, or a delivery of one, which the archive contains too."""
        if kind is RUN:
            return run_id_of(body) in self._archived
        return kind is WEBHOOK_DELIVERY and run_id_of_delivery(body) in self._archived

    async def _restore(self, kind: Kind, body: JsonObject) -> None:
        try:
            wanted: Wanted = self._rewriting.wanted(kind, body)
        except SealBroken as error:
            raise CommandFailed(f"{kind.kind} {body['metadata']['name']}: {error}") from None
        where = f"{wanted.namespace}/{wanted.name}"
        try:
            placed = await self._placing.place(wanted, expected_there=(kind.plural, where) in self._there)
        except InTheWay:
            # If an organization of this backup is finished, the service may have changed shared objects since.
            if organization_of(kind, body) is not None or not self.result.were_finished:
                raise
            placed = Placed.PRESENT
        self.result.placed[placed] += 1
        if wanted.unproved:
            self.result.unproved.append(wanted.name)

    async def _restore_copies(self, stores: Stores, todo: list[OrganizationEntry]) -> None:
        copies = await copies_of(self._store, self._manifest)
        if self._only:
            ids = {one.id for one in todo}
            live = objects_of(self._store, self._manifest, RUN, ids)
            runs = {run_id async for body in live if (run_id := run_id_of(body))} | await archived_runs(
                self._store, self._manifest, ids
            )
            copies = [
                one
                for one in copies
                if (is_photo_of(one.key, runs, ids) if one.is_photo else one.key.split("/")[1] in ids)
            ]
        both = CopyingResult()
        for what, target in (("archive", stores.archive), ("photos", stores.photos)):
            chosen = [one for one in copies if one.is_photo == (what != ARCHIVE)]

            def report(result: CopyingResult, what: str = what, total: int = len(chosen)) -> None:
                self._progress.now_and_then(lambda: f"{what}: {result.seen:,} of {total:,} objects restored")

            done = await copy_these(self._store, target, chosen, report=report)
            both.copied += done.copied
            both.present += done.present
            both.bytes += done.bytes
        self.result.copies = both

    async def _restore_secrets(self, todo: list[OrganizationEntry]) -> None:
        """Create the webhook secrets of the snapshot, and note needed ones that are missing in the cluster."""
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
                await self._create_secret(need, value)
        for need in needed:
            try:
                body = await self._client.get(SECRET, need.name, self._rewriting.namespace(need.namespace))
                if need.key not in (body.get("data") or {}):
                    self.result.secrets_missing.append(need)
            except (KubeNotFound, KubeForbidden):
                self.result.secrets_missing.append(need)

    async def _create_secret(self, need: SecretNeed, value: str) -> None:
        """`value`: base64, as in the cluster."""
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
                raise InTheWay(f"the Secret {namespace}/{need.name} exists with another {need.key}") from None

    @staticmethod
    def _is_objects(plural: str) -> bool:
        return any(kind.plural == plural for kind in KINDS)
