"""The audit trail: nothing happens that it does not tell, in the list and in the export."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from checklist_api.audit_index import AuditFilter, AuditIndex, audit_view
from checklist_api.organizations import Organization
from checklist_crds.audit_types import Actor, ActorKind, AuditEntrySpec, AuditTarget, entry_name
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeGone, KubeInvalid, KubeUnavailable
from checklist_crds.kube.kinds import API_KEY, AUDIT_ENTRY, MEMBER, Kind
from checklist_crds.resource_types import OrganizationRef
from checklist_crds.times import parse_timestamp, utc_now

from .conftest import Api
from .dashboard_client import Desk, at_desk, error
from .delivery_stories import dispatched, five_failures


async def _entries(desk: Desk, query: str = "") -> list[dict[str, Any]]:
    return list((await desk.told(f"/audit{query}"))["data"])


async def test_an_entry_says_who_did_what_to_what_from_where(api: Api) -> None:
    desk = await at_desk(api, name="Grace Hopper")
    made = await desk.post("/keys", {"name": "export"}, **{"X-Request-Id": "req-of-the-test"})
    [entry] = await _entries(desk)
    assert entry["actor"] == {
        "kind": "member",
        "id": desk.member_id,
        "name": "Grace Hopper",
        "email": desk.person.email,
    }
    assert (entry["action"], entry["outcome"]) == ("api_key.created", "done")
    assert entry["target"] == {"kind": "api_key", "id": made.json()["id"], "name": "export"}
    assert (entry["request_id"], entry["address"]) == ("req-of-the-test", "127.0.0.1")


async def test_an_entry_can_be_changed_by_nobody(api: Api) -> None:
    desk = await at_desk(api)
    await desk.post("/keys", {"name": "export"})
    [entry] = await _entries(desk)
    with pytest.raises(KubeInvalid, match="immutable"):
        await api.kube.patch(AUDIT_ENTRY, entry["id"], {"spec": {"action": "api_key.other"}}, api.namespace)


async def test_what_cannot_be_written_down_does_not_happen(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await at_desk(api)
    create = KubeClient.create

    async def without_audit(self: KubeClient, kind: Kind, *args: Any, **kwargs: Any) -> Any:
        if kind == AUDIT_ENTRY:
            raise KubeUnavailable("no room")
        return await create(self, kind, *args, **kwargs)

    before, _ = await api.kube.list_all(API_KEY, api.namespace)
    monkeypatch.setattr(KubeClient, "create", without_audit)
    assert error(await desk.post("/keys", {"name": "export"})) == (503, "service_unavailable")
    assert error(await desk.delete(f"/members/{(await at_desk(api)).member_id}")) == (503, "service_unavailable")
    monkeypatch.undo()
    assert (await api.kube.list_all(API_KEY, api.namespace))[0] == before
    assert len((await desk.told("/members"))["data"]) == 3


async def test_an_act_that_fails_after_it_was_announced_is_told_as_failed(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = await at_desk(api)
    create = KubeClient.create

    async def without_keys(self: KubeClient, kind: Kind, *args: Any, **kwargs: Any) -> Any:
        if kind == API_KEY:
            raise KubeUnavailable("gone away")
        return await create(self, kind, *args, **kwargs)

    monkeypatch.setattr(KubeClient, "create", without_keys)
    assert (await desk.post("/keys", {"name": "export"})).status_code == 503
    monkeypatch.undo()
    failed, announced = await _entries(desk)
    assert (announced["outcome"], failed["outcome"]) == ("done", "failed")
    assert failed["details"] == {"reason": "no_answer", "announced": announced["id"]}
    assert {**failed, "target": None}["action"] == announced["action"]
    assert await _entries(desk, "?outcome=failed") == [failed]


async def test_what_is_refused_before_it_is_done_leaves_no_entry(api: Api) -> None:
    desk = await at_desk(api)
    await desk.post("/keys", {"name": ""})
    await desk.delete(f"/members/{desk.member_id}")
    await desk.post("/keys/key-nobody/revoke")
    assert await _entries(desk) == []


async def test_entries_are_filtered_and_paged(api: Api) -> None:
    first, second = await at_desk(api, name="One"), await at_desk(api, name="Two")
    keys = [(await desk.post("/keys", {"name": desk.person.name})).json()["id"] for desk in (first, second, second)]
    await first.post(f"/keys/{keys[1]}/revoke")

    async def actions(query: str) -> list[str]:
        return [entry["action"].partition(".")[2] for entry in await _entries(first, query)]

    assert await actions("") == ["revoked", "created", "created", "created"]
    assert await actions(f"?actor={second.member_id}") == ["created", "created"]
    assert await actions(f"?target={keys[1]}") == ["revoked", "created"]
    assert await actions("?action=api_key.revoked") == ["revoked"]
    assert await actions("?action=api_key") == ["revoked", "created", "created", "created"]
    assert await actions("?action=api") == []
    newest = (await _entries(first))[0]["at"]
    assert await actions(f"?before={newest}") == ["created"] * 3
    assert await actions(f"?after={newest}") == []
    paged = await first.told("/audit?per_page=3&page=2")
    assert (len(paged["data"]), paged["pagination"]["total"], paged["complete"]) == (1, 4, True)
    assert error(await first.get("/audit?after=yesterday")) == (400, "invalid_parameter")
    assert error(await first.get("/audit?outcome=maybe")) == (400, "invalid_parameter")


async def test_the_export_is_json_lines_with_the_oldest_first(api: Api) -> None:
    desk = await at_desk(api)
    for name in ("a", "b", "c"):
        await desk.post("/keys", {"name": name})
    response = await desk.get("/audit/export")
    assert response.headers["Content-Type"].startswith("application/jsonl")
    assert response.headers["Content-Disposition"].startswith('attachment; filename="audit-')
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert lines == list(reversed(await _entries(desk)))
    assert [line["target"]["name"] for line in lines] == ["a", "b", "c"]
    one = await desk.get(f"/audit/export?target={lines[1]['target']['id']}")
    assert [json.loads(line) for line in one.text.splitlines()] == [lines[1]]
    assert (await desk.get("/audit/export?actor=u-nobody")).text == ""


async def test_an_export_goes_on_where_a_list_of_the_cluster_grew_too_old(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = await at_desk(api)
    for name in "abcde":
        await desk.post("/keys", {"name": name})
    pages, broken = KubeClient.pages, []

    async def forgetful(self: KubeClient, kind: Kind, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        given = 0
        async for page in pages(self, kind, *args, **{**kwargs, "page": 2}):
            if kind == AUDIT_ENTRY and given == 1 and not broken:
                broken.append(True)
                raise KubeGone("too old")
            given += 1
            yield page

    monkeypatch.setattr(KubeClient, "pages", forgetful)
    exported = (await desk.get("/audit/export")).text.splitlines()
    assert broken
    assert [json.loads(line)["target"]["name"] for line in exported] == list("abcde")


async def test_an_export_that_breaks_in_the_middle_does_not_look_whole(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx

    desk = await at_desk(api)
    for name in "abc":
        await desk.post("/keys", {"name": name})
    pages = KubeClient.pages

    async def breaking(self: KubeClient, kind: Kind, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async for page in pages(self, kind, *args, **{**kwargs, "page": 1}):
            yield page
            if kind == AUDIT_ENTRY:
                raise KubeUnavailable("gone away")

    monkeypatch.setattr(KubeClient, "pages", breaking)
    with pytest.raises(httpx.RemoteProtocolError):
        await desk.get("/audit/export")


async def test_another_replica_lists_the_entry_too_and_a_removed_member_stays_named(start_api: Any) -> None:
    import asyncio

    first, second = await start_api(), await start_api()
    desk, gone = await at_desk(first), await at_desk(first, name="Soon gone")
    await gone.post("/keys", {"name": "export"})
    await first.kube.delete(MEMBER, gone.member_id, first.namespace)
    elsewhere = Desk(desk.person, second.anonymous, desk.headers)
    for _ in range(200):
        entries = await _entries(elsewhere)
        if entries:
            break
        await asyncio.sleep(0.01)
    assert [entry["actor"]["name"] for entry in entries] == ["Soon gone"]


async def test_replays_are_told_one_many_and_stopped(api: Api) -> None:
    desk = await at_desk(api, "admin")
    story = await dispatched(api)
    await story.completes()
    event_id = await story.keeps(*five_failures())
    wish = {"filter": {"status": "failed", "host": "hooks.example.com"}}
    await desk.post("/deliveries/replay", {**wish, "dry_run": True})
    many = (await desk.post("/deliveries/replay", wish)).json()["replay_id"]
    assert (await desk.delete(f"/deliveries/replays/{many}")).status_code == 204
    assert (await desk.delete(f"/deliveries/replays/{many}")).status_code == 404
    keyed = {"Idempotency-Key": "once"}
    for _ in range(2):
        assert (await desk.post(f"/deliveries/{event_id}/replay", **keyed)).status_code == 202
    assert error(await desk.post(f"/deliveries/{event_id}/replay")) == (409, "replay_refused")
    told = [(entry["action"], entry["target"]["id"], entry["details"]) for entry in await _entries(desk)]
    assert told[:-1] == [
        ("delivery.replayed", event_id, {"run_id": story.run_id}),
        ("replay.stopped", many, {"status": "pending"}),
        ("replay.created", many, {"status": "failed", "host": "hooks.example.com"}),
    ]


async def test_signing_in_and_out_is_told_to_each_organization_of_the_person(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = await at_desk(api)
    wish = {"email": "grace@example.com", "name": "Grace Hopper", "role": "viewer"}
    made = (await desk.post("/members", wish)).json()
    secret = made["invitation"]["link"].partition("#link=")[2]
    page = {"Sec-Fetch-Site": "same-origin"}
    path = "/dashboard/api/sign-in/link"
    entered = await api.anonymous.post(path, json={"secret": secret}, headers=page)
    assert entered.status_code == 200, entered.text
    cookie = {"Cookie": entered.headers["Set-Cookie"].partition(";")[0]}
    token = (await api.anonymous.get("/dashboard/api/session", headers=cookie)).json()["csrf_token"]
    own = {**cookie, **page, "X-CSRF-Token": token}

    create = KubeClient.create

    async def without_audit(self: KubeClient, kind: Kind, *args: Any, **kwargs: Any) -> Any:
        if kind == AUDIT_ENTRY:
            raise KubeUnavailable("no room")
        return await create(self, kind, *args, **kwargs)

    monkeypatch.setattr(KubeClient, "create", without_audit)
    assert (await api.anonymous.delete("/dashboard/api/session", headers=own)).status_code == 503
    monkeypatch.undo()
    assert (await api.anonymous.get("/dashboard/api/session", headers=own)).status_code == 200
    assert (await api.anonymous.delete("/dashboard/api/session", headers=own)).status_code in (200, 204)
    ended, started = await _entries(desk, "?action=session")
    assert (started["action"], started["details"]) == ("session.started", {"method": "link", "issuer": "local"})
    assert (ended["action"], ended["details"]) == ("session.ended", {"sessions": "1"})
    assert {entry["actor"]["id"] for entry in (started, ended)} == {made["id"]}
    assert {entry["target"]["name"] for entry in (started, ended)} == {"Grace Hopper"}
    assert secret not in (await desk.get("/audit/export")).text
    await api.anonymous.post(path, json={"secret": secret}, headers=page)
    assert len(await _entries(desk, "?action=session")) == 2, "what is refused is not told"


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


async def test_the_index_keeps_the_newest_of_each_organization_and_says_what_it_let_go(api: Api) -> None:
    index = AuditIndex(api.services.watcher, kept_of_one=5, kept_of_all=8)
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


def test_the_filter_of_the_export_means_what_that_of_the_list_means() -> None:
    entry = audit_view("aud-1", AuditEntrySpec.model_validate(_body("o", 7)["spec"]))
    assert AuditFilter(action="run", actor="key-1", target="r-7", outcome="done").takes(entry)
    for other in ({"action": "ru"}, {"actor": "key-2"}, {"target": "r-8"}, {"outcome": "failed"}):
        assert not AuditFilter(**other).takes(entry)
    at = parse_timestamp(entry["at"])
    assert not AuditFilter(after=at).takes(entry)
    assert not AuditFilter(before=at).takes(entry)


def test_names_of_entries_sort_by_time() -> None:
    now = utc_now()
    moments = [now.replace(microsecond=milliseconds * 1000) for milliseconds in range(0, 900, 7)]
    names = [entry_name(moment) for moment in moments]
    assert names == sorted(names)
    assert len(set(names)) == len(names)
