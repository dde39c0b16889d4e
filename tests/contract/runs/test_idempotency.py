"""Idempotency-Key on POST /v1/runs and POST /v1/templates (contract section 5)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.contract.archive_lab import ArchiveLab
from tests.contract.conftest import Account, Api, StartApi, definition, shared_api
from tests.contract.executor_client import error_of

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeOutcomeUnknown
from checklist_crds.resources.kinds import AUDIT_ENTRY, IDEMPOTENCY_RECORD, ORGANIZATION, RUN, TEMPLATE
from checklist_crds.times import utc_now

api = shared_api

IN_PROGRESS = (409, "idempotency_in_progress")


async def post(account: Account, path: str, body: dict[str, Any], key: str = "key-1") -> httpx.Response:
    return await account.http.post(path, json=body, headers={"Idempotency-Key": key})


async def used(api: Api) -> int:
    return int((await api.http.get("/v1/usage")).json()["used"])


class Gate:
    """A call that waits at its beginning until `go_on`."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, *given: Any) -> Any:
        if RUN in given or isinstance(given[0], str):
            self.reached.set()
            await self.go_on.wait()
        return await self._call(*given)


async def test_a_repeated_dispatch_gets_the_first_answer_and_makes_no_second_run(api: Api) -> None:
    template = await api.account.create_template()
    body = {"template_id": template["id"], "expires_in_hours": 1, "executor_ref": "guess-me-if-you-can"}
    first = await post(api.account, "/v1/runs", body)
    assert (first.status_code, first.headers.get("Idempotency-Replayed")) == (201, None)
    # The key tells nothing of the body to those who read the cluster.
    annotations = (await api.kube.get(RUN, first.json()["run_id"], api.namespace))["metadata"]["annotations"]
    assert not {word for word in ("key-1", "guess-me") if word in str(annotations)}
    again = await post(api.account, "/v1/runs", dict(reversed(body.items())))
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.content == first.content
    other = await post(api.account, "/v1/runs", body | {"executor_ref": "y"})
    assert error_of(other) == (422, "idempotency_key_reused")
    assert (await api.http.get("/v1/runs")).json()["pagination"]["total"] == 1
    assert await used(api) == 1
    # Nor do the end of the template and of the quota change the answer.
    await api.http.delete(f"/v1/templates/{template['id']}")
    await api.kube.patch(ORGANIZATION, api.organization, {"spec": {"plan": {"runsPerMonth": 1}}})
    again = await post(api.account, "/v1/runs", body)
    assert (again.status_code, again.content) == (201, first.content)


async def test_a_repeated_create_gets_the_first_answer_whatever_became_of_the_template(api: Api) -> None:
    body = definition(tags=["a"])
    first = await post(api.account, "/v1/templates", body)
    template_id = first.json()["id"]
    await api.http.patch(f"/v1/templates/{template_id}", json={"name": "Changed", "tags": []})
    again = await post(api.account, "/v1/templates", body)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert (again.content, again.headers["ETag"]) == (first.content, '"1"')
    other = await post(api.account, "/v1/templates", definition(tags=["b"]))
    assert error_of(other) == (422, "idempotency_key_reused")
    assert (await api.http.get("/v1/templates")).json()["pagination"]["total"] == 1


async def test_keys_are_scoped_and_invalid_ones_refused(
    api: Api,
) -> None:
    for account in (api.account, await api.make_account()):
        template = await account.create_template()
        assert (await post(account, "/v1/runs", {"template_id": template["id"]})).status_code == 201
    assert (await post(api.account, "/v1/templates", definition())).status_code == 201
    for key in ("", "x" * 256, "a b", "ß"):
        for path, body in (("/v1/runs", {"template_id": 7}), ("/v1/templates", {"name": "", "sections": 7})):
            response = await api.http.post(path, json=body, headers={"Idempotency-Key": key.encode()})
            assert error_of(response) == (400, "invalid_parameter"), (path, key)


