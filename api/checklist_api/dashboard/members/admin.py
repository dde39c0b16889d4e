"""Invites, changes and removes members of an organization.

**One admin always remains**, for any number of concurrent requests and replicas. Kubernetes has no transactions over
two objects, so before an admin is demoted or removed, another admin is *vouched for*: a compare-and-swap write of an
annotation, conditional on the resourceVersion that was read. The demotion or removal is conditional in the same way. If
two admins remove each other, each has changed the other in between, so at most one succeeds; longer cycles end the same
way. This needs no clock and no lock that a crash could leave behind. (Only `kubectl` can remove the last admin.)

**An e-mail address is invited once**: the member's id is a MAC of organization and address, so a second invitation
conflicts with the first. A person invited again after a removal gets the same id while the server key is the same.
"""

import logging
from dataclasses import dataclass
from typing import Any, Final

from attrs import define, field

from checklist_crds.errors import LastAdmin, MemberExists, MemberManaged, MemberNotFound
from checklist_crds.ids import is_id, keyed_id
from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeAlreadyExists, KubeNotFound
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.limits.organization_limits import Counted
from checklist_crds.resources.audit_entry import AuditTarget
from checklist_crds.resources.base import CREATED_AT_ANNOTATION, GROUP, OrganizationRef
from checklist_crds.resources.kinds import MEMBER
from checklist_crds.resources.organization import MemberSpec, Role
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import Clock, format_timestamp
from checklist_crds.values.json_text import JsonObject

from ...audit.trail import Act
from ...auth.members import Member, MemberDirectory
from ...organizations.directory import Organization

logger = logging.getLogger(__name__)

