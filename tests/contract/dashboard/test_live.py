"""Streams of changes: of the viewer's organization alone, nothing lost, to those who may look and only to them."""

import asyncio
import socket
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.contract.conftest import ALL_NAMESPACES, Api, StartApi, key_object, shared_api, until
from tests.contract.dashboard_client import LiveViewer, at_desk, member_of, watching
from tests.contract.executor_client import WEBHOOK
from tests.waiting import WITHIN_S, eventually

from checklist_api.dashboard.live import routes as event_routes
from checklist_api.dashboard.live import stream as live_stream
from checklist_api.dashboard.live.live_changes import LiveChange, LiveKind
from checklist_api.dashboard.live.stream import LiveStream
from checklist_api.dashboard.sessions.store import object_name
from checklist_crds.resources.kinds import API_KEY, DASHBOARD_SESSION, MEMBER, NAMESPACE
from checklist_crds.secrets.digest import digest
from checklist_dev.local.people import Person, make_member

api = shared_api


async def _person(api: Api, role: str = "viewer") -> Person:
    return await member_of(api, role)


@asynccontextmanager
async def following(api: Api, person: Person) -> AsyncIterator[LiveViewer]:
    async with watching(api, person) as viewer:
        await viewer.until("reset")
        yield viewer


async def test_a_stream_begins_with_a_reset_and_beats(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_routes, "LiveStream", partial(LiveStream, beat_s=0.2))
    async with watching(api, await _person(api)) as viewer:
        headers = viewer.response.headers
        assert (viewer.response.status, headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
        assert (headers["X-Accel-Buffering"], headers["Cache-Control"]) == ("no", "no-store, no-transform")
        assert "Content-Encoding" not in headers
        assert (await viewer.next()).name == "reset"
        assert viewer.last_id
        for _ in range(2):
            await viewer.until("beat", within_s=30)
    assert "checklists_live_viewers " in (await api.anonymous.get("/metrics")).text


async def test_changes_of_every_kind_are_sent_those_of_keys_and_members_to_administrators_only(api: Api) -> None:
    desk, editor = await at_desk(api, "admin"), await _person(api, "editor")
    async with following(api, desk.person) as viewer, following(api, editor) as editors:
        template = (await api.account.create_template())["id"]
        assert await viewer.change_of("template") == {"kind": "template", "id": template, "change": "changed"}
        run_id = (await api.account.dispatch(template, webhook=WEBHOOK))["run_id"]
        progress = {"total": 1, "answered": 0, "skipped": 0}
        seen = await viewer.change_of("run")
        assert seen == {
            "kind": "run",
            "id": run_id,
            "change": "changed",
            "status": "pending",
            "progress": progress,
            "flagged": 0,
        }
        assert (await desk.post(f"/runs/{run_id}/cancel")).status_code == 200
        last: dict[str, dict[str, Any]] = {"run": seen}
        async with asyncio.timeout(WITHIN_S):
            while last["run"]["status"] != "cancelled" or "delivery" not in last:
                last |= {change["kind"]: change for change in (await viewer.next()).changes}
        assert (last["delivery"]["run_id"], last["delivery"]["status"]) == (run_id, "pending")
        assert last["delivery"]["id"].startswith("evt-")
        assert (await desk.post("/deliveries/replay", {"filter": {"status": "failed"}})).status_code == 202
        replay = await viewer.change_of("replay")
        assert (replay["change"], replay["status"]) == ("changed", "pending")
        key = key_object("cds_live_" + "k" * 32, api.organization, api.namespace)
        name = key["metadata"]["name"]
        await api.kube.create(API_KEY, key, api.namespace)
        assert await viewer.change_of("key") == {"kind": "key", "id": name, "change": "changed"}
        await api.kube.delete(API_KEY, name, api.namespace)
        assert await viewer.change_of("key") == {"kind": "key", "id": name, "change": "gone"}
        member = await make_member(api.kube, organization=api.organization, namespace=api.namespace, role="viewer")
        assert await viewer.change_of("member") == {"kind": "member", "id": member, "change": "changed"}
        await api.kube.delete(MEMBER, member, api.namespace)
        assert await viewer.change_of("member") == {"kind": "member", "id": member, "change": "gone"}
        assert (await api.http.delete(f"/v1/templates/{template}")).status_code == 204
        assert await viewer.change_of("template") == {"kind": "template", "id": template, "change": "gone"}
        seen_by_editor = await editors.all_until("run", await api.account.new_run())
        assert {change["kind"] for change in seen_by_editor} == {"template", "run", "delivery", "replay"}


async def test_no_change_of_another_organization_is_sent(api: Api) -> None:
    other = await api.make_account()
    theirs = await member_of(api, "admin", account=other)
    ours = await _person(api, "admin")
    async with following(api, ours) as viewer, following(api, theirs) as foreign:
        foreign_runs = [await other.new_run(webhook=WEBHOOK) for _ in range(3)]
        await other.http.post(f"/v1/runs/{foreign_runs[0]}/cancel")
        await make_member(api.kube, organization=other.organization, namespace=other.namespace, role="viewer")
        own = await api.account.new_run()
        last = await other.new_run()
        seen = {change["id"] for change in await viewer.all_until("run", own)}
        foreign_seen = {change["id"] for change in await foreign.all_until("run", last)}
        assert own in seen
        assert {*foreign_runs, last} <= foreign_seen
        assert seen & foreign_seen == set()
        # Where the other organization's stream stands is nothing to us.
        foreign_id = foreign.last_id
    async with watching(api, ours, last_event_id=foreign_id) as viewer:
        assert (await viewer.next()).name == "reset"


async def test_a_change_of_an_object_that_only_claims_the_organization_is_not_sent(start_api: StartApi) -> None:
    """In a namespace that is not its own, an editor of that namespace could make it say anything."""
    api = await start_api(**ALL_NAMESPACES)
    foreign = f"test-{uuid.uuid4().hex[:12]}"
    await api.kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": foreign}})
    async with following(api, await _person(api, "admin")) as viewer:
        await make_member(api.kube, organization=api.organization, namespace=foreign, role="admin")
        seen = await viewer.all_until("run", await api.account.new_run())
        assert "member" not in {change["kind"] for change in seen}


async def test_what_happened_between_two_connections_is_sent_exactly_once(api: Api) -> None:
    person = await _person(api)
    async with following(api, person) as viewer:
        before = await api.account.new_run()
        await viewer.all_until("run", before)
        last_id = viewer.last_id
    missed = [await api.account.new_run() for _ in range(5)]
    # A browser comes back with the header; a page that opens another stream has the query only.
    for connect in (partial(watching, last_event_id=last_id), partial(watching, query={"last_event_id": last_id})):
        async with connect(api, person) as viewer:
            seen = await viewer.all_until("run", missed[-1])
            assert [change["id"] for change in seen if change["kind"] == "run"] == missed
            assert "reset" not in {said.name for said in viewer.seen}


async def test_an_id_that_is_no_good_leads_to_a_reset(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api = await start_api()
    person = await _person(api)
    async with following(api, person) as viewer:
        last_id = viewer.last_id
    async with watching(await start_api(), person, last_event_id=last_id) as second:
        assert (await second.next()).name == "reset"
    epoch = last_id.partition(".")[0]
    for wrong in ("nonsense", f"{epoch}.", f"{epoch}.-1", f"{epoch}.999999", f"{epoch}.{'9' * 50}", "0" * 5000):
        async with watching(api, person, last_event_id=wrong) as viewer:
            assert (await viewer.until("reset")).name == "reset"
    channel = api.services.live._channels[api.organization]
    monkeypatch.setattr(channel._recent, "_kept", 3)
    for _ in range(3):
        await api.account.new_run()
    async with watching(api, person, last_event_id=last_id) as viewer:
        assert (await viewer.until("reset")).name == "reset"


async def test_a_role_a_membership_or_a_session_that_ends_ends_its_stream_within_a_second(api: Api) -> None:
    demoted, removed, out, stays = [await _person(api, role) for role in ("admin", "viewer", "viewer", "viewer")]
    async with AsyncExitStack() as stack:
        viewers = [await stack.enter_async_context(following(api, each)) for each in (demoted, removed, out, stays)]
        await api.kube.patch(MEMBER, demoted.member_id, {"spec": {"role": "viewer"}}, api.namespace)
        assert await viewers[0].end() == "access"
        await api.kube.delete(MEMBER, removed.member_id, api.namespace)
        assert await viewers[1].end() == "access"
        session = object_name(digest(out.secret))
        await api.kube.delete(DASHBOARD_SESSION, session, api.namespace)
        assert await viewers[2].end() == "session"
        await viewers[3].all_until("run", await api.account.new_run())
    async with watching(api, removed) as viewer:
        assert viewer.response.status == 404


async def test_streams_do_not_hold_up_the_end_of_the_process(start_api: StartApi) -> None:
    api = await start_api()
    person = await _person(api)
    async with following(api, person) as viewer:
        api.services.live.close()
        assert await viewer.end() == "shutdown"
    async with watching(api, person) as viewer:
        assert (viewer.response.status, viewer.response.headers["Retry-After"]) == (503, "10")


async def test_a_viewer_that_does_not_read_is_bounded_and_dropped(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    transports: list[asyncio.Transport] = []
    bound = live_stream.bound_kernel_memory
    monkeypatch.setattr(live_stream, "bound_kernel_memory", lambda each: (transports.append(each), bound(each)))
    monkeypatch.setattr(event_routes, "LiveStream", partial(LiveStream, beat_s=0.3, unread_s=1.5))
    person = await _person(api)
    with _line_without_reader(api, person) as line:
        [transport] = await eventually(lambda: transports)
        most, started = 0, time.monotonic()
        while not transport.is_closing():
            for number in range(900):
                change = LiveChange(LiveKind.RUN, f"r-{number}", api.namespace, more={"status": "x" * 50})
                api.services.live.add(api.organization, change)
            await asyncio.sleep(0.05)
            most = max(most, transport.get_write_buffer_size())
            assert time.monotonic() - started < 60
        # One batch of all that is remembered may come on top of what it has to read first.
        assert 0 < most < 512 * 1024
        assert line.fileno() >= 0
    slow = 'checklists_live_streams_ended_total{reason="slow"} 1.0'
    assert slow in (await api.anonymous.get("/metrics")).text


def _line_without_reader(api: Api, person: Person) -> socket.socket:
    """A connection that asked for the stream and reads nothing, with hardly any room in the kernel."""
    address = urlsplit(api.base_url)
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect((address.hostname, address.port))
    head = (
        f"GET /dashboard/api/{person.organization_id}/events HTTP/1.1\r\nHost: x\r\nCookie: {person.headers['Cookie']}"
    )
    line.sendall(f"{head}\r\n\r\n".encode())
    return line


async def test_frequent_changes_are_coalesced_to_a_few_a_second_and_the_newest_comes_last(api: Api) -> None:
    person = await _person(api)
    async with following(api, person) as viewer:
        for number in range(200):
            change = LiveChange(LiveKind.RUN, "r-one", api.namespace, more={"status": str(number)})
            api.services.live.add(api.organization, change)
            await asyncio.sleep(0.005)
        seen = [(await viewer.change_of("run"))["status"]]
        while seen[-1] != "199":
            seen.append((await viewer.change_of("run"))["status"])
        assert len(seen) < 15


async def test_streams_are_limited_by_session_and_process(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api = await start_api()
    monkeypatch.setattr(event_routes, "STREAMS_OF_A_PROCESS", event_routes.STREAMS_OF_A_SESSION + 1)
    person, other, third = [await _person(api) for _ in range(3)]

    async def answer(someone: Person) -> tuple[int, str | None]:
        async with watching(api, someone) as viewer:
            return viewer.response.status, viewer.response.headers.get("Retry-After")

    async with AsyncExitStack() as stack:
        for _ in range(event_routes.STREAMS_OF_A_SESSION):
            viewer = await stack.enter_async_context(watching(api, person))
            assert viewer.response.status == 200
        assert await answer(person) == (429, "10")
        await stack.enter_async_context(watching(api, other))
        assert await answer(third) == (503, "10")

    await until(lambda: answer(person), lambda answered: answered == (200, None))
