"""Kubernetes resources that the service reads and writes, and the keys of their objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .base import GROUP, ORGANIZATION_LABEL, VERSION

Key = tuple[str, str]
"""Namespace and name of an object; the namespace of a cluster-scoped object is empty."""


def key_of(body: Mapping[str, Any]) -> Key:
    metadata = body["metadata"]
    return str(metadata.get("namespace", "")), str(metadata["name"])


def version_of(body: Mapping[str, Any]) -> int:
    """Returns the resource version as a number: Kubernetes guarantees that versions of a kind are comparable."""
    return int(body["metadata"].get("resourceVersion") or 0)


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource: its names and its place in the API."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    page: int = 500
    """Page size of lists: small for kinds with large objects, because a parsed page is held in memory."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Returns the request path; without namespace, all namespaces of a namespaced kind.

        Namespace and name may come from users: `?watch=true` is a name that no object has, not a query.
        """
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def manifest(
        self,
        name: str,
        namespace: str | None,
        spec: Mapping[str, Any],
        *,
        organization: str | None = None,
        annotations: Mapping[str, str | None] | None = None,
    ) -> dict[str, Any]:
        """Returns an object to create, labelled with its organization. Annotations that are None are left out."""
        metadata: dict[str, Any] = {"name": name, "namespace": namespace}
        if organization is not None:
            metadata["labels"] = {ORGANIZATION_LABEL: organization}
        if kept := {key: text for key, text in (annotations or {}).items() if text is not None}:
            metadata["annotations"] = kept
        if namespace is None:
            del metadata["namespace"]
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, "spec": spec}


ORGANIZATION = Kind(GROUP, VERSION, "organizations", "Organization", namespaced=False)
MEMBER = Kind(GROUP, VERSION, "members", "Member")
API_KEY = Kind(GROUP, VERSION, "apikeys", "ApiKey")
TEMPLATE = Kind(GROUP, VERSION, "templates", "Template", page=10)
TEMPLATE_REVISION = Kind(GROUP, VERSION, "templaterevisions", "TemplateRevision", page=10)
RUN = Kind(GROUP, VERSION, "runs", "Run", page=50)
WEBHOOK_DELIVERY = Kind(GROUP, VERSION, "webhookdeliveries", "WebhookDelivery")
DELIVERY_REPLAY = Kind(GROUP, VERSION, "deliveryreplays", "DeliveryReplay")
LOCAL_ACCOUNT = Kind(GROUP, VERSION, "localaccounts", "LocalAccount")
DASHBOARD_SESSION = Kind(GROUP, VERSION, "dashboardsessions", "DashboardSession")
AUDIT_ENTRY = Kind(GROUP, VERSION, "auditentries", "AuditEntry")
IDEMPOTENCY_RECORD = Kind(GROUP, VERSION, "idempotencyrecords", "IdempotencyRecord")
SECRET = Kind("", "v1", "secrets", "Secret")
CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap")
EVENT = Kind("", "v1", "events", "Event")
NAMESPACE = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
LEASE = Kind("coordination.k8s.io", "v1", "leases", "Lease")
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)

ALL_KINDS = (
    ORGANIZATION,
    MEMBER,
    API_KEY,
    TEMPLATE,
    TEMPLATE_REVISION,
    RUN,
    WEBHOOK_DELIVERY,
    DELIVERY_REPLAY,
    LOCAL_ACCOUNT,
    DASHBOARD_SESSION,
    AUDIT_ENTRY,
    IDEMPOTENCY_RECORD,
)
