"""Which Events the controllers ask for: of members, keys, templates and organizations, each change of state once."""

import asyncio
import copy
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_crds import merge_patch
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import API_KEY, MEMBER, NAMESPACE, ORGANIZATION, TEMPLATE, Kind
from checklist_crds.pausing import PAUSED_ANNOTATION
from checklist_operator.controllers.members import Members
from checklist_operator.controllers.organizations import Organizations
from checklist_operator.controllers.templates import Templates
from checklist_operator.kube_events import ObjectReference
from checklist_operator.tenancy import Tenancy
from checklist_operator.timers import Timers
from checklist_operator.work_queue import WorkQueue

HOME = "checklists"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def clock() -> datetime:
    return NOW


class Told(list[tuple[str, str, str, str]]):
    """In place of the recorder: (type, kind, reason, message) of what it was given."""

    def tell(self, this: ObjectReference, reason: str, message: str) -> None:
        self.append(("Normal", this.kind.kind, reason, message))

    def warn(self, this: ObjectReference, reason: str, message: str) -> None:
        self.append(("Warning", this.kind.kind, reason, message))

    @property
    def reasons(self) -> list[str]:
        """Since the last look."""
        found = [f"{type_} {reason}" for type_, _, reason, _ in self]
        self.clear()
        return found


