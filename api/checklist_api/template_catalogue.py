"""The templates of all organizations by their public id, kept fresh by a watch, own writes applied at once.

A template that somebody named by hand (GitOps) is found by the id that is derived from its name, which only a full
copy can tell; one that the API named is looked up in the cluster when the copy does not have it.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from checklist_crds.errors import TemplateNotFound, ValidationFailed
from checklist_crds.ids import is_id
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeNotFound, KubeUnavailable
from checklist_crds.kube.informer import Informer, Key, key_of
from checklist_crds.kube.kinds import TEMPLATE
from checklist_crds.management import manager_of
from checklist_crds.snapshot import Snapshot, snapshot
from checklist_crds.template_resource import TemplateMeta, definition_of
from checklist_crds.template_validation import parse_definition

from .organizations import Organization
from .recently import Recently

logger = logging.getLogger(__name__)

_FIRST_LIST_WITHIN_S: Final = 1.0


class StoredTemplate:
    """A version of a template as the cluster has it; what is made of it is made once."""

    __slots__ = ("_snapshot", "_tdl", "body", "manager", "meta")

    def __init__(self, body: JsonObject) -> None:
        """Raises ValueError, KeyError or TypeError for an object whose metadata cannot be read."""
        self.meta = TemplateMeta.of(body)
        self.manager = manager_of(body["metadata"])
        """Who manages it besides the service (GitOps); None: nobody."""
        self.body = _without_managed_fields(body)
        self._tdl: dict[str, Any] | None = None
        self._snapshot: Snapshot | None = None

    def tdl(self) -> dict[str, Any]:
        """The complete TDL, or, where somebody brought an invalid one into the cluster, just what is there."""
        if self._tdl is None:
            written = definition_of(self.body["spec"])
            try:
                self._tdl = parse_definition(written).to_tdl()
            except ValidationFailed:
                self._tdl = written
        return self._tdl

    def snapshot_in(self, namespace: str) -> Snapshot:
        """What a run in `namespace` takes from this version. Raises TemplateNotRunnable."""
        if self._snapshot is None or self._snapshot.revision["metadata"]["namespace"] != namespace:
            self._snapshot = snapshot({**self.body, "metadata": {**self.body["metadata"], "namespace": namespace}})
        return self._snapshot


class TemplateCatalogue:
    """All templates of the cluster."""

    def __init__(self, client: KubeClient, watcher: KubeClient) -> None:
        self._client = client
        self._templates: dict[Key, StoredTemplate] = {}
        self._by_organization: dict[str, dict[str, list[StoredTemplate]]] = {}
        self._absences = Recently()
        self.informer = Informer(watcher, TEMPLATE, self._apply)

    async def get(self, organization: Organization, template_id: str) -> StoredTemplate:
        """Raises TemplateNotFound, KubeError."""
        if not is_id("t", template_id):
            raise TemplateNotFound()
        found = self._find(organization, template_id)
        if found is not None and not self.informer.connected:
            await self._refresh(found.meta.namespace, found.meta.name)
            found = self._find(organization, template_id)
        if found is None and (organization.name, template_id) not in self._absences:
            found = await self._look_up(organization, template_id)
        if found is None:
            raise TemplateNotFound()
        return found

    async def all_of(self, organization: Organization) -> list[StoredTemplate]:
        """The newest first, the id breaks ties. Raises KubeUnavailable before the first list."""
        await self._wait_for_first_list()
        groups = self._by_organization.get(organization.name, {}).values()
        templates = [found for group in groups if (found := _at_home(organization, group)) is not None]
        return sorted(templates, key=lambda template: (template.meta.created_at, template.meta.id), reverse=True)

    def observe(self, body: JsonObject) -> None:
        """Apply an own write at once."""
        self.informer.observe(body)

    def forget(self, template: StoredTemplate) -> None:
        """Apply an own deletion at once."""
        self.informer.forget({"metadata": {"namespace": template.meta.namespace, "name": template.meta.name}})

    def _find(self, organization: Organization, template_id: str) -> StoredTemplate | None:
        return _at_home(organization, self._by_organization.get(organization.name, {}).get(template_id, []))

    async def _look_up(self, organization: Organization, template_id: str) -> StoredTemplate | None:
        for namespace in organization.namespaces:
            await self._refresh(namespace, template_id)
        found = self._find(organization, template_id)
        if found is None:
            await self._wait_for_first_list()
            found = self._find(organization, template_id)
        if found is None:
            self._absences.add((organization.name, template_id))
        return found

    async def _refresh(self, namespace: str, name: str) -> None:
        try:
            self.informer.observe(await self._client.get(TEMPLATE, name, namespace))
        except KubeNotFound:
            if (namespace, name) in self._templates:
                self.informer.forget({"metadata": {"namespace": namespace, "name": name}})

    async def _wait_for_first_list(self) -> None:
        try:
            await asyncio.wait_for(self.informer.synced.wait(), _FIRST_LIST_WITHIN_S)
        except TimeoutError:
            raise KubeUnavailable("the templates are not read yet") from None

    def _apply(self, change: str, body: JsonObject) -> None:
        where = key_of(body)
        before = self._templates.pop(where, None)
        if before is not None:
            self._by_organization[before.meta.organization][before.meta.id].remove(before)
        if change == "DELETE":
            return
        try:
            template = StoredTemplate(body)
        except (KeyError, TypeError, ValueError) as error:
            logger.warning("template.unreadable", extra={"template": where[1], "reason": repr(error)})
            return
        meta = template.meta
        self._templates[where] = template
        self._by_organization.setdefault(meta.organization, {}).setdefault(meta.id, []).append(template)
        self._absences.discard((meta.organization, meta.id))


def _at_home(organization: Organization, group: list[StoredTemplate]) -> StoredTemplate | None:
    """The one that belongs to the organization; its own namespace comes before the installation's."""
    for namespace in organization.namespaces:
        for template in group:
            if template.meta.namespace == namespace:
                return template
    return None


def _without_managed_fields(body: Mapping[str, Any]) -> JsonObject:
    metadata = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
    return {**body, "metadata": metadata}