TARGET: Final = "member"
VOUCHED_ANNOTATION: Final = f"{GROUP}/stays-admin-for"
"""On an admin: the member that was demoted or removed because this admin remains."""


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A partial update; None leaves a field unchanged."""

    name: str | None = None
    role: Role | None = None


@define(eq=False, repr=False, slots=False)
class MemberAdmin:
    """All methods also raise KubeError and ServiceUnavailable."""

    _client: KubeClient
    _members: MemberDirectory
    _limits: LimitLedger
    _keys: ServerKeys = field(alias="server_keys")
    _clock: Clock

    async def invite(self, organization: Organization, *, email: str, name: str, role: Role, act: Act) -> Member:
        """Create a member. `email` in lower case. Raises MemberExists, LimitReached."""
        await self._members.informer.wait_for_first_list()
        if any(self._is_of(member, organization) for member in self._members.with_email(email)):
            raise MemberExists()
        member_id = keyed_id("u", self._keys.derived("member-id")[0], organization.name, email)
        spec = MemberSpec(organization_ref=OrganizationRef(name=organization.name), name=name, email=email, role=role)
        body = MEMBER.manifest(
            member_id,
            organization.namespace,
            {**spec.to_kube(), "role": role.value},
            organization=organization.name,
            annotations={CREATED_AT_ANNOTATION: format_timestamp(self._clock())},
        )
        target = AuditTarget(kind=TARGET, id=member_id, name=name)
        async with self._limits.room(organization.name, Counted.MEMBER, member_id, organization.namespace):
            await act.announce("member.invited", target, email=email, role=role.value)
            try:
                made = await self._client.create(MEMBER, body, organization.namespace)
            except KubeAlreadyExists:
                raise MemberExists() from None
        self._members.informer.observe(made)
        logger.info("member.invited", extra={"member": member_id, "organization": organization.name})
        return Member.parse(made)

    async def find(self, organization: Organization, member_id: str) -> Member:
        """Read the member from the cluster. Raises MemberNotFound."""
        return (await self._read(organization, member_id))[1]

    async def change(self, organization: Organization, member_id: str, change: MemberChange, act: Act) -> Member:
        """Apply `change`. Raises MemberNotFound, MemberManaged, LastAdmin."""

        async def attempt() -> Member:
            body, member = await self._read(organization, member_id)
            spec: dict[str, str] = {}
            if change.name not in (None, member.display_name):
                spec["name"] = str(change.name)
            if change.role is not None and change.role is not member.role:
                spec["role"] = change.role.value
            if not spec:
                return member
            _require_unmanaged(member)
            if "role" in spec:
                if member.role is Role.ADMIN:
                    await self._vouch(organization, member, act)
                await act.announce("member.role_changed", member_target(member), role_before=member.role.value, **spec)
            else:
                await act.announce("member.renamed", member_target(member), **spec)
            return await self._write(body, {"spec": spec})

        changed: Member = await retry_conflicts(attempt)
        return changed

    async def reset(self, organization: Organization, member_id: str, act: Act) -> Member:
        """Remove the binding to a person, until a person with the e-mail address signs in. Raises MemberNotFound."""

        async def attempt() -> Member:
            body, member = await self._read(organization, member_id)
            if member.person is None:
                return member
            await act.announce("member.reset", member_target(member))
            return await self._write(body, {"status": {"binding": None}}, subresource="status")

        changed: Member = await retry_conflicts(attempt)
        return changed

    async def remove(self, organization: Organization, member_id: str, act: Act) -> Member:
        """Remove the member; returns its last state. Raises MemberNotFound, MemberManaged, LastAdmin."""

        async def attempt() -> Member:
            body, member = await self._read(organization, member_id)
            _require_unmanaged(member)
            if member.role is Role.ADMIN:
                await self._vouch(organization, member, act)
            await act.announce("member.removed", member_target(member), role=member.role.value, email=member.email)
            try:
                await self._client.delete(
                    MEMBER, member.name, member.namespace, resource_version=body["metadata"]["resourceVersion"]
                )
            except KubeNotFound:
                raise MemberNotFound() from None
            self._members.informer.forget({"metadata": {"namespace": member.namespace, "name": member.name}})
            return member

        removed: Member = await retry_conflicts(attempt)
        logger.info("member.removed", extra={"member": member_id, "organization": organization.name})
        return removed

    async def _vouch(self, organization: Organization, leaving: Member, act: Act) -> None:
        """Ensure by compare-and-swap that another admin exists. Raises LastAdmin, KubeConflict."""
        for body, witness in await self._other_admins(organization, leaving, first=act.actor.id):
            annotations = {VOUCHED_ANNOTATION: f"{leaving.name} {format_timestamp(self._clock())}"}
            try:
                # Changes the resourceVersion, so a concurrent removal of this admin conflicts.
                await self._write(body, {"metadata": {"annotations": annotations}})
            except MemberNotFound:
                continue
            logger.debug("member.vouched", extra={"member": witness.id, "for": leaving.id})
            return
        raise LastAdmin()

    async def _other_admins(
        self, organization: Organization, leaving: Member, *, first: str | None
    ) -> list[tuple[JsonObject, Member]]:
        """Read the other admins from the cluster: `first` before all others, then those who have signed in."""
        found: list[tuple[JsonObject, Member]] = []
        for namespace in organization.namespaces:
            bodies, _ = await self._client.list_all(MEMBER, namespace)
            for body in bodies:
                try:
                    member = Member.parse(body)
                except ValueError:
                    continue
                own = member.organization == organization.name and member.role is Role.ADMIN
                if own and member.key != leaving.key:
                    found.append((body, member))
        return sorted(found, key=lambda pair: (pair[1].id != first, pair[1].person is None, pair[1].key))

    async def _write(self, body: JsonObject, patch: dict[str, Any], *, subresource: str | None = None) -> Member:
        """Patch the member. Raises KubeConflict when it changed since `body` was read, MemberNotFound."""
        metadata = body["metadata"]
        try:
            written = await self._client.patch(
                MEMBER,
                metadata["name"],
                patch,
                metadata["namespace"],
                resource_version=metadata["resourceVersion"],
                subresource=subresource,
            )
        except KubeNotFound:
            raise MemberNotFound() from None
        self._members.informer.observe(written)
        return Member.parse(written)

    async def _read(self, organization: Organization, member_id: str) -> tuple[JsonObject, Member]:
        """Read the member from the cluster. Raises MemberNotFound, also for a member of another organization."""
        if not is_id("u", member_id):
            raise MemberNotFound()
        # A Member named with kubectl has an id derived from its name.
        await self._members.informer.wait_for_first_list()
        known = [member for member in self._members.of_organization(organization.name) if member.id == member_id]
        places = [member.key for member in known] or [(namespace, member_id) for namespace in organization.namespaces]
        for namespace, name in places:
            try:
                body = await self._client.get(MEMBER, name, namespace)
                member = Member.parse(body)
            except (KubeNotFound, ValueError):
                continue
            if self._is_of(member, organization):
                return body, member
        raise MemberNotFound()

    @staticmethod
    def _is_of(member: Member, organization: Organization) -> bool:
        return member.organization == organization.name and organization.has(member.namespace)


def _require_unmanaged(member: Member) -> None:
    if member.manager is not None:
        raise MemberManaged(
            f"{member.manager.reason} Change the member there.", details={"managed_by": member.manager.view()}
        )


def member_target(member: Member) -> AuditTarget:
    return AuditTarget(kind=TARGET, id=member.id, name=member.display_name)
