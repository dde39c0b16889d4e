"""Searches the cluster for one person's runs, deliveries, replays and, if requested, their accounts."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace

from checklist_crds.ids import is_id, object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeGone
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import (
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
    DELIVERY_REPLAY,
    LOCAL_ACCOUNT,
    MEMBER,
    ORGANIZATION,
    RUN,
    WEBHOOK_DELIVERY,
    Kind,
    key_of,
)
from checklist_crds.resources.legal_hold import is_held
from checklist_crds.resources.organization import Role
from checklist_crds.resources.run_id import run_id_of, run_id_of_delivery
from checklist_crds.secrets.account_links import account_name
from checklist_crds.values.json_text import JsonObject

from ..backup.objects import organization_of
from ..console.command import CommandFailed
from ..console.progress import Progress
from .person import Person
from .search_result import FoundObject, FoundRun, Known, Organization, SearchResult, host_of

_TRIES = 5


@dataclass(slots=True)
class Identity:
    """The person's members and accounts in this installation."""

    person: Person
    members: list[FoundObject] = field(default_factory=list)
    """Members of the organization."""
    elsewhere: int = 0
    """Members of other organizations with the same address."""
    is_last_admin: bool = False
    accounts: list[FoundObject] = field(default_factory=list)
    """Local accounts and dashboard sessions."""


