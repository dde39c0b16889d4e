"""Organizations by name, with namespaces, plans and limits. A watch keeps the cache current."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from checklist_crds.errors import ServiceUnavailable
from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import SILENCE_S, Informer
from checklist_crds.platform.ttl_cache import expiring_keys
from checklist_crds.resources.base import RESTORING_ANNOTATION
from checklist_crds.resources.kinds import ORGANIZATION
from checklist_crds.resources.organization import OrganizationLimits, OrganizationSpec
from checklist_crds.values.json_text import JsonObject

from ..settings.rates import Rate

logger = logging.getLogger(__name__)

_LOOKUP_TTL_S: Final = 0.5
_RESTORE_RETRY_AFTER_S: Final = 30


@dataclass(frozen=True, slots=True)
class Organization:
    """An organization. `rate` and `limits`: None for the installation's. `restoring`: a backup is being restored, so
    objects may be missing."""

    name: str
    id: str
    display_name: str
    namespaces: tuple[str, ...]
    rate: Rate | None
    limits: OrganizationLimits | None = None
    restoring: bool = False

    @property
    def namespace(self) -> str:
        """Namespace of new objects."""
        return self.namespaces[0]

    def has(self, namespace: str) -> bool:
        """Whether objects in `namespace` can belong to it."""
        return namespace in self.namespaces


class OrganizationDirectory:
    def __init__(self, client: KubeClient, watcher: KubeClient, installation_namespace: str) -> None:
        self._client = client
        self._installation_namespace = installation_namespace
        self._organizations: dict[str, Organization] = {}
        self._restoring: set[str] = set()
        self._absences = expiring_keys()
        self._looked_up = expiring_keys(_LOOKUP_TTL_S)
        self.informer = Informer(watcher, ORGANIZATION, self._apply, silence_s=SILENCE_S)

    async def get(self, name: str) -> Organization | None:
        """Return the organization. Raises KubeError, and ServiceUnavailable while it is being restored."""
        found = await self.find(name)
        if found is not None:
            require_not_restoring(found)
        return found

    async def find(self, name: str) -> Organization | None:
        """Return the organization, also one that is being restored. Misses are looked up. Raises KubeError."""
        known = self._organizations.get(name)
        is_fresh = self.informer.connected or name in self._looked_up
        if name in self._absences or (known is not None and is_fresh):
            return known
        try:
            self.informer.observe(await self._client.get(ORGANIZATION, name))
        except KubeNotFound:
            if known is not None:
                self.informer.forget({"metadata": {"name": name}})
            self._absences.add(name)
        self._looked_up.add(name)
        return self._organizations.get(name)

    def all(self) -> Iterable[Organization]:
        """Return all cached organizations."""
        return self._organizations.values()

    def uses(self, name: str, namespace: str) -> bool:
        """Whether the organization is in the cache, and objects in `namespace` can belong to it."""
        known = self._organizations.get(name)
        return known is not None and known.has(namespace)

    def is_restoring(self, name: str) -> bool:
        return name in self._restoring

    def require_none_restoring(self) -> None:
        """Fail if missing objects may still appear. Raises ServiceUnavailable while any organization is being restored,
        and before the first list."""
        if not self.informer.synced.is_set():
            raise ServiceUnavailable("The service is starting. Try again.")
        for name in self._restoring:
            require_not_restoring(self._organizations[name])

    def namespaces(self) -> list[str]:
        """Return all namespaces of organizations, the installation's first."""
        found = {self._installation_namespace: None}
        for organization in self._organizations.values():
            found |= dict.fromkeys(organization.namespaces)
        return list(found)

    def _apply(self, change: str, body: JsonObject) -> None:
        name = body["metadata"]["name"]
        self._absences.pop(name)
        self._restoring.discard(name)
        if change == "DELETE":
            self._organizations.pop(name, None)
            return
        try:
            spec = OrganizationSpec.model_validate(body.get("spec") or {})
        except ValidationError as error:
            logger.warning("organization.unreadable", extra={"organization": name, "reason": str(error.errors()[0])})
            self._organizations.pop(name, None)
            return
        own = spec.namespace or self._installation_namespace
        limit = spec.rate_limit
        if RESTORING_ANNOTATION in (body["metadata"].get("annotations") or {}):
            self._restoring.add(name)
        self._organizations[name] = Organization(
            name=name,
            id=object_id("org", name),
            display_name=spec.display_name,
            namespaces=tuple(dict.fromkeys((own, self._installation_namespace))),
            rate=Rate(limit.requests_per_second, limit.burst) if limit else None,
            limits=spec.limits,
            restoring=name in self._restoring,
        )


def require_not_restoring(organization: Organization) -> None:
    """Fail while a restore is in progress, since objects may be missing. Raises ServiceUnavailable."""
    if organization.restoring:
        raise ServiceUnavailable("A backup is being restored. Try again later.", retry_after_s=_RESTORE_RETRY_AFTER_S)
