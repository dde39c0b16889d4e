"""POST /v1/runs (specification, "Runs"; contract sections 5, 7 and 10)."""

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.contract.conftest import WEBHOOK_SECRET, Api, StartApi, http_client, key_object, shared_api, until_status
from tests.contract.executor_client import Person, error_of, paths, without_request_id

from checklist_api.logs import JsonLines
from checklist_crds.ids import is_id, new_id
from checklist_crds.resources.kinds import API_KEY, RUN, TEMPLATE, TEMPLATE_REVISION
from checklist_crds.resources.pause import PAUSED_ANNOTATION
from checklist_crds.resources.run import Run, RunPhase
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.sealing import KeyRing, run_owner
from checklist_crds.times import parse_timestamp, utc_now

api = shared_api

WEBHOOK = {"url": "https://Receiver.example:443/hook?x=1#part", "secret": WEBHOOK_SECRET, "events": ["*"]}


async def test_a_dispatch_answers_with_id_link_and_expiry_and_the_run_has_its_snapshot(api: Api) -> None:
    template = await api.account.create_template()
    body = {"template_id": template["id"], "expires_in_hours": 1.5, "executor_ref": "order 7"}
    response = await api.http.post("/v1/runs", json=body)
    assert response.status_code == 201
    run = response.json()
    assert is_id("r", run["run_id"])
    token = api.token(run["run_id"])
    assert run["link"] == f"https://checklists.example/r/{run['run_id']}#{token}"
    assert run["assigned_to"] is None
    assert response.headers["Location"] == f"/v1/runs/{run['run_id']}"
    made = await api.kube.get(RUN, run["run_id"], api.namespace)
    assert made["metadata"]["labels"]["checklists.dev/org"] == api.organization
    stored = Run.parse(made)
    assert parse_timestamp(run["expires_at"]) == stored.created_at + timedelta(hours=1.5)
    assert abs(stored.created_at - utc_now()) < timedelta(seconds=10)
    assert stored.status.phase is RunPhase.PENDING
    assert stored.resolved is not None
    assert stored.resolved.template_version == 1
    revision = await api.kube.get(TEMPLATE_REVISION, stored.resolved.revision_ref.name, api.namespace)
    assert revision["spec"]["definition"]["name"] == template["name"]
    for members in ({}, {"expires_in_hours": None, "webhook": None, "executor_ref": None}):
        assert (await api.account.dispatch(template["id"], **members))["expires_at"] is None


async def test_the_webhook_is_canonical_and_its_secret_sealed_for_this_run_alone(api: Api) -> None:
    run_id = await api.account.new_run(webhook=WEBHOOK)
    body = await api.kube.get(RUN, run_id, api.namespace)
    webhook = body["spec"]["webhook"]
    assert (webhook["url"], webhook["events"]) == ("https://receiver.example/hook?x=1", ["*"])
    owner = run_owner(api.namespace, run_id)
    assert api.services.settings.sealing.open(webhook["sealedSecret"], owner=owner) == WEBHOOK_SECRET
    assert WEBHOOK_SECRET not in json.dumps(body)
    for path in (f"/v1/runs/{run_id}", f"/v1/runs/{run_id}/preview", "/v1/runs"):
        text = (await api.http.get(path)).text
        assert WEBHOOK_SECRET not in text
        assert webhook["sealedSecret"] not in text


NO_WEBHOOK = {"url": "ftp://x", "events": ["*"]}
MISSING: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({}, ["template_id"]),
    ({"webhook": {}}, ["template_id", "webhook.url", "webhook.secret", "webhook.events"]),
    ({"template_id": "t-1", "webhook": NO_WEBHOOK}, ["webhook.secret"]),
    ({"expires_in_hours": -1}, ["template_id"]),
)
# URLs that cannot be targets: tests/unit/delivery/test_webhook_url.py.
WRONG_OF_THE_WEBHOOK: dict[str, tuple[Any, ...]] = {
    "url": (7, "http://a.example/", "https://localhost/"),
    "secret": ("x" * 15, "x" * 257, None),
    "events": ([], ["run.started"], "run.completed", ["run.completed", "run.completed"]),
}
WRONG: dict[str, tuple[Any, ...]] = {
    "template_id": (None, 7, "t-1"),
    "expires_in_hours": (0, -1, 8760.01, "24", True, 10**400),
    "executor_ref": (7, "x" * 201, "a\0b"),
    "webhook": ("https://a.example", []),
}
BOUNDS: tuple[dict[str, Any], ...] = (
    {"expires_in_hours": 8760},
    {"executor_ref": "x" * 200},
    {"webhook": {**WEBHOOK, "secret": "x" * 16}},
    {"webhook": {**WEBHOOK, "secret": "ß" * 256}},
    {"webhook": {**WEBHOOK, "events": ["run.completed", "run.expired"]}},
    {"unknown": "ignored"},
)


