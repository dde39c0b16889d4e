"""Templates of all organizations by public id, updated by a watch and by own writes.

Only list rows are kept for all templates. Bodies are in a bounded LRU cache and read from the cluster on a miss, so
that one tenant's templates cannot fill the memory of all replicas.

Templates named with kubectl (GitOps) have ids derived from their names and are found in the cache only; those named by
the API are looked up in the cluster on a miss.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from checklist_crds.errors import TemplateNotFound, ValidationFailed
from checklist_crds.ids import is_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound, KubeUnavailable
from checklist_crds.kube.informer import Informer
from checklist_crds.platform.ttl_cache import expiring_keys
from checklist_crds.platform.weighted_lru import WeightedLru, weight_of
from checklist_crds.resources.kinds import TEMPLATE, Key, key_of, version_of
from checklist_crds.resources.management import Manager, manager_of
from checklist_crds.resources.template import TemplateMeta, definition_of
from checklist_crds.runs.snapshot import Snapshot, snapshot
from checklist_crds.templates.validation import parse_definition
from checklist_crds.values.json_text import JsonObject

from ..cluster.keyed_locks import KeyedLocks
from ..organizations.directory import Organization

logger = logging.getLogger(__name__)

_FIRST_LIST_WITHIN_S: Final = 1.0
_CONCURRENT_LOADS: Final = 8


@dataclass(frozen=True, slots=True)
class ListedTemplate:
    """A template in lists."""

    meta: TemplateMeta
    resource_version: int
    manager: Manager | None
    """External manager (GitOps), if any."""
    display_name: str
    description: str
    tags: tuple[str, ...]
    step_count: int

    @classmethod
    def of(cls, body: JsonObject) -> "ListedTemplate":
        """Parse an object without validation, so that invalid templates are listed, too. Raises ValueError, KeyError or
        TypeError for invalid metadata."""
        spec = body["spec"]
        return cls(
            meta=TemplateMeta.of(body),
            resource_version=version_of(body),
            manager=manager_of(body["metadata"]),
            display_name=spec.get("name", ""),
            description=spec.get("description", ""),
            tags=tuple(spec.get("tags") or ()),
            step_count=sum(len(section.get("steps") or ()) for section in spec.get("sections") or ()),
        )


class StoredTemplate:
    """A stored version of a template, with lazily derived data."""

    __slots__ = ("_snapshot", "_tdl", "body", "listed")

    def __init__(self, body: JsonObject, listed: ListedTemplate | None = None) -> None:
        """Raises ValueError, KeyError or TypeError for invalid metadata."""
        self.listed = listed or ListedTemplate.of(body)
        self.body = _without_managed_fields(body)
        self._tdl: dict[str, Any] | None = None
        self._snapshot: Snapshot | None = None

    @property
    def meta(self) -> TemplateMeta:
        return self.listed.meta

    @property
    def manager(self) -> Manager | None:
        return self.listed.manager

    def tdl(self) -> dict[str, Any]:
        """Return the complete TDL, or the definition as is if it is invalid (made with kubectl)."""
        if self._tdl is None:
            written = definition_of(self.body["spec"])
            try:
                self._tdl = parse_definition(written).to_tdl()
            except ValidationFailed:
                self._tdl = written
        return self._tdl

    def snapshot_in(self, namespace: str) -> Snapshot:
        """Return the snapshot for a run in `namespace`. Raises TemplateNotRunnable."""
        if self._snapshot is None or self._snapshot.revision["metadata"]["namespace"] != namespace:
            self._snapshot = snapshot({**self.body, "metadata": {**self.body["metadata"], "namespace": namespace}})
        return self._snapshot


class TemplateCatalogue:
    def __init__(self, client: KubeClient, watcher: KubeClient) -> None:
        self._client = client
        self._templates: dict[Key, ListedTemplate] = {}
        self._by_organization: dict[str, dict[str, list[ListedTemplate]]] = {}
        self._bodies: WeightedLru[Key, StoredTemplate] = WeightedLru()
        self._locks = KeyedLocks()
        self._loading = asyncio.Semaphore(_CONCURRENT_LOADS)
        self._absences = expiring_keys()
        self.informer = Informer(watcher, TEMPLATE, self._apply)

    async def get(self, organization: Organization, template_id: str) -> StoredTemplate:
        """Return the template with its body. Raises TemplateNotFound, KubeError."""
        if not is_id("t", template_id):
            raise TemplateNotFound()
        found = self._find(organization, template_id)
        if found is not None and not self.informer.connected:
            await self._refresh(found.meta.namespace, found.meta.name)
            found = self._find(organization, template_id)
        if found is None and (organization.name, template_id) not in self._absences:
            found = await self._look_up(organization, template_id)
        loaded = None if found is None else await self._load(found)
        if loaded is None or loaded.meta.organization != organization.name:
            raise TemplateNotFound()
        return loaded

    async def all_of(self, organization: Organization) -> list[ListedTemplate]:
        """Return the templates, newest first, ties by id. Raises KubeUnavailable before the first list."""
        await self._wait_for_first_list()
        groups = self._by_organization.get(organization.name, {}).values()
        templates = [found for group in groups if (found := _at_home(organization, group)) is not None]
        return sorted(templates, key=lambda template: (template.meta.created_at, template.meta.id), reverse=True)

    def observe(self, body: JsonObject) -> None:
        """Apply an own write and cache its body, which is likely to be read."""
        self.informer.observe(body)
        where = key_of(body)
        listed = self._templates.get(where)
        if listed is not None and listed.resource_version == version_of(body):
            self._keep(where, StoredTemplate(body, listed))

    def forget(self, template: StoredTemplate) -> None:
        """Apply an own deletion."""
        self.informer.forget({"metadata": {"namespace": template.meta.namespace, "name": template.meta.name}})

    async def _load(self, listed: ListedTemplate) -> StoredTemplate | None:
        """Load the body; None if the template is deleted."""
        where = listed.meta.namespace, listed.meta.name
        kept = self._bodies.get(where)
        if kept is not None:
            return kept
        # One at a time per organization, so that one's large templates do not delay others.
        async with self._locks.of(listed.meta.organization), self._loading:
            kept = self._bodies.get(where)
            if kept is not None:
                return kept
            body = await self._refresh(*where, not_older_than=listed.resource_version)
        # The watch may have brought a newer version, whose body is not cached; this one was the newest when read.
        return self._bodies.get(where) or (None if body is None else StoredTemplate(body))

    def _keep(self, where: Key, template: StoredTemplate) -> None:
        self._bodies.put(where, template, weight_of(template.body["spec"]))

    def _find(self, organization: Organization, template_id: str) -> ListedTemplate | None:
        return _at_home(organization, self._by_organization.get(organization.name, {}).get(template_id, []))

    async def _look_up(self, organization: Organization, template_id: str) -> ListedTemplate | None:
        for namespace in organization.namespaces:
            await self._refresh(namespace, template_id)
        found = self._find(organization, template_id)
        if found is None:
            await self._wait_for_first_list()
            found = self._find(organization, template_id)
        if found is None:
            self._absences.add((organization.name, template_id))
        return found

    async def _refresh(self, namespace: str, name: str, *, not_older_than: int | None = None) -> JsonObject | None:
        """Read the template from etcd or, with `not_older_than`, from the API server's watch cache, which costs it a
        sixth for large templates."""
        version = None if not_older_than is None else str(not_older_than)
        try:
            body = await self._client.get(TEMPLATE, name, namespace, not_older_than=version)
        except KubeNotFound:
            if (namespace, name) in self._templates:
                self.informer.forget({"metadata": {"namespace": namespace, "name": name}})
            return None
        self.observe(body)
        return body

    async def _wait_for_first_list(self) -> None:
        try:
            await asyncio.wait_for(self.informer.synced.wait(), _FIRST_LIST_WITHIN_S)
        except TimeoutError:
            raise KubeUnavailable("the templates are not read yet") from None

    def _apply(self, change: str, body: JsonObject) -> None:
        where = key_of(body)
        before = self._templates.pop(where, None)
        if before is not None:
            self._remove(before)
        if change == "DELETE":
            self._bodies.discard(where)
            return
        try:
            template = ListedTemplate.of(body)
        except (KeyError, TypeError, ValueError) as error:
            self._bodies.discard(where)
            logger.warning("template.unreadable", extra={"template": where[1], "reason": repr(error)})
            return
        if where in self._bodies:  # in use; most changes are of the status
            self._keep(where, StoredTemplate(body, template))
        meta = template.meta
        self._templates[where] = template
        self._by_organization.setdefault(meta.organization, {}).setdefault(meta.id, []).append(template)
        self._absences.pop((meta.organization, meta.id))

    def _remove(self, template: ListedTemplate) -> None:
        groups = self._by_organization[template.meta.organization]
        group = groups[template.meta.id]
        group.remove(template)
        if not group:
            del groups[template.meta.id]
        if not groups:
            del self._by_organization[template.meta.organization]


def _at_home(organization: Organization, group: list[ListedTemplate]) -> ListedTemplate | None:
    """Return the organization's template, preferring its own namespace to the installation's."""
    for namespace in organization.namespaces:
        for template in group:
            if template.meta.namespace == namespace:
                return template
    return None


def _without_managed_fields(body: Mapping[str, Any]) -> JsonObject:
    metadata = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
    return {**body, "metadata": metadata}