async def test_a_refused_dispatch_uses_up_no_key(api: Api) -> None:
    account = await api.make_account(plan={"name": "none", "runsPerMonth": 0})
    body = {"template_id": (await account.create_template())["id"]}
    assert (await post(account, "/v1/runs", body)).status_code == 402
    await api.kube.patch(ORGANIZATION, account.organization, {"spec": {"plan": {"runsPerMonth": 5}}})
    assert (await post(account, "/v1/runs", body)).status_code == 201


async def test_requests_at_the_same_time_make_one_run_and_one_template(start_api: StartApi) -> None:
    apis = [await start_api() for _ in range(3)]
    template = await apis[0].account.create_template()
    for path, body, kind in (
        ("/v1/runs", {"template_id": template["id"]}, RUN),
        ("/v1/templates", definition(), TEMPLATE),
    ):
        before = len(await apis[0].all_of(kind))
        answers = await asyncio.gather(*(post(api.account, path, body, key="same-moment") for api in apis * 5))
        made = [answer for answer in answers if answer.status_code == 201]
        assert len([answer for answer in made if "Idempotency-Replayed" not in answer.headers]) == 1
        assert len({answer.content for answer in made}) == 1
        assert {error_of(answer) for answer in answers if answer.status_code != 201} <= {IN_PROGRESS}
        assert len(await apis[0].all_of(kind)) == before + 1
    assert await used(apis[0]) == 1


async def test_a_dispatch_that_another_process_has_counted_but_not_made_is_in_progress(start_api: StartApi) -> None:
    api, other = await start_api(), await start_api()
    body = {"template_id": (await api.account.create_template())["id"]}
    gate = Gate(other.services.client.create)
    other.services.client.create = gate  # type: ignore[method-assign]
    first = asyncio.create_task(post(other.account, "/v1/runs", body))
    await gate.reached.wait()
    assert error_of(await post(api.account, "/v1/runs", body)) == IN_PROGRESS
    gate.go_on.set()
    assert (await first).status_code == 201
    replayed = await post(api.account, "/v1/runs", body)
    assert (replayed.status_code, replayed.json()) == (201, (await first).json())
    assert await used(api) == 1


