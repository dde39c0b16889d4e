"""The audit trail has everything that happens, in the list and in the export."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.contract.conftest import Api, StartApi, shared_api
from tests.contract.dashboard_client import Desk, at_desk
from tests.contract.delivery_stories import completed_story, five_failures
from tests.contract.executor_client import error_of
from tests.unit.kube.memory_cluster import NO_CLUSTER
from tests.waiting import eventually

from checklist_api.audit.index import AuditFilter, AuditIndex
from checklist_api.organizations.directory import Organization
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError, KubeGone, KubeInvalid, KubeUnavailable
from checklist_crds.resources.audit_entry import Actor, ActorKind, AuditEntrySpec, AuditTarget
from checklist_crds.resources.base import OrganizationRef
from checklist_crds.resources.kinds import API_KEY, AUDIT_ENTRY, MEMBER, Kind
from checklist_crds.times import parse_timestamp

api = shared_api


async def _entries(desk: Desk, query: str = "") -> list[dict[str, Any]]:
    return list((await desk.read(f"/audit{query}"))["data"])


def _no_room_for(unwanted: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects of that kind cannot be made until `monkeypatch.undo()`."""
    create = KubeClient.create

    async def create_others(self: KubeClient, kind: Kind, *args: Any, **kwargs: Any) -> Any:
        if kind == unwanted:
            raise KubeUnavailable("no room")
        return await create(self, kind, *args, **kwargs)

    monkeypatch.setattr(KubeClient, "create", create_others)


async def test_an_entry_is_immutable(api: Api) -> None:
    desk = await at_desk(api, name="Grace Hopper")
    made = await desk.post("/keys", {"name": "export"}, **{"X-Request-Id": "req-of-the-test"})
    [entry] = await _entries(desk)
    assert entry == {
        "id": entry["id"],
        "at": entry["at"],
        "actor": {"kind": "member", "id": desk.member_id, "name": "Grace Hopper", "email": desk.person.email},
        "action": "api_key.created",
        "outcome": "done",
        "target": {"kind": "api_key", "id": made.json()["id"], "name": "export"},
        "details": {},
        "request_id": "req-of-the-test",
        "address": "127.0.0.1",
    }
    with pytest.raises(KubeInvalid, match="immutable"):
        await api.kube.patch(AUDIT_ENTRY, entry["id"], {"spec": {"action": "api_key.other"}}, api.namespace)


