"""Every address gives the same bytes after a restore; and the stores in S3."""

import asyncio
import re
from collections.abc import Mapping
from datetime import timedelta

import httpx
import pytest
from aiohttp import web
from tests.contract.conftest import Account, definition
from tests.contract.pictures import picture

from checklist_api.wiring.routes import add_routes
from checklist_api.wiring.services import Services
from checklist_cli.backup.store import BackupStore
from checklist_cli.program import main
from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import DASHBOARD_SESSION, DELIVERY_REPLAY, RUN, WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.people import sign_in
from checklist_dev.perf.bench.waiting_deliveries import waiting_deliveries
from checklist_dev.programs.s3_server import S3Server

from .lab import Site, account_of, archive_run, execute, made_by_hand, simple_source, token_of

OF_THE_PROGRAM = {
    *("/", "/docs", "/docs/{name}", "/pages/{name}", "/r", "/r/", "/r/{run_id}", "/r/{folder}/{name}"),
    *("/dashboard", "/dashboard/{path}", "/v1/openapi.json", "/v1/openapi.yaml", "/healthz", "/readyz", "/metrics"),
    *("/.well-known/apple-app-site-association", "/.well-known/assetlinks.json"),
    *(f"/dashboard/api/sign-in{below}" for below in ("", "/oidc", "/oidc/callback")),
}
"""What they answer comes from no object and no store."""
Requests = list[tuple[str, Mapping[str, str]]]
"""Addresses, each with the headers of who asks."""
NEVER_ENDS = {"/dashboard/api/{org_id}/events"}
"""Server-sent events: what changes from now on."""


async def answers(base_url: str, requests: Requests) -> dict[str, tuple[int, dict[str, str], bytes]]:
    """Status, headers that speak of the content, and body: the bytes as they come."""
    found = {}
    async with httpx.AsyncClient(base_url=base_url, timeout=60, trust_env=False) as client:
        for path, headers in requests:
            response = await client.get(path, headers=headers)
            speaking = {
                name: response.headers[name]
                for name in ("content-type", "etag", "content-disposition", "cache-control", "location")
                if name in response.headers
            }
            body = re.sub(rb'"request_id":"req-[0-9a-f]+"', b'"request_id":"of this request"', response.content)
            found[path] = (response.status_code, speaking, body)
    return found


