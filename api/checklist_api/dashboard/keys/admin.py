"""Creates and revokes API keys (specification, "Authentication"). Only the response of `create` has the plaintext.

A revoked key is kept as a record. Every replica's watch receives a revocation, also one by `kubectl`, within a second.
"""

import logging
from collections.abc import Mapping
from typing import Any

from checklist_crds.errors import ApiKeyNotFound, Problem, ValidationFailed
from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.limits.organization_limits import Counted
from checklist_crds.resources.audit_entry import AuditTarget
from checklist_crds.resources.base import CREATED_AT_ANNOTATION, OrganizationRef
from checklist_crds.resources.kinds import API_KEY
from checklist_crds.resources.organization import ApiKeySpec
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest
from checklist_crds.times import Clock, format_timestamp

from ...audit.trail import Act
from ...auth.keys import ApiKey, KeyDirectory
from ...auth.members import Member
from ...http.json_body import require_members
from ...http.text_fields import is_object_name, single_line
from ...organizations.directory import Organization

logger = logging.getLogger(__name__)

TARGET = "api_key"


class ApiKeyAdmin:
    """All methods raise KubeError and ServiceUnavailable."""

    def __init__(self, client: KubeClient, keys: KeyDirectory, limits: LimitLedger, clock: Clock) -> None:
        self._client = client
        self._limits = limits
        self._keys = keys
        self._clock = clock

    async def create(self, organization: Organization, maker: Member, purpose: str, act: Act) -> tuple[ApiKey, str]:
        """Create a key; returns it and its plaintext. Raises LimitReached."""
        plaintext = api_keys.new_key()
        sha256 = digest(plaintext)
        name = api_keys.object_name(sha256)
        spec = ApiKeySpec(
            organization_ref=OrganizationRef(name=organization.name),
            name=purpose,
            sha256=sha256,
            last_four=plaintext[-4:],
            created_by=maker.name,
        )
        body = API_KEY.manifest(
            name,
            organization.namespace,
            # Written although it is the default, so that `kubectl get` shows it.
            {**spec.to_kube(), "prefix": spec.prefix},
            organization=organization.name,
            annotations={CREATED_AT_ANNOTATION: format_timestamp(self._clock())},
        )
        async with self._limits.room(organization.name, Counted.API_KEY, name, organization.namespace):
            await act.announce("api_key.created", AuditTarget(kind=TARGET, id=name, name=purpose))
            made = await self._client.create(API_KEY, body, organization.namespace)
        self._keys.informer.observe(made)
        logger.info("key.created", extra={"key": name, "organization": organization.name})
        return ApiKey.parse(made), plaintext

    async def revoke(self, organization: Organization, name: str, act: Act) -> ApiKey:
        """Revoke a key; no effect when it is revoked already. Raises ApiKeyNotFound."""

        async def attempt() -> ApiKey:
            body = await self._read(organization, name)
            key = ApiKey.parse(body)
            if key.revoked:
                self._keys.informer.observe(body)
                return key
            await act.announce("api_key.revoked", AuditTarget(kind=TARGET, id=name, name=key.purpose))
            try:
                revoked = await self._client.patch(
                    API_KEY,
                    name,
                    {"spec": {"revoked": True}},
                    key.namespace,
                    resource_version=body["metadata"]["resourceVersion"],
                )
            except KubeNotFound:
                raise ApiKeyNotFound() from None
            self._keys.informer.observe(revoked)
            logger.info("key.revoked", extra={"key": name, "organization": organization.name})
            return ApiKey.parse(revoked)

        key: ApiKey = await retry_conflicts(attempt)
        return key

    async def _read(self, organization: Organization, name: str) -> dict[str, Any]:
        """Read the key from the cluster. Raises ApiKeyNotFound, also for a key of another organization."""
        if not is_object_name(name):
            raise ApiKeyNotFound()
        for namespace in organization.namespaces:
            try:
                body = await self._client.get(API_KEY, name, namespace)
            except KubeNotFound:
                continue
            if body["spec"]["organizationRef"]["name"] == organization.name:
                return body
        raise ApiKeyNotFound()


def requested_purpose(body: Mapping[str, Any]) -> str:
    """Validate the body `{name}`. Raises MissingField, ValidationFailed."""
    require_members(dict(body), "name")
    problems: list[Problem] = []
    purpose = single_line(body["name"], "name", 200, problems)
    if problems:
        raise ValidationFailed("The key is not valid.", details=problems)
    return purpose
