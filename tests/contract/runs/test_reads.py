"""Reading, listing and cancelling runs (specification, "Runs"; contract sections 5 and 8)."""

import asyncio
from datetime import timedelta

from tests.contract.conftest import Api, StartApi, definition, owned, shared_api, until
from tests.contract.executor_client import error_of
from tests.waiting import eventually, until_the_clock_passes

from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import RUN
from checklist_crds.runs.commands import AnswerStep, Cancel, SkipStep, Submit
from checklist_crds.times import format_timestamp, parse_timestamp, utc_now

api = shared_api

ANSWER = AnswerStep(step_id="s-clean", value=True)


async def listed(api: Api, **query: str) -> list[str]:
    response = await api.http.get("/v1/runs", params=query)
    assert response.status_code == 200, response.text
    return [run["run_id"] for run in response.json()["data"]]


async def test_a_new_run_has_every_field_of_the_specification_and_so_has_its_preview(api: Api) -> None:
    sections = definition()["sections"]
    more = [{**sections[0], "id": "g-two", "steps": [{"id": "s-note", "type": "instruction", "label": "Read"}]}]
    template = await api.account.create_template(sections=sections + more)
    run_id = (await api.account.dispatch(template["id"], executor_ref="order 7", expires_in_hours=2))["run_id"]
    response = await api.http.get(f"/v1/runs/{run_id}")
    assert response.status_code == 200
    run = response.json()
    created_at = parse_timestamp(run["created_at"])
    expected = {
        "run_id": run_id,
        "status": "pending",
        "template_id": template["id"],
        "template_v": 1,
        "executor_ref": "order 7",
        "created_at": run["created_at"],
        "completed_at": None,
        "expires_at": format_timestamp(created_at + timedelta(hours=2)),
        "assigned_to": None,
        "executor_identity": {"mode": "anonymous"},
        "progress": {"total": 1, "answered": 0, "skipped": 0},
        "answers": {},
    }
    assert {name: run[name] for name in expected} == expected
    [shown] = (await api.http.get("/v1/runs")).json()["data"]
    assert "answers" not in shown
    assert {name: shown.get(name, {}) for name in expected} == expected
    preview = {name: run[name] for name in ("run_id", "status", "expires_at")}
    preview |= {"template_name": "Opening check", "step_count": 3, "created_by_name": "Ada Lovelace"}
    assert (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).json() == preview


async def test_answers_are_read_live_from_every_writer(start_api: StartApi) -> None:
    one, other = await start_api(), await start_api()
    run_id = await one.account.new_run()
    await one.does(run_id, AnswerStep(step_id="s-clean", value=False), AnswerStep(step_id="s-why", value="Floor"))
    run = (await other.http.get(f"/v1/runs/{run_id}")).json()
    assert (run["status"], run["progress"]) == ("in_progress", {"total": 2, "answered": 2, "skipped": 0})
    answer = run["answers"]["s-why"]
    assert parse_timestamp(answer.pop("at")) >= parse_timestamp(run["started_at"])
    assert parse_timestamp(answer.pop("received_at")) >= parse_timestamp(run["started_at"])
    assert answer == {"value": "Floor", "photos": [], "geo": None, "by": None, "flagged": False, "note": None}
    # The list follows what others do.
    await eventually(lambda: listed(other))
    assert await listed(other) == [run_id]
    await one.kube.delete(RUN, run_id, one.namespace)
    await until(lambda: listed(other), lambda found: found == [])


async def test_a_run_says_when_it_ended_and_is_expired_at_the_instant_without_any_operator(
    start_api: StartApi,
) -> None:
    now = utc_now()
    api = await start_api(clock=lambda: now)
    signed = await api.account.create_template(settings={"signature_on_complete": True, "allow_skip": True})
    answered, cancelled, expired = [await api.account.new_run(expires_in_hours=1) for _ in range(3)]
    completed = (await api.account.dispatch(signed["id"], expires_in_hours=1))["run_id"]
    await api.does(answered, ANSWER)
    answers = (AnswerStep(step_id="s-clean", value=False), SkipStep(step_id="s-why"))
    await api.does(completed, *answers, Submit(signature_name="Ada"))
    run = (await api.http.get(f"/v1/runs/{completed}")).json()
    assert (run["completed_at"], run["skipped_steps"]) == (format_timestamp(now), ["s-why"])
    assert run["signature"] == {"url": None, "name": "Ada", "signed_at": run["completed_at"]}
    await api.does(cancelled, Cancel(reason="changed my mind"))
    for run_id, status in ((answered, "in_progress"), (completed, "completed"), (cancelled, "cancelled")):
        response = await api.anonymous.get(f"/v1/runs/{run_id}/preview")
        assert (response.status_code, response.json()["status"]) == (200, status)
    expires_at = now + timedelta(hours=1)
    for moment, status in ((expires_at - timedelta(milliseconds=1), "pending"), (expires_at, "expired")):
        now = moment
        assert (await api.http.get(f"/v1/runs/{expired}")).json()["status"] == status
        shown = {run["run_id"]: run["status"] for run in (await api.http.get("/v1/runs")).json()["data"]}
        assert shown[expired] == status
        assert expired in await listed(api, status=status)
    assert error_of(await api.anonymous.get(f"/v1/runs/{expired}/preview")) == (410, "run_expired")
    assert (await api.anonymous.get(f"/v1/runs/{completed}/preview")).status_code == 200
    assert error_of(await api.http.post(f"/v1/runs/{expired}/cancel")) == (410, "run_expired")
    assert error_of(await api.http.post(f"/v1/runs/{completed}/cancel")) == (409, "run_closed")