async def test_what_cannot_be_written_down_does_not_happen(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, other = await at_desk(api), await at_desk(api)
    keys = [body["metadata"]["name"] for body in await api.all_of(API_KEY)]
    _no_room_for(AUDIT_ENTRY, monkeypatch)
    assert error_of(await desk.post("/keys", {"name": "export"})) == (503, "service_unavailable")
    assert error_of(await desk.delete(f"/members/{other.member_id}")) == (503, "service_unavailable")
    monkeypatch.undo()
    assert [body["metadata"]["name"] for body in await api.all_of(API_KEY)] == keys
    assert len((await desk.read("/members"))["data"]) == 3


async def test_a_failed_act_has_its_entry_and_a_refused_one_none(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await at_desk(api)
    await desk.post("/keys", {"name": ""})
    await desk.delete(f"/members/{desk.member_id}")
    await desk.post("/keys/key-unknown/revoke")
    assert await _entries(desk) == []
    _no_room_for(API_KEY, monkeypatch)
    assert (await desk.post("/keys", {"name": "export"})).status_code == 503
    monkeypatch.undo()
    failed, announced = await _entries(desk)
    assert (announced["outcome"], failed["outcome"]) == ("done", "failed")
    assert failed["details"] == {"reason": "service_unavailable", "announced": announced["id"]}
    assert failed["action"] == announced["action"]
    assert await _entries(desk, "?outcome=failed") == [failed]


async def test_entries_are_filtered_and_paged(api: Api) -> None:
    first, second = await at_desk(api, name="One"), await at_desk(api, name="Two")
    keys = [(await desk.post("/keys", {"name": desk.person.name})).json()["id"] for desk in (first, second, second)]
    await first.post(f"/keys/{keys[1]}/revoke")

    async def actions(query: str) -> list[str]:
        entries, export = await _entries(first, query), (await first.get(f"/audit/export{query}")).text
        assert [json.loads(line) for line in export.splitlines()] == entries[::-1]
        return [entry["action"].partition(".")[2] for entry in entries]

    assert await actions("") == ["revoked", "created", "created", "created"]
    assert await actions(f"?actor={second.member_id}") == ["created", "created"]
    assert await actions(f"?target={keys[1]}") == ["revoked", "created"]
    assert await actions("?action=api_key.revoked") == ["revoked"]
    assert await actions("?action=api_key") == ["revoked", "created", "created", "created"]
    assert await actions("?action=api") == []
    newest = (await _entries(first))[0]["at"]
    assert await actions(f"?before={newest}") == ["created"] * 3
    assert await actions(f"?after={newest}") == []
    paged = await first.read("/audit?per_page=3&page=2")
    assert (len(paged["data"]), paged["pagination"]["total"], paged["complete"]) == (1, 4, True)
    for wrong in ("after=yesterday", "outcome=maybe"):
        assert error_of(await first.get(f"/audit?{wrong}")) == (400, "invalid_parameter")


async def test_an_export_is_oldest_first_or_breaks_off(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await at_desk(await start_api())
    for name in "abcde":
        await desk.post("/keys", {"name": name})
    response = await desk.get("/audit/export")
    assert response.headers["Content-Type"].startswith("application/jsonl")
    assert response.headers["Content-Disposition"].startswith('attachment; filename="audit-')
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert lines == list(reversed(await _entries(desk)))
    assert [line["target"]["name"] for line in lines] == list("abcde")
    pages = KubeClient.pages
    errors: list[KubeError] = [KubeGone("too old")]

    async def breaking(self: KubeClient, kind: Kind, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async for page in pages(self, kind, *args, **{**kwargs, "page": 2}):
            yield page
            if kind == AUDIT_ENTRY and errors:
                raise errors.pop()

    monkeypatch.setattr(KubeClient, "pages", breaking)
    assert (await desk.get("/audit/export")).text == response.text
    assert errors == []
    errors.append(KubeUnavailable("gone away"))
    with pytest.raises(httpx.RemoteProtocolError):
        await desk.get("/audit/export")


async def test_another_replica_lists_the_entry_too_and_a_removed_member_stays_named(start_api: StartApi) -> None:
    first, second = await start_api(), await start_api()
    desk, gone = await at_desk(first), await at_desk(first, name="Soon gone")
    await gone.post("/keys", {"name": "export"})
    await first.kube.delete(MEMBER, gone.member_id, first.namespace)
    elsewhere = Desk(desk.person, second.anonymous, desk.headers)
    entries = await eventually(lambda: _entries(elsewhere))
    assert [entry["actor"]["name"] for entry in entries] == ["Soon gone"]


async def test_single_bulk_and_stopped_replays_are_recorded(api: Api) -> None:
    desk = await at_desk(api, "admin")
    story = await completed_story(api)
    event_id = await story.keeps(*five_failures())
    wanted = {"filter": {"status": "failed", "host": "hooks.example.com"}}
    await desk.post("/deliveries/replay", {**wanted, "dry_run": True})
    many = (await desk.post("/deliveries/replay", wanted)).json()["replay_id"]
    assert (await desk.delete(f"/deliveries/replays/{many}")).status_code == 204
    assert (await desk.delete(f"/deliveries/replays/{many}")).status_code == 404
    keyed = {"Idempotency-Key": "once"}
    for _ in range(2):
        assert (await desk.post(f"/deliveries/{event_id}/replay", **keyed)).status_code == 202
    assert error_of(await desk.post(f"/deliveries/{event_id}/replay")) == (409, "replay_refused")
    entries = [(entry["action"], entry["target"]["id"], entry["details"]) for entry in await _entries(desk)]
    assert entries[:-1] == [
        ("delivery.replayed", event_id, {"run_id": story.run_id}),
        ("replay.stopped", many, {"status": "pending"}),
        ("replay.created", many, {"status": "failed", "host": "hooks.example.com"}),
    ]


async def test_signing_in_and_out_is_recorded_in_each_organization(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await at_desk(api)
    invited = {"email": "grace@example.com", "name": "Grace Hopper", "role": "viewer"}
    made = (await desk.post("/members", invited)).json()
    secret = made["invitation"]["link"].partition("#link=")[2]
    page = {"Sec-Fetch-Site": "same-origin"}
    path, session = "/dashboard/api/sign-in/link", "/dashboard/api/session"
    entered = await api.anonymous.post(path, json={"secret": secret}, headers=page)
    assert entered.status_code == 200, entered.text
    cookie = {"Cookie": entered.headers["Set-Cookie"].partition(";")[0]}
    token = (await api.anonymous.get(session, headers=cookie)).json()["csrf_token"]
    own = {**cookie, **page, "X-CSRF-Token": token}

    _no_room_for(AUDIT_ENTRY, monkeypatch)
    assert (await api.anonymous.delete(session, headers=own)).status_code == 503
    monkeypatch.undo()
    assert (await api.anonymous.get(session, headers=own)).status_code == 200
    assert (await api.anonymous.delete(session, headers=own)).status_code in (200, 204)
    ended, started = await _entries(desk, "?action=session")
    assert (started["action"], started["details"]) == ("session.started", {"method": "link", "issuer": "local"})
    assert (ended["action"], ended["details"]) == ("session.ended", {"sessions": "1"})
    assert {entry["actor"]["id"] for entry in (started, ended)} == {made["id"]}
    assert {entry["target"]["name"] for entry in (started, ended)} == {"Grace Hopper"}
    assert secret not in (await desk.get("/audit/export")).text
    await api.anonymous.post(path, json={"secret": secret}, headers=page)
    assert len(await _entries(desk, "?action=session")) == 2, "refusals are not recorded"


def _body(organization: str, number: int) -> dict[str, Any]:
    spec = AuditEntrySpec(
        organization_ref=OrganizationRef(name=organization),
        at=parse_timestamp(f"2026-11-21T10:00:{number % 60:02}.{number:03}Z"),
        actor=Actor(kind=ActorKind.API_KEY, id="key-1", name="export"),
        action="run.cancelled",
        target=AuditTarget(kind="run", id=f"r-{number}"),
    )
    name = f"aud-{organization}-{number:04}"
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": str(number + 1)}, "spec": spec.to_kube()}


def test_the_index_keeps_the_newest_of_each_organization_and_says_what_it_let_go() -> None:
    index = AuditIndex(NO_CLUSTER, max_per_organization=5, max_total=8)
    busy, quiet = (Organization(name, name, name, ("ns",), None) for name in ("busy", "quiet"))
    for number in range(3):
        index.observe(_body("quiet", number + 50))
    for number in range(20):
        index.observe(_body("busy", number))
    total, entries = index.page(busy, AuditFilter(), offset=0, limit=100)
    assert (total, [entry["target"]["id"] for entry in entries]) == (5, [f"r-{n}" for n in (19, 18, 17, 16, 15)])
    assert (index.page(quiet, AuditFilter(), offset=0, limit=1)[0], index.is_complete(quiet)) == (3, True)
    assert not index.is_complete(busy)
    assert len(index.informer._versions) == 8
    index.close()
