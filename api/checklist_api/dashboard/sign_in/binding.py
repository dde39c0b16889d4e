"""Binds a member to the person who first signs in with the invited e-mail address (`MemberStatus.binding`).

The binding is a compare-and-swap write. Once bound, a member's e-mail address grants no access: another issuer or
subject with the same address cannot sign in as the member.
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
    def __init__(
        self, client: KubeClient, members: MemberDirectory, organizations: OrganizationDirectory, clock: Clock
    ) -> None:
        self._client = client
        self._members = members
        self._organizations = organizations
        self._clock = clock

    async def bind(self, person: Person, email: str, *, organization: str | None = None) -> None:
        """Bind all unbound members with this e-mail address to `person`.

        Members of an organization that is being restored are skipped until the person's next sign-in. `email` must be
        verified. `organization`: bind only there. Raises KubeError.
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
