"""Reads all objects of an installation at one resource version and writes them as the parts of a snapshot.

The first list determines the resource version; all others are read exactly at it. So every delivery has its run, and
quotas match the runs, however busy the service is.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.kinds import ORGANIZATION, RUN, Kind
from checklist_crds.resources.run_id import run_id_of
from checklist_crds.secrets.sealing import sealing_key_of
from checklist_crds.values.json_text import JsonObject

from . import layout
from .format import MAX_PART_BYTES, OrganizationEntry, PartEntry, SecretNeed, encode, to_line
from .objects import KINDS, kept, organization_of, sealed_texts
from .store import BackupStore

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(slots=True)
class Read:
    """The contents of a snapshot."""

    version: str = ""
    organizations: list[OrganizationEntry] = field(default_factory=list)
    parts: list[PartEntry] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    namespaces: set[str] = field(default_factory=set)
    sealing_keys: set[str] = field(default_factory=set)
    secrets: set[tuple[str, str, str]] = field(default_factory=set)
    """(namespace, name, key) of the webhook secrets that runs reference."""
    runs: set[str] = field(default_factory=set)
    """Ids; only of a partial snapshot, which copies the photos of its own runs."""

    @property
    def needs(self) -> tuple[SecretNeed, ...]:
        return tuple(SecretNeed(namespace=where, name=name, key=key) for where, name, key in sorted(self.secrets))


class SnapshotReader:
    """Reads once. Methods raise KubeError (KubeGone: the resource version was compacted) and StoreUnavailable."""

    def __init__(
        self,
        client: KubeClient,
        store: BackupStore,
        name: str,
        *,
        only: Collection[str] = (),
        report: Callable[[Read], None] = lambda _: None,
    ) -> None:
        """`only`: names or public ids of organizations; empty: all, and objects without an organization."""
        self._client = client
        self._store = store
        self._name = name
        self._only = frozenset(only)
        self._report = report
        self._numbers: Counter[tuple[str, str]] = Counter()
        self._read = Read()

    async def read(self) -> Read:
        version: str | None = None
        for kind in KINDS:
            buffers: defaultdict[str, list[bytes]] = defaultdict(list)
            sizes: Counter[str] = Counter()
            try:
                async for page, listed_at in self._client.pages(kind, exactly_at=version):
                    version = self._read.version = version or listed_at
                    for body in page:
                        folder = self._folder(kind, body)
                        if folder is None:
                            continue
                        line = to_line(kept(kind, body))
                        if sizes[folder] and sizes[folder] + len(line) > MAX_PART_BYTES:
                            await self._write(folder, kind, buffers.pop(folder))
                            sizes[folder] = 0
                        buffers[folder].append(line)
                        sizes[folder] += len(line)
                        self._note(kind, body)
                    self._report(self._read)
            except KubeNotFound:
                if kind is ORGANIZATION:
                    raise
                continue  # the installation is older than the kind
            for folder, lines in sorted(buffers.items()):
                await self._write(folder, kind, lines)
        return self._read

    def _folder(self, kind: Kind, body: JsonObject) -> str | None:
        """The folder of the object; None if it is not part of the snapshot."""
        organization = organization_of(kind, body)
        if organization is None:
            return None if self._only else layout.NO_ORGANIZATION
        public = object_id("org", organization)
        if self._only and not {organization, public} & self._only:
            return None
        return public

    def _note(self, kind: Kind, body: Mapping[str, Any]) -> None:
        metadata, spec = body["metadata"], body.get("spec") or {}
        read = self._read
        read.counts[kind.plural] += 1
        namespace = metadata.get("namespace", "")
        if namespace:
            read.namespaces.add(namespace)
        if kind is ORGANIZATION:
            name = metadata["name"]
            own = spec.get("namespace")
            read.organizations.append(OrganizationEntry(name=name, id=object_id("org", name), namespace=own))
        for sealed in sealed_texts(kind, namespace, metadata["name"], spec):
            read.sealing_keys.add(sealing_key_of(sealed.text) or "(not sealed)")
        if kind is RUN:
            if reference := (spec.get("webhook") or {}).get("secretRef"):
                read.secrets.add((namespace, reference["name"], reference.get("key") or "secret"))
            if self._only and (run_id := run_id_of(body)):
                read.runs.add(run_id)

    async def _write(self, folder: str, kind: Kind, lines: list[bytes]) -> None:
        number = self._numbers[folder, kind.plural] = self._numbers[folder, kind.plural] + 1
        key = layout.part_key(self._name, _UNSAFE.sub("_", folder), kind.plural, number)
        part = encode(key, folder, kind.plural, lines)
        await self._store.put(key, part.content)
        self._read.parts.append(part.entry)
