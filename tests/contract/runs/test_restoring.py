"""While a backup is being restored an organization is neither shown in parts nor changed: callers are asked to come
again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx
from tests.contract.conftest import Account, Api, key_object, owned
from tests.contract.dashboard_client import at_desk
from tests.contract.executor_client import OPERATIONS, Person
from tests.waiting import eventually

from checklist_crds.ids import new_id, object_id
from checklist_crds.resources.base import RESTORING_ANNOTATION
from checklist_crds.resources.kinds import API_KEY, MEMBER, ORGANIZATION, RUN
from checklist_crds.secrets import api_keys


@contextlib.asynccontextmanager
async def _restoring(api: Api, account: Account) -> AsyncIterator[None]:
    directory = api.services.organizations

    async def mark(snapshot: str | None) -> None:
        patch = {"metadata": {"annotations": {RESTORING_ANNOTATION: snapshot}}}
        await api.kube.patch(ORGANIZATION, account.organization, patch)
        await eventually(lambda: directory.is_restoring(account.organization) == (snapshot is not None))

    await mark("20261122T204134.000Z")
    try:
        yield
    finally:
        await mark(None)


def _assert_retry_after(response: httpx.Response) -> None:
    assert response.status_code == 503, response.text
    assert response.headers["Retry-After"] == "30"
    assert response.json()["error"] == "service_unavailable"
    assert "restored" in response.json()["message"]


def _person(api: Api, run_id: str) -> Person:
    return Person(run_id, api, api.token(run_id))


async def test_owners_and_executors_get_retry_after_and_nothing_changes(api: Api) -> None:
    template = await api.account.create_template()
    run_id = str((await api.account.dispatch(template["id"]))["run_id"])
    person = _person(api, run_id)
    before = await api.kube.get(RUN, run_id, api.namespace)
    unused = key_object(key := api_keys.new_key(), api.organization, api.namespace)
    await api.kube.create(API_KEY, unused, api.namespace)
    async with _restoring(api, api.account):
        for path in ("/v1/runs", f"/v1/runs/{run_id}", "/v1/templates", "/v1/usage", "/v1/deliveries"):
            _assert_retry_after(await api.http.get(path))
        _assert_retry_after(await api.http.post("/v1/runs", json={"template_id": template["id"]}))
        _assert_retry_after(await api.http.post(f"/v1/runs/{run_id}/cancel"))
        _assert_retry_after(await api.anonymous.get(f"/v1/runs/{run_id}/preview"))
        for method, path, body in OPERATIONS:
            where = path.replace("s-a", "s-clean")
            if "photos" not in path and path != "/signature":
                _assert_retry_after(await person.call(method, where, json=body))
        page = await api.anonymous.get(f"/r/{run_id}")
        assert (page.status_code, page.headers["Retry-After"]) == (503, "30")
        assert page.headers["Content-Type"].startswith("text/html")
        _assert_retry_after(await api.anonymous.get("/v1/runs", headers={"Authorization": f"Bearer {key}"}))
        await asyncio.sleep(0.5)  # the use of the key would be noted in the background
        assert "status" not in await api.kube.get(API_KEY, unused["metadata"]["name"], api.namespace)
        assert await api.kube.get(RUN, run_id, api.namespace) == before
    assert (await api.http.get(f"/v1/runs/{run_id}")).status_code == 200
    assert (await person.answer("clean")).status_code == 200
    assert (await api.anonymous.get(f"/r/{run_id}")).status_code == 200


async def test_what_is_not_there_yet_is_not_called_unknown(api: Api) -> None:
    known = await api.make_account()
    mine = str(await known.new_run())
    strange, nowhere = {"Authorization": f"Bearer {api_keys.new_key()}"}, new_id("r")

    async def statuses() -> list[int]:
        looks = [("/v1/runs", strange), (f"/v1/runs/{nowhere}/preview", {}), (f"/r/{nowhere}", {})]
        calls = [await api.anonymous.get(path, headers=headers) for path, headers in looks]
        return [each.status_code for each in (*calls, await _person(api, nowhere).call("GET"))]

    async with _restoring(api, api.account):
        assert await statuses() == [503, 503, 503, 503]
        # What cannot be a key is none, and other organizations notice nothing.
        assert (await api.anonymous.get("/v1/runs", headers={"Authorization": "Bearer x"})).status_code == 401
        found = [(await known.http.get(f"/v1/runs/{run_id}")).status_code for run_id in (mine, nowhere)]
        assert found == [200, 404]
        assert (await Person(mine, api, api.token(mine, known)).answer("clean")).status_code == 200
    assert await statuses() == [401, 404, 404, 404]


async def test_members_stay_signed_in_and_get_retry_after(api: Api) -> None:
    other = await api.make_account()
    desk = await at_desk(api)
    elsewhere = await at_desk(api, account=other)
    async with _restoring(api, api.account):
        session = await api.anonymous.get("/dashboard/api/session", headers=desk.person.headers)
        assert [each["id"] for each in session.json()["organizations"]] == [desk.person.organization_id]
        for path in ("/runs", "/keys", "/templates", "/usage", "/events"):
            _assert_retry_after(await desk.get(path))
            if path != "/events":  # which does not end
                assert (await elsewhere.get(path)).status_code == 200
        _assert_retry_after(await desk.post("/keys", {"name": "mine"}))
    assert (await desk.get("/runs")).status_code == 200


async def test_no_sign_in_takes_over_a_member_that_is_being_restored(api: Api) -> None:
    """The restore would find a member that is not as the backup has them."""
    desk = await at_desk(api)
    invited = object_id("u", new_id("u"))
    spec = {"name": "Ada", "email": desk.person.email, "role": "viewer"}
    body = owned(MEMBER, invited, api.organization, api.namespace, spec)

    async def is_bound() -> bool:
        response = await api.anonymous.get("/dashboard/api/session", headers=desk.person.headers)
        assert response.status_code == 200
        found = await api.kube.get(MEMBER, invited, api.namespace)
        return "binding" in (found.get("status") or {})

    async with _restoring(api, api.account):
        await api.kube.create(MEMBER, body, api.namespace)
        members = api.services.dashboard._members
        await eventually(lambda: any(member.person is None for member in members.with_email(desk.person.email)))
        assert not await is_bound()
    await eventually(is_bound)
