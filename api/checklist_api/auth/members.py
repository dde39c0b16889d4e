"""The members of all organizations: who signs in as whom, and what they may do. A watch keeps the copy fresh, so that a
role that was taken away is gone within a second.

A person is (issuer, subject); a Member is bound to one by its first sign-in with the invited e-mail address
(`MemberStatus.binding`). A person may be a member of several organizations: one Member in each.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from checklist_crds.ids import object_id
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import SILENCE_S, Informer, Key, key_of
from checklist_crds.resources.base import CREATED_AT_ANNOTATION
from checklist_crds.resources.kinds import MEMBER
from checklist_crds.resources.management import Manager, manager_of
from checklist_crds.resources.organization import MemberSpec, MemberStatus, Role
from checklist_crds.times import parse_timestamp

logger = logging.getLogger(__name__)

_Of = TypeVar("_Of")
Person = tuple[str, str]
"""(issuer, subject)"""


@dataclass(frozen=True, slots=True)
class Member:
    """What a Member object says."""

    name: str
    """metadata.name"""
    namespace: str
    organization: str
    id: str
    """u-<uuid>"""
    display_name: str
    email: str
    """In lower case."""
    role: Role
    person: Person | None
    """Who signs in as the member; None: no sign-in yet."""
    bound_at: datetime | None
    created_at: datetime
    manager: Manager | None
    """Who manages the Member object; None: the dashboard may."""

    @classmethod
    def parse(cls, body: JsonObject) -> "Member":
        """Raises pydantic.ValidationError, ValueError."""
        namespace, name = key_of(body)
        metadata = body["metadata"]
        spec = MemberSpec.model_validate(body.get("spec") or {})
        binding = MemberStatus.model_validate(body.get("status") or {}).binding
        organization = spec.organization_ref.name
        written = (metadata.get("annotations") or {}).get(CREATED_AT_ANNOTATION)
        return cls(
            name=name,
            namespace=namespace,
            organization=organization,
            id=object_id("u", name, organization),
            display_name=spec.name,
            email=spec.email.lower(),
            role=spec.role,
            person=(binding.issuer, binding.subject) if binding else None,
            bound_at=binding.at if binding else None,
            created_at=parse_timestamp(written or metadata["creationTimestamp"]),
            manager=manager_of(metadata),
        )

    @property
    def key(self) -> Key:
        return self.namespace, self.name


class MemberDirectory:
    """All members of the cluster."""

    def __init__(self, client: KubeClient, watcher: KubeClient) -> None:
        self._client = client
        self._members: dict[Key, Member] = {}
        self._of_person: defaultdict[Person, set[Key]] = defaultdict(set)
        self._of_email: defaultdict[str, set[Key]] = defaultdict(set)
        self._of_organization: defaultdict[str, set[Key]] = defaultdict(set)
        self.informer = Informer(watcher, MEMBER, self._apply, silence_s=SILENCE_S)

    def of_person(self, person: Person) -> list[Member]:
        """In no organization twice, unless somebody made two Members of one e-mail address there."""
        return self._sorted(self._of_person.get(person, ()))

    def with_email(self, email: str) -> list[Member]:
        return self._sorted(self._of_email.get(email.lower(), ()))

    def of_organization(self, organization: str) -> list[Member]:
        return self._sorted(self._of_organization.get(organization, ()))

    def known(self, namespace: str, name: str) -> Member | None:
        """By the place of its object."""
        return self._members.get((namespace, name))

    async def current(self, member: Member) -> Member | None:
        """The member as it is now: read from the cluster while no watch keeps the copy fresh. Raises KubeError."""
        if not self.informer.connected:
            try:
                self.informer.observe(await self._client.get(MEMBER, member.name, member.namespace))
            except KubeNotFound:
                self.informer.forget({"metadata": {"namespace": member.namespace, "name": member.name}})
        return self._members.get(member.key)

    def _sorted(self, keys: Iterable[Key]) -> list[Member]:
        return sorted((self._members[key] for key in keys), key=lambda member: (member.display_name, member.key))

    def _apply(self, change: str, body: JsonObject) -> None:
        key = key_of(body)
        before = self._members.pop(key, None)
        if before is not None:
            _discard(self._of_email, before.email, key)
            _discard(self._of_organization, before.organization, key)
            if before.person is not None:
                _discard(self._of_person, before.person, key)
        if change == "DELETE":
            return
        try:
            member = Member.parse(body)
        except ValueError as error:
            logger.warning("member.unreadable", extra={"member": key[1], "reason": str(error)})
            return
        self._members[key] = member
        self._of_email[member.email].add(key)
        self._of_organization[member.organization].add(key)
        if member.person is not None:
            self._of_person[member.person].add(key)


def _discard(index: defaultdict[_Of, set[Key]], at: _Of, key: Key) -> None:
    index[at].discard(key)
    if not index[at]:
        del index[at]
