"""Checks the cluster, the keys and conflicting objects before a restore writes anything."""

from typing import Final

from attrs import define

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.base import ORGANIZATION_LABEL, RESTORED_ANNOTATION, RESTORING_ANNOTATION
from checklist_crds.resources.kinds import NAMESPACE, ORGANIZATION, RUN
from checklist_crds.secrets.sealing import KeyRing, SealBroken, ServerKeys
from checklist_crds.times import Clock

from ..console.command import CommandFailed
from . import layout
from .format import BackupManifest, OrganizationEntry
from .guard import leaders
from .keys import fingerprints
from .objects import KINDS, Rewriting, organization_of, sealed_texts
from .placing import InTheWay
from .reading import objects_of
from .store import BackupStore
from .taking import crd_versions

_LISTED: Final = 20


@define(kw_only=True, eq=False, repr=False, slots=False)
class Preflight:
    """Methods raise KubeError, StoreUnavailable, DamagedBackup and CommandFailed, and change nothing."""

    _client: KubeClient
    _store: BackupStore
    _manifest: BackupManifest
    _rewriting: Rewriting
    _server_keys: ServerKeys | None
    _ring: KeyRing | None
    _only: frozenset[str]
    _clock: Clock

    def chosen(self) -> list[OrganizationEntry]:
        all_of_them = self._manifest.organizations
        chosen = [one for one in all_of_them if not self._only or {one.name, one.id} & self._only]
        if missing := sorted(self._only - {one.name for one in chosen} - {one.id for one in chosen}):
            raise CommandFailed(f"the snapshot {self._manifest.name} has no organization {', '.join(missing)}")
        return chosen

    async def check_cluster(self) -> None:
        if held := await leaders(self._client, clock=self._clock):
            raise CommandFailed(
                f"an operator works on this cluster: {', '.join(held)}. Scale it to 0, wait 20 seconds and try again"
            )
        versions = await crd_versions(self._client)
        missing = [
            kind.plural for kind in KINDS if kind.plural not in versions and self._manifest.counts.get(kind.plural)
        ]
        if missing:
            raise CommandFailed(
                f"the cluster has no {', '.join(missing)}: install the definitions first (docs/install.md)"
            )
        older = [plural for plural, version in versions.items() if version < self._manifest.crd_version]
        if older:
            raise CommandFailed(
                f"the definitions of {', '.join(sorted(older))} are older than those of the backup "
                f"({self._manifest.crd_version}): update them first (docs/install.md)"
            )
        for namespace in sorted({self._rewriting.namespace(old) for old in self._manifest.namespaces}):
            try:
                await self._client.get(NAMESPACE, namespace)
            except KubeNotFound:
                if not self._only:
                    raise CommandFailed(
                        f"there is no namespace {namespace}: create it first, or name another with --into-namespace"
                    ) from None

    async def check_that_keys_fit(self, chosen: list[OrganizationEntry]) -> None:
        """Check that links and tokens stay valid (same server key) and that all sealed texts can be opened."""
        given = fingerprints(self._server_keys)
        if not given and self._manifest.counts.get(RUN.plural):
            raise CommandFailed(
                "the server key is not set, which proves that runs were admitted: set CHECKLISTS_SERVER_KEY to that "
                "of the backup"
            )
        if self._manifest.server_key:
            if not given:
                raise CommandFailed("the server key is not set: set CHECKLISTS_SERVER_KEY to that of the backup")
            if self._manifest.server_key[0] not in given:
                raise CommandFailed(
                    "the server key is not that of the backup: links and tokens would be invalid. Set "
                    "CHECKLISTS_SERVER_KEY to the old one, or to new,old"
                )
        folders = {one.id for one in chosen} | (set() if self._only else {layout.NO_ORGANIZATION})
        broken: list[str] = []
        for kind in KINDS:
            async for body in objects_of(self._store, self._manifest, kind, folders):
                metadata = body["metadata"]
                where = metadata.get("namespace", "")
                for sealed in sealed_texts(kind, where, metadata["name"], body.get("spec") or {}):
                    if self._ring is None:
                        raise CommandFailed(
                            "the sealing keys are not set: set CHECKLISTS_SEALING_KEYS to those of the backup "
                            f"({', '.join(self._manifest.sealing_keys)})"
                        )
                    try:
                        self._ring.open(sealed.text, owner=sealed.owner)
                    except SealBroken as error:
                        broken.append(f"{kind.kind} {metadata['name']}: {error}")
        if broken:
            raise CommandFailed(
                f"{len(broken)} sealed texts cannot be opened with these keys: {'; '.join(broken[:3])}. Set "
                f"CHECKLISTS_SEALING_KEYS to the keys of the backup ({', '.join(self._manifest.sealing_keys)})"
            )

    async def organizations_to_do(self, chosen: list[OrganizationEntry]) -> tuple[list[OrganizationEntry], list[str]]:
        """The organizations to restore, and the names of those that this restore has finished. Raises InTheWay for
        organizations of another origin."""
        todo, finished, in_the_way = [], [], []
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
                finished.append(one.name)
            else:
                in_the_way.append(one.name)
        if in_the_way:
            raise InTheWay(f"these organizations exist already: {_listed(in_the_way)}. Nothing was changed")
        return todo, finished

    async def check_names(self, todo: list[OrganizationEntry]) -> frozenset[tuple[str, str]]:
        """The existing objects of this restore, as plural and place. Raises InTheWay if a needed name is taken."""
        ours = {one.name for one in todo}
        folders = {one.id for one in todo}
        there: set[tuple[str, str]] = set()
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
            raise InTheWay(f"these names are taken by other objects: {_listed(in_the_way)}. Nothing was changed")
        return frozenset(there)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(sorted(names)[:_LISTED]) + more