async def test_a_replayed_run_is_in_the_next_list(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(*_: Any, **__: Any) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield

    api = await start_api()
    monkeypatch.setattr(KubeClient, "watch", silent)
    other = await start_api()
    template = (await post(api.account, "/v1/templates", definition())).json()
    assert (await post(other.account, "/v1/templates", definition())).json() == template
    assert [one["id"] for one in (await other.http.get("/v1/templates")).json()["data"]] == [template["id"]]
    body = {"template_id": template["id"]}
    run = (await post(api.account, "/v1/runs", body)).json()
    assert (await other.anonymous.get(f"/v1/runs/{run['run_id']}/preview")).status_code == 200
    assert (await post(other.account, "/v1/runs", body)).json() == run
    assert [one["run_id"] for one in (await other.http.get("/v1/runs")).json()["data"]] == [run["run_id"]]


@pytest.mark.parametrize("confirmed", [True, False], ids=["the first was counted for good", "the first died"])
async def test_a_racing_repeated_dispatch_is_not_counted(start_api: StartApi, confirmed: bool) -> None:
    now = utc_now()
    api, other = await start_api(clock=lambda: now), await start_api(clock=lambda: now)
    body = {"template_id": (await api.account.create_template())["id"]}
    gate = Gate(other.services.quota.reserve)
    other.services.quota.reserve = gate  # type: ignore[method-assign]
    if not confirmed:
        api.services.quota.confirm = lambda *_: None  # type: ignore[method-assign]
    repeated = asyncio.create_task(post(other.account, "/v1/runs", body))
    await gate.reached.wait()
    first = await post(api.account, "/v1/runs", body)
    await api.services.quota.flush(api.organization)
    now += timedelta(seconds=15)  # a count that is not confirmed may be taken over
    gate.go_on.set()
    assert (await repeated).json() == first.json()
    await other.services.quota.flush(api.organization)
    quota = (await api.kube.get(ORGANIZATION, api.organization))["status"]["quota"]
    assert (quota["used"], quota["pending"]) == (1, [])
    assert await used(api) == 1


async def test_what_was_deleted_is_never_made_again_by_its_key(start_api: StartApi) -> None:
    """With REST or with kubectl; nor by another replica, which was started afterwards."""
    api = await start_api()
    template = await api.account.create_template()
    requests = {
        "by-rest": ("/v1/templates", definition(tags=["a"]), TEMPLATE),
        "by-kubectl": ("/v1/templates", definition(tags=["b"]), TEMPLATE),
        "run": ("/v1/runs", {"template_id": template["id"]}, RUN),
    }
    for key, (path, body, kind) in requests.items():
        made = await post(api.account, path, body, key)
        name = made.json()["run_id" if kind is RUN else "id"]
        if key == "by-rest":
            assert (await api.http.delete(f"{path}/{name}")).status_code == 204
        else:
            await api.kube.delete(kind, name, api.namespace)
    templates = len(await api.all_of(TEMPLATE))
    for each in (api, await start_api()):
        for key, (path, body, _) in requests.items():
            assert error_of(await post(each.account, path, body, key)) == (410, "resource_deleted"), key
            other = await post(each.account, path, body | {"tags": ["c"], "executor_ref": "y"}, key)
            assert error_of(other) == (422, "idempotency_key_reused"), key
    assert (len(await api.all_of(TEMPLATE)), await api.all_of(RUN), await used(api)) == (templates, [], 1)
    announced = [entry["spec"]["action"] for entry in await api.all_of(AUDIT_ENTRY)]
    assert announced.count("template.created") == 3


async def test_a_run_that_went_to_the_archive_is_answered_as_at_first(start_api: StartApi) -> None:
    api = await start_api()
    body = {"template_id": (await api.account.create_template())["id"], "expires_in_hours": 1}
    first = await post(api.account, "/v1/runs", body)
    run_id = first.json()["run_id"]
    assert (await api.http.post(f"/v1/runs/{run_id}/cancel")).status_code == 200
    lab = ArchiveLab(api)
    await lab.archive(run_id)
    await lab.loaded()
    for each in (api, await start_api()):
        again = await post(each.account, "/v1/runs", body)
        assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
        assert again.content == first.content
        assert error_of(await post(each.account, "/v1/runs", body | {"executor_ref": "y"}))[0] == 422
    assert (await api.all_of(RUN), await used(api)) == ([], 1)


async def test_a_run_deleted_between_two_looks_at_it_is_not_made_again(start_api: StartApi) -> None:
    """The first process dies between the run and its record: the next request with the key writes the record."""
    api, other = await start_api(), await start_api()
    body = {"template_id": (await api.account.create_template())["id"]}
    create = other.services.client.create

    async def dies(kind: Any, *given: Any) -> Any:
        if kind is IDEMPOTENCY_RECORD:
            raise KubeOutcomeUnknown("the connection broke")
        return await create(kind, *given)

    other.services.client.create = dies  # type: ignore[method-assign]
    assert error_of(await post(other.account, "/v1/runs", body)) == (503, "service_unavailable")
    again = await post(api.account, "/v1/runs", body)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    await api.kube.delete(RUN, again.json()["run_id"], api.namespace)
    assert error_of(await post(api.account, "/v1/runs", body)) == (410, "resource_deleted")
    assert await used(api) == 1


async def test_a_key_is_good_for_24_hours_across_midnight_and_not_longer(start_api: StartApi) -> None:
    made_at = now = (utc_now() + timedelta(days=2)).replace(hour=23, minute=0)
    api = await start_api(clock=lambda: now)
    body = {"template_id": (await api.account.create_template())["id"]}
    first = await post(api.account, "/v1/runs", body)
    for hours, replayed in ((0.9, True), (1.1, True), (23.9, True), (24.1, False)):
        now = made_at + timedelta(hours=hours)
        again = await post(api.account, "/v1/runs", body)
        assert ("Idempotency-Replayed" in again.headers) is replayed
        assert (again.json() == first.json()) is replayed
