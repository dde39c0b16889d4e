"""Binds a member to the person who first signs in with the invited e-mail address (`MemberStatus.binding`).

A binding is made by a conditional write while there is none; afterwards the e-mail address of a member decides nothing
any more. So whoever comes later with the same address from another issuer, or as another subject, gets nowhere.
"""

import logging

from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.kinds import MEMBER
from checklist_crds.resources.organization import MemberSpec, MemberStatus
from checklist_crds.times import Clock, format_timestamp

from ...auth.members import Member, MemberDirectory, Person
from ...organizations.directory import OrganizationDirectory

logger = logging.getLogger(__name__)


class Binding:
    """Binds members to persons."""

    def __init__(
        self, client: KubeClient, members: MemberDirectory, organizations: OrganizationDirectory, clock: Clock
    ) -> None:
        self._client = client
        self._members = members
        self._organizations = organizations
        self._clock = clock

    async def bind(self, person: Person, email: str, *, organization: str | None = None) -> None:
        """Every member with that e-mail address whom nobody signs in as becomes `person`.

        Those of an organization that is being restored stay as the backup has them; they are bound when the person
        comes again. `email` must be verified. `organization`: only there. Raises KubeError.
        """
        await self._members.informer.wait_for_first_list()
        for member in self._members.with_email(email):
            wanted = member.person is None and organization in (None, member.organization)
            if wanted and not self._organizations.is_restoring(member.organization):
                await self._bind(member, person, email)

    async def _bind(self, member: Member, person: Person, email: str) -> None:
        async def attempt() -> bool:
            body = await self._client.get(MEMBER, member.name, member.namespace)
            self._members.informer.observe(body)
            spec = MemberSpec.model_validate(body.get("spec") or {})
            status = MemberStatus.model_validate(body.get("status") or {})
            if status.binding is not None or spec.email.lower() != email.lower():
                return False
            binding = {"issuer": person[0], "subject": person[1], "at": format_timestamp(self._clock())}
            version = str(body["metadata"]["resourceVersion"])
            self._members.informer.observe(
                await self._client.patch_status(
                    MEMBER, member.name, {"binding": binding}, member.namespace, resource_version=version
                )
            )
            return True

        try:
            if await retry_conflicts(attempt):
                logger.info("member.bound", extra={"member": member.id, "organization": member.organization})
        except KubeNotFound:
            return