async def test_unknown_foreign_and_malformed_run_ids_are_one_and_the_same_404(api: Api) -> None:
    other = await api.make_account()
    foreign = await other.new_run()
    ids = (foreign, new_id("r"), "r-nonsense", foreign.upper(), foreign.removeprefix("r-"), "%E2%82%AC")
    headers = {"X-Request-Id": "same"}
    for method, suffix in (("GET", ""), ("GET", "/link"), ("POST", "/cancel")):
        answers = [await api.http.request(method, f"/v1/runs/{run_id}{suffix}", headers=headers) for run_id in ids]
        assert {answer.status_code for answer in answers} == {404}
        assert {answer.content for answer in answers} == {
            b'{"error":"run_not_found","message":"There is no such run in this organization.","request_id":"same"}'
        }
    for run_id in ids[1:]:
        assert (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).json()["error"] == "run_not_found"
    assert (await other.http.get(f"/v1/runs/{foreign}")).json()["status"] == "pending"


async def test_a_run_made_with_kubectl_is_not_there_before_it_is_admitted(api: Api) -> None:
    template = await api.account.create_template()
    admitted = await api.account.dispatch(template["id"])
    resolved = (await api.kube.get(RUN, admitted["run_id"], api.namespace))["spec"]["resolved"]
    run_id = new_id("r")
    made = owned(RUN, run_id, api.organization, api.namespace, {"templateRef": {"name": template["id"]}})
    await api.kube.create(RUN, made, api.namespace)
    assert (await api.http.get(f"/v1/runs/{run_id}")).status_code == 404
    assert (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).status_code == 404
    assert (await api.http.post(f"/v1/runs/{run_id}/cancel")).status_code == 404
    await api.kube.patch_status(RUN, run_id, {"resolved": resolved}, api.namespace)
    assert (await api.http.get(f"/v1/runs/{run_id}")).json()["template_id"] == template["id"]
    preview = (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).json()
    assert (preview["created_by_name"], preview["expires_at"]) == ("Test organization", None)
    await until(lambda: listed(api), lambda found: run_id in found)


async def test_a_cancelled_run_says_by_whom_is_closed_and_makes_one_event_for_who_subscribed(api: Api) -> None:
    webhook = {"url": "https://a.example/", "secret": "x" * 16, "events": ["run.cancelled"]}
    run_id = await api.account.new_run(webhook=webhook)
    path = f"/v1/runs/{run_id}/cancel"
    assert (await api.http.post(path, content=b"x", headers={"Content-Type": "text/plain"})).status_code == 415
    assert (await api.http.post(path, content=b"x", headers={"Content-Type": "application/json"})).status_code == 400
    answers = await asyncio.gather(*(api.http.post(path) for _ in range(4)), api.http.post(path, json={}))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    assert {answer.json()["error"] for answer in answers if answer.status_code == 409} == {"run_closed"}
    [run] = [answer.json() for answer in answers if answer.status_code == 200]
    assert (run["status"], run["cancel_reason"]) == ("cancelled", "cancelled_by_owner")
    assert run == (await api.http.get(f"/v1/runs/{run_id}")).json()
    assert await listed(api, status="cancelled") == [run_id]
    status = (await api.kube.get(RUN, run_id, api.namespace))["status"]
    assert [entry["event"] for entry in status["outbox"]] == ["run.cancelled"]


async def test_the_list_is_newest_first_and_filters_by_status_template_reference_and_time(api: Api) -> None:
    first, second = await api.account.create_template(), await api.account.create_template()
    one = (await api.account.dispatch(first["id"], executor_ref="a b&c"))["run_id"]
    await until_the_clock_passes(utc_now() + timedelta(milliseconds=1))
    two = (await api.account.dispatch(second["id"], executor_ref="a b&c"))["run_id"]
    await until_the_clock_passes(utc_now() + timedelta(milliseconds=1))
    three = (await api.account.dispatch(second["id"]))["run_id"]
    await api.does(three, ANSWER)
    created = (await api.http.get(f"/v1/runs/{two}")).json()["created_at"]
    assert await listed(api) == [three, two, one]
    pages = [(await api.http.get(f"/v1/runs?per_page=2&page={page}")).json() for page in (1, 2)]
    assert [[run["run_id"] for run in page["data"]] for page in pages] == [[three, two], [one]]
    assert [page["pagination"]["next_page"] for page in pages] == [2, None]
    assert await listed(api, status="in_progress") == [three]
    assert await listed(api, status="pending") == [two, one]
    assert await listed(api, template_id=second["id"]) == [three, two]
    assert await listed(api, template_id="t-nonsense") == []
    assert await listed(api, executor_ref="a b&c") == [two, one]
    assert await listed(api, created_after=created) == [three]
    assert await listed(api, created_before=created) == [one]
    assert await listed(api, created_after=created.replace("Z", "+00:00"), status="in_progress") == [three]
    # Other ways to get them wrong: tests/contract/deliveries/test_history.py.
    for query in ("status=opened", "created_after=", "created_after=0001-01-01T00:00:00%2B23:59"):
        assert error_of(await api.http.get(f"/v1/runs?{query}")) == (400, "invalid_parameter"), query
