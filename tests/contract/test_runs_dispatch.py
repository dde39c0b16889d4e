"""POST /v1/runs (specification, "Runs"; contract sections 5, 7 and 10)."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checklist_crds.ids import is_id, new_id
from checklist_crds.kube.kinds import ORGANIZATION, RUN, TEMPLATE, TEMPLATE_REVISION
from checklist_crds.pausing import PAUSED_ANNOTATION
from checklist_crds.run_types import Run, RunPhase
from checklist_crds.sealing import executor_token, run_owner
from checklist_crds.times import parse_timestamp, utc_now

from .conftest import WEBHOOK_SECRET, Api, StartApi

WEBHOOK = {"url": "https://Receiver.example:443/hook?x=1#part", "secret": WEBHOOK_SECRET, "events": ["*"]}


async def test_a_dispatch_answers_with_id_link_and_expiry(api: Api) -> None:
    template = await api.account.create_template()
    response = await api.http.post("/v1/runs", json={"template_id": template["id"], "expires_in_hours": 1.5})
    assert response.status_code == 201
    run = response.json()
    assert set(run) == {"run_id", "link", "expires_at", "assigned_to"}
    assert is_id("r", run["run_id"])
    token = executor_token(api.services.settings.server_key, run["run_id"])
    assert run["link"] == f"https://checklists.example/r/{run['run_id']}#{token}"
    assert run["assigned_to"] is None
    assert response.headers["Location"] == f"/v1/runs/{run['run_id']}"
    stored = Run.parse(await api.kube.get(RUN, run["run_id"], api.namespace))
    assert parse_timestamp(run["expires_at"]) == stored.created_at + timedelta(hours=1.5)
    assert abs(stored.created_at - utc_now()) < timedelta(seconds=10)


async def test_without_expiry_the_link_never_expires(api: Api) -> None:
    template = await api.account.create_template()
    for members in ({}, {"expires_in_hours": None, "webhook": None, "executor_ref": None}):
        assert (await api.account.dispatch(template["id"], **members))["expires_at"] is None


async def test_a_run_arrives_admitted_with_its_snapshot(api: Api) -> None:
    template = await api.account.create_template()
    run_id = (await api.account.dispatch(template["id"], executor_ref="order 7"))["run_id"]
    body = await api.kube.get(RUN, run_id, api.namespace)
    run = Run.parse(body)
    assert run.resolved is not None
    assert run.resolved.template_version == 1
    assert run.status.phase is RunPhase.PENDING
    assert body["metadata"]["labels"]["checklists.dev/org"] == api.organization
    revision = await api.kube.get(TEMPLATE_REVISION, run.resolved.revision_ref.name, api.namespace)
    assert revision["spec"]["definition"]["name"] == template["name"]


async def test_later_edits_and_deletion_do_not_reach_a_run(api: Api) -> None:
    template = await api.account.create_template(name="Before")
    run_id = (await api.account.dispatch(template["id"]))["run_id"]
    await api.http.patch(f"/v1/templates/{template['id']}", json={"name": "After"})
    later = (await api.account.dispatch(template["id"]))["run_id"]
    await api.http.delete(f"/v1/templates/{template['id']}")
    for run, name, version in ((run_id, "Before", 1), (later, "After", 2)):
        read = (await api.http.get(f"/v1/runs/{run}")).json()
        assert (read["template_name"], read["template_v"], read["template_id"]) == (name, version, template["id"])


async def test_the_webhook_is_canonical_and_its_secret_sealed_for_this_run_alone(api: Api) -> None:
    run_id = await api.account.new_run(webhook=WEBHOOK)
    body = await api.kube.get(RUN, run_id, api.namespace)
    webhook = body["spec"]["webhook"]
    assert webhook["url"] == "https://receiver.example/hook?x=1"
    assert webhook["events"] == ["*"]
    assert (
        api.services.settings.sealing.open(webhook["sealedSecret"], owner=run_owner(api.namespace, run_id))
        == WEBHOOK_SECRET
    )
    assert WEBHOOK_SECRET not in json.dumps(body)
    for path in (f"/v1/runs/{run_id}", f"/v1/runs/{run_id}/preview", "/v1/runs"):
        text = (await api.http.get(path)).text
        assert WEBHOOK_SECRET not in text
        assert webhook["sealedSecret"] not in text


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ({}, ["template_id"]),
        ({"webhook": {}}, ["template_id", "webhook.url", "webhook.secret", "webhook.events"]),
        ({"template_id": "t-1", "webhook": {"url": "ftp://x", "events": ["*"]}}, ["webhook.secret"]),
        ({"expires_in_hours": -1}, ["template_id"]),
    ],
)
async def test_what_is_missing_is_400_even_if_something_else_is_wrong(
    api: Api, body: dict[str, Any], missing: list[str]
) -> None:
    response = await api.http.post("/v1/runs", json=body)
    assert (response.status_code, response.json()["error"]) == (400, "missing_field")
    assert [problem["path"] for problem in response.json()["details"]] == missing


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"template_id": None}, "template_id"),
        ({"template_id": 7}, "template_id"),
        ({"template_id": "t-1"}, "template_id"),
        ({"expires_in_hours": 0}, "expires_in_hours"),
        ({"expires_in_hours": -1}, "expires_in_hours"),
        ({"expires_in_hours": 8760.01}, "expires_in_hours"),
        ({"expires_in_hours": "24"}, "expires_in_hours"),
        ({"expires_in_hours": True}, "expires_in_hours"),
        ({"expires_in_hours": 10**400}, "expires_in_hours"),
        ({"executor_ref": 7}, "executor_ref"),
        ({"executor_ref": "x" * 201}, "executor_ref"),
        ({"executor_ref": "a\0b"}, "executor_ref"),
        ({"webhook": "https://a.example"}, "webhook"),
        ({"webhook": []}, "webhook"),
        ({"webhook": {**WEBHOOK, "url": 7}}, "webhook.url"),
        ({"webhook": {**WEBHOOK, "url": "http://a.example/"}}, "webhook.url"),
        ({"webhook": {**WEBHOOK, "url": "https://user:word@a.example/"}}, "webhook.url"),
        ({"webhook": {**WEBHOOK, "url": "https://localhost/"}}, "webhook.url"),
        ({"webhook": {**WEBHOOK, "url": "https://db.svc.cluster.local/"}}, "webhook.url"),
        ({"webhook": {**WEBHOOK, "url": "https://a.example/" + "x" * 2048}}, "webhook.url"),
        ({"webhook": {**WEBHOOK, "secret": "x" * 15}}, "webhook.secret"),
        ({"webhook": {**WEBHOOK, "secret": "x" * 257}}, "webhook.secret"),
        ({"webhook": {**WEBHOOK, "secret": None}}, "webhook.secret"),
        ({"webhook": {**WEBHOOK, "events": []}}, "webhook.events"),
        ({"webhook": {**WEBHOOK, "events": ["run.started"]}}, "webhook.events"),
        ({"webhook": {**WEBHOOK, "events": ["*", "run.completed"]}}, "webhook.events"),
        ({"webhook": {**WEBHOOK, "events": "run.completed"}}, "webhook.events"),
        ({"webhook": {**WEBHOOK, "events": ["run.completed", "run.completed"]}}, "webhook.events"),
    ],
)
async def test_what_is_present_but_wrong_is_422(api: Api, members: dict[str, Any], path: str) -> None:
    response = await api.http.post("/v1/runs", json={"template_id": new_id("t"), **members})
    assert (response.status_code, response.json()["error"]) == (422, "validation_failed")
    assert [problem["path"] for problem in response.json()["details"]] == [path]
    assert WEBHOOK_SECRET not in response.text


async def test_everything_wrong_is_told_at_once(api: Api) -> None:
    body = {
        "template_id": 7,
        "expires_in_hours": 0,
        "executor_ref": 7,
        "webhook": {"url": "x", "secret": "short", "events": []},
    }
    response = await api.http.post("/v1/runs", json=body)
    assert {problem["path"] for problem in response.json()["details"]} == {
        "template_id",
        "expires_in_hours",
        "executor_ref",
        "webhook.url",
        "webhook.secret",
        "webhook.events",
    }


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({"expires_in_hours": 8760}, 201),
        ({"expires_in_hours": 0.001}, 201),
        ({"executor_ref": "x" * 200}, 201),
        ({"executor_ref": ""}, 201),
        ({"webhook": {**WEBHOOK, "secret": "x" * 16}}, 201),
        ({"webhook": {**WEBHOOK, "secret": "ß" * 256}}, 201),
        ({"webhook": {**WEBHOOK, "events": ["run.completed", "run.expired"]}}, 201),
        ({"unknown": "ignored"}, 201),
    ],
)
async def test_the_bounds_themselves_are_allowed(api: Api, members: dict[str, Any], status: int) -> None:
    template = await api.account.create_template()
    response = await api.http.post("/v1/runs", json={"template_id": template["id"], **members})
    assert response.status_code == status, response.text


async def test_http_and_internal_hosts_are_for_development_only(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_ALLOW_INSECURE_TARGETS="1")
    run_id = await api.account.new_run(webhook={**WEBHOOK, "url": "http://localhost:9000/hook"})
    body = await api.kube.get(RUN, run_id, api.namespace)
    assert body["spec"]["webhook"]["url"] == "http://localhost:9000/hook"


async def test_an_unknown_a_deleted_and_a_foreign_template_are_the_same_404(api: Api) -> None:
    other = await api.make_account()
    foreign = (await other.create_template())["id"]
    deleted = (await api.account.create_template())["id"]
    await api.http.delete(f"/v1/templates/{deleted}")
    answers = [
        await api.http.post("/v1/runs", json={"template_id": template_id}, headers={"X-Request-Id": "same"})
        for template_id in (new_id("t"), deleted, foreign)
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["error"] == "template_not_found"


async def test_a_template_without_steps_cannot_be_dispatched(api: Api) -> None:
    template = await api.account.create_template(sections=[])
    response = await api.http.post("/v1/runs", json={"template_id": template["id"]})
    assert (response.status_code, response.json()["error"]) == (422, "template_not_runnable")
    assert (await api.http.get("/v1/usage")).json()["used"] == 0


async def test_of_a_paused_template_no_run_is_made_until_the_annotation_goes(api: Api) -> None:
    template = await api.account.create_template()
    before = await api.account.dispatch(template["id"])
    ((stored,), _) = await api.kube.list_all(TEMPLATE, api.namespace)

    async def annotate(value: str | None) -> None:
        patch = {"metadata": {"annotations": {PAUSED_ANNOTATION: value}}}
        await api.kube.patch(TEMPLATE, stored["metadata"]["name"], patch, api.namespace)

    async def until(status: int) -> Any:
        """What kubectl changed is seen as soon as the watch has brought it."""
        async with asyncio.timeout(10):
            while True:
                response = await api.http.post("/v1/runs", json={"template_id": template["id"]})
                if response.status_code == status:
                    return response.json()
                await asyncio.sleep(0.05)

    await annotate("true")
    refused = await until(422)
    assert refused["error"] == "template_not_runnable"
    (detail,) = refused["details"]
    assert detail["code"] == "template_paused"
    assert PAUSED_ANNOTATION in detail["message"]
    used = (await api.http.get("/v1/usage")).json()["used"]
    await until(422)
    assert (await api.http.get("/v1/usage")).json()["used"] == used
    assert (await api.http.get(f"/v1/templates/{template['id']}")).status_code == 200
    assert (await api.http.get(f"/v1/runs/{before['run_id']}")).status_code == 200
    await annotate("false")
    assert is_id("r", (await until(201))["run_id"])


async def test_over_quota_is_402_with_the_numbers_and_makes_no_run(api: Api) -> None:
    account = await api.make_account(plan={"name": "small", "runsPerMonth": 2})
    template = await account.create_template()
    for _ in range(2):
        await account.dispatch(template["id"])
    response = await account.http.post("/v1/runs", json={"template_id": template["id"]})
    assert (response.status_code, response.json()["error"]) == (402, "quota_exceeded")
    today = datetime.now(UTC)
    resets_at = datetime(today.year + today.month // 12, today.month % 12 + 1, 1, tzinfo=UTC)
    details = response.json()["details"]
    assert (details["limit"], details["used"]) == (2, 2)
    assert parse_timestamp(details["resets_at"]) == resets_at
    assert (await account.http.get("/v1/runs")).json()["pagination"]["total"] == 2
    assert (await account.http.post("/v1/runs", json={"template_id": new_id("t")})).status_code == 404


async def test_a_raised_plan_is_open_at_once(api: Api) -> None:
    account = await api.make_account(plan={"name": "none", "runsPerMonth": 0})
    template = await account.create_template()
    assert (await account.http.post("/v1/runs", json={"template_id": template["id"]})).status_code == 402
    await api.kube.patch(ORGANIZATION, account.organization, {"spec": {"plan": {"runsPerMonth": 1}}})
    await account.dispatch(template["id"])


async def test_concurrent_dispatches_of_several_processes_meet_the_limit_exactly(start_api: StartApi) -> None:
    apis = [await start_api() for _ in range(3)]
    account = await apis[0].make_account(plan={"name": "exact", "runsPerMonth": 25})
    template = await account.create_template()
    headers = {"Authorization": f"Bearer {account.key}"}
    answers = await asyncio.gather(
        *(
            apis[number % 3].anonymous.post("/v1/runs", json={"template_id": template["id"]}, headers=headers)
            for number in range(60)
        )
    )
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(201), statuses.count(402)) == (25, 35)
    runs, _ = await apis[0].kube.list_all(
        RUN, apis[0].namespace, label_selector=f"checklists.dev/org={account.organization}"
    )
    assert len(runs) == 25


async def test_usage_counts_every_dispatch_cancelled_and_deleted_ones_too(api: Api) -> None:
    account = await api.make_account(plan={"name": "large", "runsPerMonth": 100})
    template = await account.create_template()
    runs = [(await account.dispatch(template["id"]))["run_id"] for _ in range(3)]
    await account.http.post(f"/v1/runs/{runs[0]}/cancel")
    await api.kube.delete(RUN, runs[1], api.namespace)
    usage = (await account.http.get("/v1/usage")).json()
    assert (usage["limit"], usage["used"], usage["plan"]) == (100, 3, "large")
    assert usage["period"] == datetime.now(UTC).strftime("%Y-%m")
    parse_timestamp(usage["resets_at"])


async def test_every_dispatch_is_confirmed_so_that_nothing_stays_pending(api: Api) -> None:
    template = await api.account.create_template()
    await asyncio.gather(*(api.account.dispatch(template["id"]) for _ in range(20)))
    for _ in range(40):
        quota = (await api.kube.get(ORGANIZATION, api.organization))["status"]["quota"]
        if not quota.get("pending"):
            break
        await asyncio.sleep(0.1)
    assert (quota["used"], quota.get("pending", [])) == (20, [])


async def test_the_sender_is_the_member_who_made_the_key_else_the_organization(api: Api) -> None:
    from checklist_crds import api_keys
    from checklist_crds.kube.kinds import API_KEY

    from .conftest import http_client, key_object

    template = await api.account.create_template()
    by_member = await api.account.dispatch(template["id"])
    preview = (await api.anonymous.get(f"/v1/runs/{by_member['run_id']}/preview")).json()
    assert preview["created_by_name"] == "Ada Lovelace"
    for made_by in (None, "u-gone"):
        key = api_keys.new_key()
        await api.kube.create(API_KEY, key_object(key, api.organization, api.namespace, made_by), api.namespace)
        async with http_client(api.base_url, key) as http:
            run_id = (await http.post("/v1/runs", json={"template_id": template["id"]})).json()["run_id"]
        preview = (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).json()
        assert preview["created_by_name"] == "Test organization"