async def test_what_is_missing_is_400_what_is_wrong_422_all_of_it_at_once_and_the_bounds_are_allowed(api: Api) -> None:
    for body, missing in MISSING:
        response = await api.http.post("/v1/runs", json=body)
        assert (error_of(response), paths(response)) == ((400, "missing_field"), missing)
    wrong = [({name: value}, name) for name, values in WRONG.items() for value in values]
    for name, values in WRONG_OF_THE_WEBHOOK.items():
        wrong += [({"webhook": {**WEBHOOK, name: value}}, f"webhook.{name}") for value in values]
    for members, path in wrong:
        response = await api.http.post("/v1/runs", json={"template_id": new_id("t"), **members})
        assert (error_of(response), paths(response)) == ((422, "validation_failed"), [path]), members
        assert WEBHOOK_SECRET not in response.text
    body = {"template_id": 7, "expires_in_hours": 0, "executor_ref": 7}
    body |= {"webhook": {"url": "x", "secret": "short", "events": []}}
    response = await api.http.post("/v1/runs", json=body)
    everything = {*WRONG, *(f"webhook.{name}" for name in WRONG_OF_THE_WEBHOOK)} - {"webhook"}
    assert set(paths(response)) == everything
    template, empty = await api.account.create_template(), await api.account.create_template(sections=[])
    for members in BOUNDS:
        response = await api.http.post("/v1/runs", json={"template_id": template["id"], **members})
        assert response.status_code == 201, (members, response.text)
    response = await api.http.post("/v1/runs", json={"template_id": empty["id"]})
    assert error_of(response) == (422, "template_not_runnable")
    assert (await api.http.get("/v1/usage")).json()["used"] == len(BOUNDS)


async def test_hosts_inside_the_network_are_taken_when_the_settings_name_them(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_INTERNAL_RECEIVERS="erp.team-a.svc.cluster.local")
    url = "http://erp.team-a.svc.cluster.local:8080/hook"
    run_id = await api.account.new_run(webhook={**WEBHOOK, "url": url})
    body = await api.kube.get(RUN, run_id, api.namespace)
    assert body["spec"]["webhook"]["url"] == url
    template = await api.account.create_template()
    other = {"template_id": template["id"], "webhook": {**WEBHOOK, "url": "http://crm.team-a.svc.cluster.local/hook"}}
    assert (await api.http.post("/v1/runs", json=other)).status_code == 422


async def test_an_unknown_a_deleted_and_a_foreign_template_are_the_same_404(api: Api) -> None:
    foreign = (await (await api.make_account()).create_template())["id"]
    deleted = (await api.account.create_template())["id"]
    await api.http.delete(f"/v1/templates/{deleted}")
    answers = [await api.http.post("/v1/runs", json={"template_id": each}) for each in (new_id("t"), deleted, foreign)]
    assert {error_of(answer) for answer in answers} == {(404, "template_not_found")}
    assert len({without_request_id(answer) for answer in answers}) == 1


async def test_of_a_paused_template_no_run_is_made_until_the_annotation_goes(api: Api) -> None:
    template = await api.account.create_template()
    before = await api.account.dispatch(template["id"])
    body = {"template_id": template["id"]}
    (stored,) = await api.all_of(TEMPLATE)

    async def annotated(value: str, status: int) -> Any:
        """What kubectl changed is seen as soon as the watch has brought it."""
        patch = {"metadata": {"annotations": {PAUSED_ANNOTATION: value}}}
        await api.kube.patch(TEMPLATE, stored["metadata"]["name"], patch, api.namespace)
        return (await until_status(status, lambda: api.http.post("/v1/runs", json=body))).json()

    refused = await annotated("true", 422)
    assert refused["error"] == "template_not_runnable"
    (detail,) = refused["details"]
    assert detail["code"] == "template_paused"
    assert PAUSED_ANNOTATION in detail["message"]
    used = (await api.http.get("/v1/usage")).json()["used"]
    assert (await api.http.post("/v1/runs", json=body)).status_code == 422
    assert (await api.http.get("/v1/usage")).json()["used"] == used
    assert (await api.http.get(f"/v1/runs/{before['run_id']}")).status_code == 200
    assert is_id("r", (await annotated("false", 201))["run_id"])


