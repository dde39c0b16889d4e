"""Which organization an object belongs to (architecture section 2, "Tenancy").

A namespaced object belongs to the organization it names only if it is in that organization's namespace or in the
installation's. Otherwise write access to any namespace would suffice to act for any organization.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.kinds import ORGANIZATION
from checklist_crds.resources.organization import OrganizationSpec
from checklist_crds.values.json_text import JsonObject


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an object is refused: a CamelCase reason and a sentence."""

    reason: str
    message: str


class Tenancy:
    """Reads the cluster, never a cache, because the answer may grant access."""

    def __init__(self, client: KubeClient, installation_namespace: str, watched: Sequence[str] = ()) -> None:
        """`watched`: the namespaces that this installation serves; empty for all."""
        self._client = client
        self._installation_namespace = installation_namespace
        self._watched = frozenset(watched)

    async def refusal(self, organization: str, namespace: str) -> Refusal | None:
        """Returns None when objects in `namespace` may belong to `organization`. Raises KubeError."""
        return self._judged(organization, namespace, await self._places_of(organization))

    async def template_refusal(self, organization: str, namespace: str) -> Refusal | None:
        """As `refusal`, and the organization's own namespace, where runs are created, must be served."""
        namespaces = await self._places_of(organization)
        return self._judged(organization, namespace, namespaces) or self.unserved(namespaces[0])

    async def _places_of(self, organization: str) -> tuple[str, ...]:
        """As `namespaces_of`; empty for an object without an organization."""
        return await self.namespaces_of(organization) if organization else ()

    @staticmethod
    def _judged(organization: str, namespace: str, namespaces: Sequence[str]) -> Refusal | None:
        if not organization:
            return Refusal("OrganizationNotFound", "The object names no organization.")
        if not namespaces:
            return Refusal("OrganizationNotFound", f"Organization {organization!r} not found.")
        if namespace in namespaces:
            return None
        return Refusal("OrganizationNotFound", f"Organization {organization!r} does not use this namespace.")

    def unserved(self, namespace: str | None) -> Refusal | None:
        """Returns a refusal if no operator serves `namespace` of an organization (None: the installation's own)."""
        if namespace in (None, self._installation_namespace) or not self._watched or namespace in self._watched:
            return None
        return Refusal(
            "NamespaceNotWatched",
            f"No operator serves namespace {namespace!r}, so runs there are neither admitted nor delivered. Add it to "
            "CHECKLISTS_WATCH_NAMESPACES (chart: organizationNamespaces).",
        )

    async def namespaces_of(self, organization: str) -> tuple[str, ...]:
        """Returns the namespaces for objects of `organization`, its own first; empty if it does not exist.

        Raises KubeError.
        """
        try:
            body: JsonObject = await self._client.get(ORGANIZATION, organization)
        except KubeNotFound:
            return ()
        namespace = OrganizationSpec.model_validate(body["spec"]).namespace or self._installation_namespace
        return tuple(dict.fromkeys((namespace, self._installation_namespace)))