def served(services: Services) -> set[str]:
    """All addresses that answer GET, with names in braces where something stands for any."""
    app = web.Application()
    add_routes(app.router, services)
    return {
        re.sub(r"\{(\w+)[^}]*\}", r"{\1}", route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method == "GET"
    }


def is_met(address: str, paths: list[str]) -> bool:
    form = re.compile(re.sub(r"\\\{\w+\\\}", "[^/?]+", re.escape(address)) + r"(\?.*)?")
    return any(form.fullmatch(path) for path in paths)


async def made(source: Site, base_url: str) -> Requests:
    """An organization in which something of everything has happened, and every address that shows it."""
    account = await account_of(source, base_url, plan={"name": "small", "runsPerMonth": 50})
    person = await sign_in(source.kube, organization=account.organization, namespace=account.namespace)
    desk = httpx.AsyncClient(base_url=base_url, headers=person.headers, timeout=30, trust_env=False)
    csrf = (await desk.get("/dashboard/api/session")).json()["csrf_token"]
    desk.headers.update(person.csrf_headers(csrf))
    below = f"/dashboard/api/{person.organization_id}"

    with_photo = definition()
    photo_step = {"id": "s-photo", "type": "photo", "label": "Picture", "config": {"min": 1, "max": 3}}
    with_photo["sections"][0]["steps"].append(photo_step)
    template = str((await account.create_template(**with_photo))["id"])
    for name in ("second", "third"):
        response = await account.http.patch(f"/v1/templates/{template}", json={"name": name})
        assert response.status_code == 200, response.text
    other = (await account.create_template(name="Never changed"))["id"]
    hook = {"webhook": {"url": "http://127.0.0.1:1/hook", "secret": "a-secret-of-the-test", "events": ["*"]}}
    members = {"pending": {}, "begun": hook, "done": hook, "cancelled": {}, "expired": {"expires_in_hours": 0.0001}}
    pending, begun, done, cancelled, expired, archived = [
        await account.dispatch(template, executor_ref=ref, **more) for ref, more in {**members, "archived": {}}.items()
    ]
    image = {"Content-Type": "image/jpeg"}
    await execute(base_url, begun, "PUT", "/answers/s-clean", json={"value": False})
    for run in (done, archived):
        await execute(base_url, run, "PUT", "/answers/s-clean", json={"value": True})
        await execute(base_url, run, "POST", "/answers/s-photo/photos", content=picture(), headers=image)
        await execute(base_url, run, "POST", "/submit", json={})
    # By the dashboard: these leave entries in the audit trail.
    member = {"name": "Grace", "email": "grace@example.com", "role": "viewer"}
    for path, body in (
        (f"/runs/{cancelled['run_id']}/cancel", {"reason": "not today"}),
        ("/keys", {"name": "another"}),
        ("/members", member),
    ):
        response = await desk.post(below + path, json=body)
        assert response.status_code in (200, 201), response.text
    await desk.aclose()
    event_ids = await _deliveries(source, account, begun)
    replay = await _replay(source, account)
    await archive_run(source, account, str(archived["run_id"]))

    runs = [str(run["run_id"]) for run in (pending, begun, done, cancelled, expired, archived)]
    view = (await account.http.get(f"/v1/runs/{done['run_id']}")).json()
    photo = view["answers"]["s-photo"]["photos"][0]
    photo_id = photo["url"].partition("?")[0].rpartition("/")[2]
    photo_path = f"/runs/{done['run_id']}/photos/{photo_id}"
    both = [
        *("/templates", f"/templates/{template}", f"/templates/{other}", f"/templates/{template}/versions"),
        *(f"/templates/{template}/versions/{number}" for number in (1, 2, 3)),
        *("/runs", f"/runs?template_id={template}&per_page=2&page=2"),
        *(f"/runs?status={status}" for status in ("pending", "completed", "cancelled", "expired")),
        *(f"/runs/{run}{below}" for run in runs for below in ("", "/deliveries")),
        *(f"/runs/{done['run_id']}/export?format={kind}" for kind in ("json", "pdf")),
        *(f"/runs/{archived['run_id']}/export?format=pdf", photo_path, f"{photo_path}/thumbnail"),
        *(f"/exports?format={kind}" for kind in ("csv", "jsonl", "geojson")),
        *("/deliveries", "/deliveries?status=pending", *(f"/deliveries/{event_id}" for event_id in event_ids)),
        *("/deliveries/replays", f"/deliveries/replays/{replay}", "/endpoints", "/usage"),
    ]
    rest_alone = [
        *(f"/runs/{run}/link" for run in runs[:2]),
        *(f"/runs/{run}/answer-schema" for run in runs),
        f"/templates/{template}/answer-schema",
    ]
    desk_alone = [
        *(f"/runs/{run}/story" for run in runs),
        *(f"/runs/{run}/link" for run in runs[:2]),
        *(f"/templates/{other}/deletion", "/keys", "/members", "/audit", "/audit/export"),
        *("/overview", "/search?q=done"),
    ]
    signed = [photo[name].removeprefix("https://checklists.example") for name in ("url", "thumbnail_url")]
    await account.http.aclose()
    of_person = [*(below + path for path in (*both, *desk_alone)), "/dashboard/api/session", "/dashboard/api/sessions"]
    return [
        *((f"/v1{path}", {"Authorization": f"Bearer {account.key}"}) for path in (*both, *rest_alone)),
        *((path, person.headers) for path in of_person),
        *((path, {}) for path in (*(f"/v1/runs/{run}/preview" for run in runs), *signed)),
        *(
            (f"/v1/executor/runs/{run['run_id']}{below}", {"Authorization": f"Executor {token_of(run)}"})
            for run in (begun, done, cancelled)
            for below in ("", "/changes", *(["/receipt"] if run is done else []))
        ),
    ]


async def _deliveries(source: Site, account: Account, run: JsonObject) -> list[str]:
    """One that waits for its second attempt, one that failed for good."""
    body = await source.kube.get(RUN, str(run["run_id"]), account.namespace)
    event_ids = []
    for number, one in enumerate(waiting_deliveries([body], 2)):
        made: JsonObject = one.body
        made["metadata"]["namespace"] = account.namespace
        await source.kube.create(WEBHOOK_DELIVERY, made, account.namespace)
        status = one.waiting(utc_now() + timedelta(hours=1))
        if number:
            ended = format_timestamp(utc_now())
            status |= {"phase": "Failed", "settled": True, "nextAttemptAt": None, "finishedAt": ended}
        await source.kube.patch_status(WEBHOOK_DELIVERY, one.name, status, account.namespace)
        event_ids.append(one.name)
    return event_ids


async def _replay(source: Site, account: Account) -> str:
    name = new_id("rpl")
    body = made_by_hand(DELIVERY_REPLAY, name, account, account.namespace, filter={"phase": "Failed"})
    await source.kube.create(DELIVERY_REPLAY, body, account.namespace)
    status = {"phase": "Running", "total": 3, "done": 1, "delivered": 1, "startedAt": format_timestamp(utc_now())}
    await source.kube.patch_status(DELIVERY_REPLAY, name, status, account.namespace)
    return name


async def test_every_address_tells_the_same_bytes_after_a_restore(source: Site, target: Site, url: str) -> None:
    async with source.api() as base_url:
        requests = await made(source, base_url)
    moment = utc_now() + timedelta(seconds=2)
    async with source.api(clock=lambda: moment) as base_url:
        await source.services.archive.wait_until_loaded()
        before = await answers(base_url, requests)
        addresses = served(source.services)
    assert {path: one for path, one in before.items() if one[0] not in (200, 302, 410)} == {}
    unmet = {address for address in addresses if not is_met(address, list(before))}
    assert unmet <= OF_THE_PROGRAM | NEVER_ENDS, f"not compared: {unmet - OF_THE_PROGRAM - NEVER_ENDS}"
    assert addresses >= NEVER_ENDS  # the names above are those of real addresses

    taken = await source.backup(url)
    await target.restore(url)
    # People sign in again after a restore. That this session is the same one spares another bearer of the same name.
    [session] = (await source.kube.list_all(DASHBOARD_SESSION))[0]
    metadata = {"name": session["metadata"]["name"], "namespace": session["metadata"]["namespace"]}
    assert "dashboardsessions" not in taken.counts
    await target.kube.create(DASHBOARD_SESSION, {**session, "metadata": metadata}, target.namespace)
    async with target.api(clock=lambda: moment) as base_url:
        await target.services.archive.wait_until_loaded()
        after = await answers(base_url, requests)
    assert {path: (one, after[path]) for path, one in before.items() if after[path] != one} == {}


async def test_backup_verify_restore_and_prune(  # noqa: PLR0917 - fixtures
    source: Site,
    target: Site,
    home: str,
    s3: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in s3.settings(home).items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)  # clouds' credentials are looked for in the environment
    below = s3.settings(home)["CHECKLISTS_PHOTO_STORE"]
    source.elsewhere, target.elsewhere, url = f"{below}/source", f"{below}/target", f"{below}/backup"
    account, runs = await simple_source(source)
    kept, archived, erased = (str(run["run_id"]) for run in runs)
    for run_id in (kept, archived, erased):
        await source.stores.photos.put(f"photos/{run_id}/picture", run_id.encode() * 100)
    await archive_run(source, account, archived)
    assert len(await source.stored()) == 5  # three pictures, a part with its manifest

    await source.backup(url)
    await source.kube.delete(RUN, erased, source.namespace)
    store = source.stores.photos
    await store.delete([found.key async for found in store.listed(f"photos/{erased}")])
    second = await source.backup(url)
    assert second.copies is not None and (second.copies.photos, second.copies.archive) == (2, 2)
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 0
    assert await asyncio.to_thread(main, ["backup", "--prune", url, "--keep", "1"]) == 0
    printed = capsys.readouterr().out
    assert "copies: 1 removed" in printed and "copies kept: 4" in printed
    assert len(await BackupStore.open(url).names()) == 1
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 0

    result = await target.restore(url)
    assert result.copies is not None and result.copies.copied == 4
    assert await target.stored() == await source.stored()
    assert (await target.objects()).keys() == (await source.objects()).keys()
