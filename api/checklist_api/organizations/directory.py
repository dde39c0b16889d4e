"""Organizations by name, with namespaces, plans and limits. A watch keeps the cache fresh."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from checklist_crds.errors import ServiceUnavailable
from checklist_crds.ids import object_id
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import SILENCE_S, Informer
from checklist_crds.platform.ttl_cache import expiring_keys
from checklist_crds.resources.base import RESTORING_ANNOTATION
from checklist_crds.resources.kinds import ORGANIZATION
from checklist_crds.resources.organization import OrganizationLimits, OrganizationSpec

from ..settings.rates import Rate

logger = logging.getLogger(__name__)

_TRUSTED_WITHOUT_WATCH_S: Final = 0.5
_RESTORED_IN_S: Final = 30
"""When callers are to try again while a restore is under way."""


@dataclass(frozen=True, slots=True)
class Organization:
    """An organization as requests need it. `rate` and `limits`: None are the installation's own. `restoring`:
    its objects are not all there yet."""

    name: str
    id: str
    display_name: str
    namespaces: tuple[str, ...]
    rate: Rate | None
    limits: OrganizationLimits | None = None
    restoring: bool = False

    @property
    def home(self) -> str:
        """The namespace that its new objects are made in."""
        return self.namespaces[0]

    def has(self, namespace: str) -> bool:
        """Whether an object in `namespace` can belong to it at all."""
        return namespace in self.namespaces


class OrganizationDirectory:
    """All organizations of the cluster."""

    def __init__(self, client: KubeClient, watcher: KubeClient, installation_namespace: str) -> None:
        self._client = client
        self._installation_namespace = installation_namespace
        self._organizations: dict[str, Organization] = {}
        self._restoring: set[str] = set()
        self._absences = expiring_keys()
        self._looked_up = expiring_keys(_TRUSTED_WITHOUT_WATCH_S)
        self.informer = Informer(watcher, ORGANIZATION, self._apply, silence_s=SILENCE_S)

    async def get(self, name: str) -> Organization | None:
        """For whoever wants something of it. Raises KubeError, and ServiceUnavailable while it is being restored."""
        found = await self.find(name)
        if found is not None:
            require_whole(found)
        return found

    async def find(self, name: str) -> Organization | None:
        """Also one that is being restored. A miss is checked in the cluster. Raises KubeError."""
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
        """Those that are known now."""
        return self._organizations.values()

    def is_restoring(self, name: str) -> bool:
        return name in self._restoring

    def require_all_whole(self) -> None:
        """What is not found may not be there yet. Raises ServiceUnavailable while an organization is being restored,
        and until all of them were read once."""
        if not self.informer.synced.is_set():
            raise ServiceUnavailable("The service is starting; please try again.")
        for name in self._restoring:
            require_whole(self._organizations[name])

    def namespaces(self) -> list[str]:
        """Every namespace that an organization may keep its objects in, the installation's own first."""
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


def require_whole(organization: Organization) -> None:
    """Raises ServiceUnavailable while it is being restored: what it has would look as if it were all."""
    if organization.restoring:
        raise ServiceUnavailable(
            "A backup is being restored; please try again when that is done.", retry_after_s=_RESTORED_IN_S
        )