class ClusterSearch:
    """Methods raise KubeError."""

    def __init__(self, client: KubeClient, namespace: str, progress: Progress) -> None:
        """`namespace`: the default namespace of organizations without their own."""
        self._client = client
        self._namespace = namespace
        self._progress = progress

    async def organization(self, name: str) -> Organization:
        """The organization by object name or public id. Raises CommandFailed."""
        async for bodies, _ in self._client.pages(ORGANIZATION):
            for body in bodies:
                found = str(body["metadata"]["name"])
                if name in (found, object_id("org", found)):
                    namespace = str(body["spec"].get("namespace") or self._namespace)
                    return Organization(found, object_id("org", found), namespace, is_held(body))
        raise CommandFailed(f"there is no organization {name}")

    async def identity(self, organization: Organization, asked: Person, members: Iterable[str]) -> Identity:
        """Resolve the person: `members` (object names or public ids), members with one of the addresses, and the
        addresses of these members. Raises CommandFailed for an unknown member."""
        all_members = [body async for body in self._objects(MEMBER)]
        own = [body for body in all_members if organization_of(MEMBER, body) == organization.name]
        emails, ids, named = set(asked.emails), set(asked.members), set(members)
        for body in own:
            name = str(body["metadata"]["name"])
            if named & {name, object_id("u", name, organization.name)}:
                emails.add(_address(body))
                ids.add(object_id("u", name, organization.name))
                named -= {name, object_id("u", name, organization.name)}
        ids |= {member for member in named if is_id("u", member)}  # deleted since, but still in their runs
        if unknown := sorted(member for member in named if not is_id("u", member)):
            raise CommandFailed(f"{organization.name} has no member {', '.join(unknown)}")
        emails.discard("")
        meant = [body for body in own if _address(body) in emails]
        ids |= {object_id("u", str(body["metadata"]["name"]), organization.name) for body in meant}
        person = replace(asked, emails=frozenset(emails), members=frozenset(ids))
        admins = [body for body in own if body["spec"].get("role") == Role.ADMIN]
        identity = Identity(
            person=person,
            members=[_found(MEMBER, body) for body in meant],
            elsewhere=sum(
                _address(body) in emails for body in all_members if organization_of(MEMBER, body) != organization.name
            ),
            is_last_admin=bool(admins) and all(body in meant for body in admins),
        )
        names = {name for email in emails for name in (account_name(email), account_name(email, organization.name))}
        if emails:
            async for body in self._objects(LOCAL_ACCOUNT):
                labelled = (body["metadata"].get("labels") or {}).get(ORGANIZATION_LABEL, organization.name)
                if body["metadata"]["name"] in names and labelled == organization.name:
                    identity.accounts.append(_found(LOCAL_ACCOUNT, body))
            async for body in self._objects(DASHBOARD_SESSION):
                if person.is_address(body["spec"].get("email")):
                    identity.accounts.append(_found(DASHBOARD_SESSION, body))
        return identity

    async def search(self, result: SearchResult, person: Person, known: Known) -> None:
        """Add the person's runs to `result`."""
        async for body in self._objects(RUN):
            if organization_of(RUN, body) != result.organization.name:
                continue
            result.looked_at["live_runs"] += 1
            namespace, name = key_of(body)
            run_id, uid = run_id_of(body) or f"{namespace}/{name}", str(body["metadata"]["uid"])
            why = person.why(body)
            if not why and uid not in known.get(run_id, ()):
                if run_id in known:
                    result.strangers.add(run_id)
                continue
            result.live[run_id] = FoundRun(
                run_id=run_id,
                namespace=namespace,
                name=name,
                uid=uid,
                why=why,
                held=is_held(body),
                host=host_of((body["spec"].get("webhook") or {}).get("url")),
            )
            result.targets.add(run_id)

    async def search_deliveries(self, result: SearchResult, person: Person, known: Known) -> None:
        """Add their deliveries and replays to `result`. Call it after all runs were searched."""
        async for body in self._objects(WEBHOOK_DELIVERY):
            if organization_of(WEBHOOK_DELIVERY, body) != result.organization.name:
                continue
            result.looked_at["live_deliveries"] += 1
            run = run_id_of_delivery(body)
            if run in result.targets or run in known or person.why_delivered(body):
                result.objects.append(_found(WEBHOOK_DELIVERY, body, run))
                result.targets.add(run)
        ids = {(run.namespace, run.name): run.run_id for run in result.live.values()}
        async for body in self._objects(DELIVERY_REPLAY):
            if organization_of(DELIVERY_REPLAY, body) != result.organization.name:
                continue
            result.looked_at["replays"] += 1
            wanted = body["spec"].get("filter") or {}
            name = str((wanted.get("runRef") or {}).get("name") or "")
            run = str(wanted.get("runId") or ids.get((str(body["metadata"]["namespace"]), name), name))
            if run and (run in result.targets or run in known):
                result.objects.append(_found(DELIVERY_REPLAY, body, run))

    async def audit(self, organization: Organization, person: Person, runs: set[str]) -> Counter[str]:
        """Count audit entries with the person as actor, and as target or owner of the target run."""
        counted: Counter[str] = Counter()
        async for body in self._objects(AUDIT_ENTRY):
            spec = body["spec"]
            if spec["organizationRef"]["name"] != organization.name:
                continue
            actor, target = spec.get("actor") or {}, spec.get("target") or {}
            if person.is_address(actor.get("email")) or actor.get("id") in person.members:
                counted["as actor"] += 1
            elif target.get("id") in person.members | runs or person.is_address(target.get("name")):
                counted["as target, or of their runs"] += 1
        return counted

    async def _objects(self, kind: Kind) -> AsyncIterator[JsonObject]:
        """All objects of a kind, each once. A list that expires while it is read is started again."""
        seen = set[str]()
        for number in range(1, _TRIES + 1):
            try:
                async for bodies, _ in self._client.pages(kind):
                    for body in bodies:
                        uid = str(body["metadata"].get("uid"))
                        if uid not in seen:
                            seen.add(uid)
                            yield body
                    self._progress.now_and_then(lambda: f"{len(seen):,} {kind.plural} read")
                return
            except KubeGone:
                if number == _TRIES:
                    raise


def _found(kind: Kind, body: JsonObject, run_id: str = "") -> FoundObject:
    metadata = body["metadata"]
    return FoundObject(
        kind, str(metadata.get("namespace") or ""), str(metadata["name"]), str(metadata["resourceVersion"]), run_id
    )


def _address(member: JsonObject) -> str:
    return str(member["spec"].get("email") or "").strip().casefold()
