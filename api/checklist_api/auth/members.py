"""Members of all organizations. A watch keeps the cache current, so that a revoked role takes effect within a second.

A person is (issuer, subject); the first sign-in with the invited e-mail address binds a Member to a person
(`MemberStatus.binding`). A person has one Member in each of their organizations.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import SILENCE_S, Informer
from checklist_crds.resources.base import CREATED_AT_ANNOTATION
from checklist_crds.resources.kinds import MEMBER, Key, key_of
from checklist_crds.resources.management import Manager, manager_of
from checklist_crds.resources.organization import MemberSpec, MemberStatus, Role
from checklist_crds.times import parse_timestamp
from checklist_crds.values.json_text import JsonObject

logger = logging.getLogger(__name__)

_Of = TypeVar("_Of")
Person = tuple[str, str]
"""(issuer, subject)"""


@dataclass(frozen=True, slots=True)
class Member:
    """A parsed Member."""

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
    """The bound person; None before the first sign-in."""
    bound_at: datetime | None
    created_at: datetime
    manager: Manager | None
    """External manager of the object (GitOps); None if the dashboard may change it."""

    @classmethod
    def parse(cls, body: JsonObject) -> "Member":
        """Parse an object. Raises pydantic.ValidationError, ValueError."""
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
    def __init__(self, client: KubeClient, watcher: KubeClient) -> None:
        self._client = client
        self._members: dict[Key, Member] = {}
        self._of_person: defaultdict[Person, set[Key]] = defaultdict(set)
        self._of_email: defaultdict[str, set[Key]] = defaultdict(set)
        self._of_organization: defaultdict[str, set[Key]] = defaultdict(set)
        self.informer = Informer(watcher, MEMBER, self._apply, silence_s=SILENCE_S)

    def of_person(self, person: Person) -> list[Member]:
        """Return the person's members; duplicates within an organization are possible for Members made with kubectl."""
        return self._sorted(self._of_person.get(person, ()))

    def with_email(self, email: str) -> list[Member]:
        return self._sorted(self._of_email.get(email.lower(), ()))

    def of_organization(self, organization: str) -> list[Member]:
        return self._sorted(self._of_organization.get(organization, ()))

    def known(self, namespace: str, name: str) -> Member | None:
        """Return the member from the cache."""
        return self._members.get((namespace, name))

    async def current(self, member: Member) -> Member | None:
        """Return the member, read from the cluster if the watch is broken. Raises KubeError."""
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