class Cluster:
    """Objects by kind and name; each write is a new resourceVersion, another spec a new generation."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], JsonObject] = {}

    def put(self, kind: Kind, name: str, spec: Mapping[str, Any], **annotations: str) -> JsonObject:
        before = self.objects.get((kind.kind, name), {})
        was = before.get("metadata", {"generation": 0, "resourceVersion": "0"})
        metadata = {
            "name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-11-01T00:00:00Z",
            "annotations": annotations, "labels": was.get("labels", {}),
            "generation": was["generation"] + (before.get("spec") != spec),
            "resourceVersion": str(int(was["resourceVersion"]) + 1),
        }  # fmt: skip
        if kind.namespaced:
            metadata["namespace"] = HOME
        self.objects[kind.kind, name] = {"metadata": metadata, "spec": dict(spec), "status": before.get("status", {})}
        return self.objects[kind.kind, name]

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> JsonObject:
        if (kind.kind, name) not in self.objects:
            raise KubeNotFound(name)
        return copy.deepcopy(self.objects[kind.kind, name])

    async def create(self, kind: Kind, body: Mapping[str, Any], namespace: str | None = None) -> JsonObject:
        self.objects[kind.kind, body["metadata"]["name"]] = dict(body)
        return dict(body)

    async def patch(
        self, kind: Kind, name: str, patch: Mapping[str, Any], namespace: str | None = None, **_: Any
    ) -> JsonObject:
        body = self.objects[kind.kind, name] = merge_patch.apply(await self.get(kind, name), patch)
        body["metadata"]["resourceVersion"] = str(int(body["metadata"]["resourceVersion"]) + 1)
        return copy.deepcopy(body)

    async def patch_status(
        self, kind: Kind, name: str, patch: Mapping[str, Any], namespace: str | None = None, **_: Any
    ) -> JsonObject:
        return await self.patch(kind, name, {"status": patch}, namespace)


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.put(NAMESPACE, HOME, {})
    return made


@pytest.fixture
def told() -> Told:
    return Told()


async def settled(queue: WorkQueue[Any]) -> None:
    while not queue.is_idle:
        await asyncio.sleep(0)


def never(_: str) -> None:
    raise AssertionError("a bug was met")


def organizations(cluster: Cluster, told: Told) -> Organizations:
    return Organizations(
        cluster, None, Timers(clock), events=told, clock=clock, installation_namespace=HOME,  # type: ignore[arg-type]
        pending_after_s=30, on_change=lambda _: None, on_bug=never,
    )  # fmt: skip


def quota(cluster: Cluster, used: int, period: str, *, limit: int | None = 5) -> JsonObject:
    """The organization as it is with this count."""
    body = cluster.put(ORGANIZATION, "acme", {"displayName": "Acme", "plan": {"runsPerMonth": limit}})
    body["status"] = {**body["status"], "quota": {"period": period, "used": used, "pending": {}}}
    return copy.deepcopy(body)


async def test_a_used_up_quota_is_told_once_a_month_however_often_the_organization_is_seen(
    cluster: Cluster, told: Told
) -> None:
    acme = organizations(cluster, told)
    acme.observe("ADDED", quota(cluster, 4, "2026-11"))
    assert told.reasons == []
    for _ in range(3):
        acme.observe("MODIFIED", quota(cluster, 5, "2026-11"))
    assert [one[2] for one in told] == ["QuotaExceeded"]
    assert told[0][0] == "Warning"
    assert "All 5 runs of 2026-11 are used up" in told[0][3]
    told.clear()
    acme.observe("MODIFIED", quota(cluster, 1, "2026-12"))
    assert told.reasons == []
    acme.observe("MODIFIED", quota(cluster, 5, "2026-12"))
    assert told.reasons == ["Warning QuotaExceeded"]
    await acme.queue.close()


async def test_another_limit_that_is_used_up_is_told_in_the_same_month_and_one_that_is_not_is_not(
    cluster: Cluster, told: Told
) -> None:
    acme = organizations(cluster, told)
    acme.observe("MODIFIED", quota(cluster, 5, "2026-11"))
    assert told.reasons == ["Warning QuotaExceeded"]
    acme.observe("MODIFIED", quota(cluster, 5, "2026-11", limit=8))
    acme.observe("MODIFIED", quota(cluster, 5, "2026-11", limit=None))
    assert told.reasons == []
    acme.observe("MODIFIED", quota(cluster, 8, "2026-11", limit=8))
    assert told.reasons == ["Warning QuotaExceeded"]
    await acme.queue.close()


async def test_an_operator_that_starts_tells_of_no_quota_that_was_used_up_before(cluster: Cluster, told: Told) -> None:
    acme = organizations(cluster, told)
    acme.observe(None, quota(cluster, 5, "2026-11"))
    acme.observe("MODIFIED", quota(cluster, 5, "2026-11"))
    assert told.reasons == []
    await acme.queue.close()


async def test_an_organization_without_its_namespace_is_told_of_and_so_is_that_it_has_one_again(
    cluster: Cluster, told: Told
) -> None:
    acme = organizations(cluster, told)

    async def see(namespace: str | None, **annotations: str) -> list[str]:
        acme.observe(
            "MODIFIED", cluster.put(ORGANIZATION, "acme", {"displayName": "A", "namespace": namespace}, **annotations)
        )
        await settled(acme.queue)
        return told.reasons

    assert await see(HOME) == []
    assert await see("elsewhere") == ["Warning NamespaceNotFound"]
    assert await see("elsewhere") == []
    assert await see(HOME) == ["Normal Ready"]
    assert await see(HOME, **{PAUSED_ANNOTATION: "true"}) == ["Normal Paused"]
    assert await see(HOME) == ["Normal Resumed"]
    await acme.queue.close()


@pytest.fixture
def seen(cluster: Cluster, told: Told) -> Callable[..., Any]:
    """`await seen(KIND, spec)`: what is told of when an object of this kind is seen to be so."""
    members = Members(
        cluster, Tenancy(cluster, HOME), events=told, clock=clock, on_bug=never  # type: ignore[arg-type]
    )  # fmt: skip

    async def see(kind: Kind, organization: str, **spec: Any) -> list[str]:
        body = cluster.put(kind, "ada", {"organizationRef": {"name": organization}, **spec})
        members.observe(kind, "MODIFIED", copy.deepcopy(body))
        await settled(members.queue)
        return told.reasons

    return see


@pytest.mark.parametrize("kind", [MEMBER, API_KEY], ids=lambda kind: kind.kind)
async def test_a_member_or_key_of_no_organization_is_told_of_once_and_again_when_it_is_well(
    cluster: Cluster, seen: Callable[..., Any], kind: Kind
) -> None:
    cluster.put(ORGANIZATION, "acme", {"displayName": "Acme"})
    assert await seen(kind, "acme") == []
    assert await seen(kind, "nobody") == ["Warning OrganizationNotFound"]
    assert await seen(kind, "nobody", name="the same") == []
    assert await seen(kind, "acme") == ["Normal Ready"]
    assert await seen(kind, "acme") == []


async def test_a_revoked_key_is_told_of_once(cluster: Cluster, seen: Callable[..., Any]) -> None:
    cluster.put(ORGANIZATION, "acme", {"displayName": "Acme"})
    assert await seen(API_KEY, "acme", revoked=True) == ["Warning Revoked"]
    assert await seen(API_KEY, "acme", revoked=True, name="another") == []


async def test_a_template_is_told_of_when_it_breaks_a_rule_and_when_it_no_longer_does(
    cluster: Cluster, told: Told
) -> None:
    templates = Templates(
        cluster, events=told, clock=clock, on_change=lambda *_: None, on_bug=never  # type: ignore[arg-type]
    )  # fmt: skip
    step = {"id": "s-1", "type": "boolean", "label": "Done?"}
    valid = [{"id": "g-1", "title": "One", "steps": [step]}]
    invalid = [*valid, {"id": "g-2", "title": "Two", "steps": [step]}]

    async def see(sections: list[Any], **annotations: str) -> list[str]:
        spec = {"organizationRef": {"name": "acme"}, "name": "Round", "sections": sections}
        templates.observe("MODIFIED", copy.deepcopy(cluster.put(TEMPLATE, "round", spec, **annotations)))
        await settled(templates.queue)
        return told.reasons

    assert await see(valid) == []
    assert await see(invalid) == ["Warning Invalid"]
    assert await see(invalid) == []
    assert await see(valid) == ["Normal Valid"]
    assert await see(valid, **{PAUSED_ANNOTATION: "true"}) == ["Normal Paused"]
    assert await see(valid) == ["Normal Resumed"]
    await templates.queue.close()