async def test_over_quota_is_402_with_the_numbers_and_makes_no_run(api: Api) -> None:
    account = await api.make_account(plan={"name": "small", "runsPerMonth": 2})
    template = await account.create_template()
    runs = [(await account.dispatch(template["id"]))["run_id"] for _ in range(2)]
    response = await account.http.post("/v1/runs", json={"template_id": template["id"]})
    assert error_of(response) == (402, "quota_exceeded")
    today = datetime.now(UTC)
    resets_at = datetime(today.year + today.month // 12, today.month % 12 + 1, 1, tzinfo=UTC)
    details = response.json()["details"]
    assert (details["limit"], details["used"]) == (2, 2)
    assert parse_timestamp(details["resets_at"]) == resets_at
    assert (await account.http.get("/v1/runs")).json()["pagination"]["total"] == 2
    assert (await account.http.post("/v1/runs", json={"template_id": new_id("t")})).status_code == 404
    # Cancelled and deleted runs stay counted.
    await account.http.post(f"/v1/runs/{runs[0]}/cancel")
    await api.kube.delete(RUN, runs[1], api.namespace)
    usage = (await account.http.get("/v1/usage")).json()
    assert (usage["limit"], usage["used"], usage["plan"]) == (2, 2, "small")
    assert (usage["period"], parse_timestamp(usage["resets_at"])) == (today.strftime("%Y-%m"), resets_at)


async def test_the_sender_is_the_member_who_made_the_key_else_the_organization(api: Api) -> None:
    template = await api.account.create_template()

    async def sender(http: Any) -> Any:
        run_id = (await http.post("/v1/runs", json={"template_id": template["id"]})).json()["run_id"]
        return (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).json()["created_by_name"]

    assert await sender(api.http) == "Ada Lovelace"
    for made_by in (None, "u-gone"):
        key = api_keys.new_key()
        await api.kube.create(API_KEY, key_object(key, api.organization, api.namespace, made_by), api.namespace)
        async with http_client(api.base_url, key) as http:
            assert await sender(http) == "Test organization"


async def test_a_bug_while_a_secret_is_sealed_does_not_reveal_it(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: KeyRing, plaintext: str, *, owner: str) -> str:
        raise RuntimeError("a bug")

    template = await api.account.create_template()
    monkeypatch.setattr(KeyRing, "seal", broken)
    webhook = {"url": "https://hooks.example.com/?token=in-the-url", "secret": WEBHOOK_SECRET, "events": ["*"]}
    with caplog.at_level(logging.DEBUG):
        answer = await api.http.post("/v1/runs", json={"template_id": template["id"], "webhook": webhook})
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal_error"
    logged = "\n".join(JsonLines().format(record) for record in caplog.records)
    assert "RuntimeError: a bug" in logged
    for secret in (WEBHOOK_SECRET, "in-the-url", api.account.key):
        assert secret not in logged
        assert secret not in answer.text
        assert secret not in str(answer.headers)


async def test_a_replica_whose_clock_is_hours_behind_dispatches_runs_that_are_believed(start_api: StartApi) -> None:
    """To others, and to itself, their seals look as if they had been created again; their status says otherwise."""
    api = await start_api(clock=lambda: utc_now() - timedelta(hours=2))
    run_id = await api.account.new_run()
    other = await start_api()
    await until_status(200, lambda: other.http.get(f"/v1/runs/{run_id}"))
    for at in (api, other):
        assert (await Person(run_id, at, at.token(run_id)).look())["status"] == "pending"
    stored = await api.kube.get(RUN, run_id, api.namespace)
    assert stored["status"]["resolved"] == {**stored["spec"]["resolved"], "bound": True}
