"""Takes a backup: the objects first, then copies of what they refer to, and the manifest last.

This order misses nothing. A photo is stored before any object refers to it; a run that is archived meanwhile is in the
snapshot, and possibly also in the archive's copy, which a restore distinguishes.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from checklist_crds.crd.definition import CRD_VERSION_ANNOTATION
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeGone, KubeNotFound
from checklist_crds.resources.base import GROUP
from checklist_crds.resources.kinds import CUSTOM_RESOURCE_DEFINITION, SECRET
from checklist_crds.secrets.sealing import KeyRing, ServerKeys
from checklist_crds.times import Clock, utc_now

from ..console.command import CommandFailed
from ..console.progress import Progress
from . import layout
from .copying import PHOTOS, Copied, CopyingResult, copy_all, copy_archive, is_photo_of
from .format import BackupManifest, CopiesEntry, DamagedBackup, PartEntry, SecretNeed, decode, encode, to_line
from .keys import fingerprints
from .reading import copies_of
from .snapshot import Read, SnapshotReader
from .store import BackupStore
from .turns import abandoned, begin_copying

TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of the installation."""

    photos: BackupStore
    archive: BackupStore


class Backup:
    """Methods raise KubeError, StoreUnavailable and CommandFailed."""

    def __init__(
        self,
        client: KubeClient,
        store: BackupStore,
        *,
        stores: Stores | None,
        server_keys: ServerKeys | None,
        ring: KeyRing | None,
        written_by: str,
        only: Collection[str] = (),
        include_secrets: bool = False,
        progress: Progress | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """`stores`: None leaves photos and archive out. `include_secrets`: webhook secrets that runs reference by
        secretRef, sealed with the current key of `ring`."""
        self._client = client
        self._store = store
        self._stores = stores
        self._server_keys = server_keys
        self._ring = ring
        self._written_by = written_by
        self._only = frozenset(only)
        self._include_secrets = include_secrets
        self._progress = progress or Progress()
        self._clock = clock

    async def take(self) -> BackupManifest:
        if self._include_secrets and self._ring is None:
            raise CommandFailed("--include-secrets needs the sealing keys: set CHECKLISTS_SEALING_KEYS")
        crd_version = await self._crd_version()
        before = await self._newest()
        started_at = self._clock()
        name, read = await self._snapshot()
        found = {one.name for one in read.organizations} | {one.id for one in read.organizations}
        if missing := sorted(self._only - found):
            await self._drop(name)
            raise CommandFailed(f"there is no organization {', '.join(missing)}")
        parts = list(read.parts)
        needs = read.needs
        if self._include_secrets and needs:
            part, needs = await self._secrets(name, needs)
            parts += part
        copies = None
        if self._stores is not None:
            copies, listing = await self._copy(name, self._stores, read, before)
            parts += listing
        manifest = BackupManifest(
            name=name,
            started_at=started_at,
            finished_at=self._clock(),
            written_by=self._written_by,
            cluster_version=read.version,
            crd_version=crd_version,
            organizations=tuple(read.organizations),
            namespaces=tuple(sorted(read.namespaces)),
            is_partial=bool(self._only),
            counts=dict(read.counts),
            parts=tuple(parts),
            copies=copies,
            server_key=fingerprints(self._server_keys),
            sealing_keys=tuple(sorted(read.sealing_keys)),
            secrets_needed=needs,
            seals_expire=True,
        )
        for entry in parts:  # verify that the parts can be read back
            decode(await self._store.get(entry.key), entry)
        await self._store.put(layout.manifest_key(name), manifest.encoded())
        await self._drop_abandoned()
        return manifest

    async def _snapshot(self) -> tuple[str, Read]:
        for number in range(1, TRIES + 1):
            name = layout.new_name(self._clock(), secrets.token_hex(4))

            def report(read: Read) -> None:
                self._progress.now_and_then(lambda: f"snapshot: {read.counts.total():,} objects read")

            try:
                reader = SnapshotReader(self._client, self._store, name, only=self._only, report=report)
                return name, await reader.read()
            except KubeGone:
                await self._drop(name)
                self._progress.line(
                    f"the resource version was compacted in etcd: starting again, try {number + 1} of {TRIES}"
                    if number < TRIES
                    else "the resource version was compacted again"
                )
        raise CommandFailed(
            f"the objects could not be read before etcd was compacted, in {TRIES} tries: take the backup nearer to the "
            "cluster, or one organization at a time (--organization)"
        )

    async def _copy(
        self, name: str, stores: Stores, read: Read, before: BackupManifest | None
    ) -> tuple[CopiesEntry, list[PartEntry]]:
        await begin_copying(self._store, name, self._progress)
        known = await self._known(before)
        organizations = {one.id for one in read.organizations}

        def report(what: str, result: CopyingResult) -> None:
            self._progress.now_and_then(
                lambda: f"{what}: {result.seen:,} objects, {result.copied:,} of them copied, {result.bytes:,} bytes"
            )

        try:
            archive = await copy_archive(
                stores.archive,
                self._store,
                known=known,
                wants=lambda key: not self._only or key.split("/")[1] in organizations,
                report=lambda result: report("archive", result),
            )
        except CommandFailed:
            await self._drop(name)
            raise
        runs = read.runs | await self._archived_runs(archive) if self._only else set()
        photos = await copy_all(
            stores.photos,
            self._store,
            PHOTOS,
            known=known,
            wants=lambda key: not self._only or is_photo_of(key, runs, organizations),
            report=lambda result: report("photos", result),
        )
        objects = sorted((*archive.objects, *photos.objects), key=lambda one: one.key)
        part = encode(layout.copies_key(name), "", "copies", (to_line(asdict(one)) for one in objects))
        await self._store.put(part.entry.key, part.content)
        entry = CopiesEntry(
            photos=photos.seen,
            archive=archive.seen,
            bytes=photos.bytes + archive.bytes,
            vanished=photos.vanished,
        )
        return entry, [part.entry]

    async def _known(self, before: BackupManifest | None) -> dict[str, Copied]:
        """Digests of the copies of an earlier snapshot; empty if it is damaged."""
        try:
            return {} if before is None else {one.key: one for one in await copies_of(self._store, before)}
        except DamagedBackup as error:
            self._progress.line(f"an earlier snapshot is damaged and not used: {error}")
            return {}

    async def _archived_runs(self, archive: CopyingResult) -> set[str]:
        """Ids of the runs in the copied parts: their photos belong to the backup, too."""
        from checklist_crds.archive import Damaged
        from checklist_crds.archive.layout import MANIFEST, PartPlace

        runs: set[str] = set()
        for copied in archive.objects:
            place = PartPlace.of_key(copied.key) if copied.key.endswith(MANIFEST) else None
            if place is None:
                continue
            try:
                manifest = await self._store.manifest(place)
            except Damaged as error:
                self._progress.line(f"the archive is damaged, and so is its copy: {error}")
                continue
            if manifest is not None:
                runs.update(manifest.run_ids)
        return runs

    async def _secrets(
        self, name: str, needs: tuple[SecretNeed, ...]
    ) -> tuple[list[PartEntry], tuple[SecretNeed, ...]]:
        """The parts with the existing secrets, sealed; and the missing ones."""
        lines, missing = [], []
        for need in needs:
            try:
                body = await self._client.get(SECRET, need.name, need.namespace)
                value = (body.get("data") or {})[need.key]
            except (KubeNotFound, KeyError):
                missing.append(need)
                continue
            sealed = self._ring.seal(value, owner=secret_owner(need)) if self._ring else ""
            lines.append(to_line({**need.model_dump(), "sealed": sealed}))
        if not lines:
            return [], tuple(missing)
        folder = layout.NO_ORGANIZATION
        part = encode(layout.part_key(name, folder, "secrets", 1), folder, "secrets", lines)
        await self._store.put(part.entry.key, part.content)
        return [part.entry], tuple(missing)

    async def _drop_abandoned(self) -> None:
        for name in await abandoned(self._store, self._clock()):
            await self._drop(name)

    async def _newest(self) -> BackupManifest | None:
        try:
            return await self._store.newest()
        except DamagedBackup as error:
            self._progress.line(f"an earlier snapshot is damaged and not used: {error}")
            return None

    async def _drop(self, name: str) -> None:
        keys = [found.key async for found in self._store.listed(f"{layout.PREFIX}/{name}")]
        await self._store.delete(keys)

    async def _crd_version(self) -> int:
        return max((await crd_versions(self._client)).values(), default=0)


async def crd_versions(client: KubeClient) -> Mapping[str, int]:
    """Versions of our definitions in the cluster, by plural. Raises KubeError."""
    found, _ = await client.list_all(CUSTOM_RESOURCE_DEFINITION)
    versions = {}
    for body in found:
        if body["spec"]["group"] == GROUP:
            text = (body["metadata"].get("annotations") or {}).get(CRD_VERSION_ANNOTATION, "")
            versions[body["spec"]["names"]["plural"]] = int(text) if text.isdecimal() else 0
    return versions


def secret_owner(need: SecretNeed) -> str:
    return f"backup of the Secret {need.namespace}/{need.name}/{need.key}"
