"""The link of a run for its owner (contract section 6)."""

from datetime import timedelta

from tests.contract.archive_lab import ArchiveLab
from tests.contract.conftest import Api, StartApi, owned, shared_api
from tests.contract.executor_client import error_of

from checklist_crds.ids import new_id
from checklist_crds.resources.audit_entry import AuditEntrySpec
from checklist_crds.resources.kinds import AUDIT_ENTRY, RUN
from checklist_crds.runs.commands import AnswerStep, Cancel, Submit
from checklist_crds.times import format_timestamp, utc_now

api = shared_api


async def test_the_link_is_that_of_the_dispatch_and_is_kept_by_no_cache_and_no_audit_trail(api: Api) -> None:
    template = await api.account.create_template()
    for given in ({}, {"expires_in_hours": 2}):
        dispatched = await api.account.dispatch(template["id"], **given)
        response = await api.http.get(f"/v1/runs/{dispatched['run_id']}/link")
        assert response.status_code == 200, response.text
        assert response.json() == {name: dispatched[name] for name in ("link", "expires_at")}
        assert response.headers["Cache-Control"] == "no-store"
        assert "ETag" not in response.headers
        token = dispatched["link"].rpartition("#")[2]
        headers = {"Authorization": f"Executor {token}"}
        opened = await api.anonymous.get(f"/v1/executor/runs/{dispatched['run_id']}", headers=headers)
        assert opened.status_code == 200
        assert token not in str(await api.all_of(RUN))
    assert error_of(await api.anonymous.get(f"/v1/runs/{dispatched['run_id']}/link")) == (401, "unauthorized")
    entries = [AuditEntrySpec.model_validate(each["spec"]) for each in await api.all_of(AUDIT_ENTRY)]
    assert {entry.target.kind for entry in entries} == {"template"}


async def test_a_run_that_has_ended_has_no_link(start_api: StartApi) -> None:
    now = utc_now()
    api = await start_api(clock=lambda: now)
    completed, cancelled, expired = [await api.account.new_run(expires_in_hours=1) for _ in range(3)]
    await api.does(completed, AnswerStep(step_id="s-clean", value=True), Submit())
    await api.does(cancelled, Cancel(reason="changed my mind"))
    for run_id in (completed, cancelled):
        assert error_of(await api.http.get(f"/v1/runs/{run_id}/link")) == (409, "run_closed")
    now += timedelta(hours=1) - timedelta(milliseconds=1)
    assert (await api.http.get(f"/v1/runs/{expired}/link")).status_code == 200
    now += timedelta(milliseconds=1)
    assert error_of(await api.http.get(f"/v1/runs/{expired}/link")) == (410, "run_expired")


async def test_an_archived_run_says_in_the_same_way_that_it_has_ended(start_api: StartApi) -> None:
    api = await start_api()
    run_id = await api.account.new_run()
    await api.does(run_id, AnswerStep(step_id="s-clean", value=True), Submit())
    archive = ArchiveLab(api)
    await archive.archive(run_id)
    await archive.loaded()
    assert (await api.http.get(f"/v1/runs/{run_id}")).json()["status"] == "completed"
    assert error_of(await api.http.get(f"/v1/runs/{run_id}/link")) == (409, "run_closed")


async def test_a_run_made_with_kubectl_has_a_link_once_it_is_admitted_and_says_until_then_why_not(api: Api) -> None:
    template = await api.account.create_template()
    dispatched = (await api.account.dispatch(template["id"]))["run_id"]
    resolved = (await api.kube.get(RUN, dispatched, api.namespace))["spec"]["resolved"]
    for reference in ({"templateRef": {"name": template["id"]}}, {"templateId": template["id"]}):
        run_id = new_id("r")
        body = owned(RUN, run_id, api.organization, api.namespace, reference)
        del body["spec"]["organizationRef"]  # of the template's then
        await api.kube.create(RUN, body, api.namespace)
        path = f"/v1/runs/{run_id}/link"
        assert error_of(await api.http.get(path)) == (409, "run_not_admitted")
        refused = {"type": "Admitted", "status": "False", "reason": "QuotaExceeded", "message": "All 3 runs are used."}
        refused["lastTransitionTime"] = format_timestamp(utc_now())
        await api.kube.patch_status(RUN, run_id, {"conditions": [refused]}, api.namespace)
        response = await api.http.get(path)
        assert error_of(response) == (409, "run_not_admitted")
        assert response.json()["message"] == "The run is not admitted (QuotaExceeded): All 3 runs are used."
        await api.kube.patch_status(RUN, run_id, {"resolved": resolved}, api.namespace)
        response = await api.http.get(path)
        assert response.status_code == 200
        assert response.json()["link"].endswith(f"/r/{run_id}#{api.token(run_id)}")


async def test_a_run_that_is_not_admitted_is_not_there_for_another_organization(api: Api) -> None:
    """The namespace is one that both may use."""
    other = await api.make_account()
    template = await other.create_template()
    named, unnamed, ownerless = new_id("r"), new_id("r"), new_id("r")
    theirs = owned(RUN, named, other.organization, api.namespace, {"templateRef": {"name": template["id"]}})
    by_template = owned(RUN, unnamed, other.organization, api.namespace, {"templateRef": {"name": template["id"]}})
    unknown = owned(RUN, ownerless, other.organization, api.namespace, {"templateRef": {"name": "missing"}})
    for body in (by_template, unknown):
        del body["spec"]["organizationRef"]
    for body in (theirs, by_template, unknown):
        await api.kube.create(RUN, body, api.namespace)
    headers = {"X-Request-Id": "same"}
    ids = (new_id("r"), named, unnamed, ownerless)
    answers = [await api.http.get(f"/v1/runs/{run_id}/link", headers=headers) for run_id in ids]
    assert {(answer.status_code, answer.content) for answer in answers} == {
        (404, b'{"error":"run_not_found","message":"There is no such run in this organization.","request_id":"same"}')
    }
    assert error_of(await other.http.get(f"/v1/runs/{named}/link")) == (409, "run_not_admitted")
