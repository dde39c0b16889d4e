"""Who may call, and how often (specification, "Authentication"; contract sections 7 and 8)."""

import asyncio
import time
from typing import Any

import httpx
import pytest

from checklist_crds import api_keys
from checklist_crds.ids import new_id
from checklist_crds.kube.kinds import API_KEY, NAMESPACE, ORGANIZATION
from checklist_crds.secret_digest import digest
from checklist_crds.times import parse_timestamp, utc_now
from checklist_dev.kubectl import Kubectl

from .conftest import ALL_NAMESPACES, Api, StartApi, http_client, key_object


async def status_with(api: Api, authorization: str | None) -> httpx.Response:
    headers = {"X-Request-Id": "same"} | ({"Authorization": authorization} if authorization is not None else {})
    return await api.anonymous.get("/v1/templates", headers=headers)


async def test_every_refused_key_gets_one_and_the_same_answer(api: Api) -> None:
    revoked = await api.make_account()
    await api.kube.patch(API_KEY, api_keys.object_name(digest(revoked.key)), {"spec": {"revoked": True}}, api.namespace)
    await asyncio.sleep(0.5)
    answers = [
        await status_with(api, authorization)
        for authorization in (
            None,
            "",
            "Bearer",
            "Basic dXNlcjpwYXNz",
            f"Basic {api.account.key}",
            api.account.key,
            f"Bearer  {api.account.key}",
            f"Bearer {api.account.key}x",
            f"Bearer {api.account.key[:-1]}",
            f"Bearer {api.account.key.replace('cds_live_', 'cds_test_')}",
            f"Bearer {api_keys.new_key()}",
            f"Bearer {revoked.key}",
        )
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {"Bearer"}
    assert answers[0].json() == {
        "error": "unauthorized",
        "message": "The API key is missing or not valid.",
        "request_id": "same",
    }


async def test_the_scheme_is_written_in_any_case(api: Api) -> None:
    assert (await status_with(api, f"bearer {api.account.key}")).status_code == 200


async def test_two_authorization_headers_are_refused(api: Api) -> None:
    key = f"Bearer {api.account.key}"
    response = await api.anonymous.get("/v1/templates", headers=[("Authorization", key), ("Authorization", key)])
    assert response.status_code == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/templates"),
        ("GET", "/v1/templates"),
        ("GET", "/v1/templates/t-x"),
        ("PATCH", "/v1/templates/t-x"),
        ("DELETE", "/v1/templates/t-x"),
        ("GET", "/v1/templates/t-x/versions"),
        ("POST", "/v1/templates/generate"),
        ("POST", "/v1/runs"),
        ("GET", "/v1/runs"),
        ("GET", "/v1/runs/r-x"),
        ("POST", "/v1/runs/r-x/cancel"),
        ("GET", "/v1/usage"),
    ],
)
async def test_every_owner_operation_needs_a_key_before_anything_else(api: Api, method: str, path: str) -> None:
    response = await api.anonymous.request(method, path, content=b"not json", headers={"Content-Type": "text/plain"})
    assert response.status_code == 401


async def test_a_key_works_the_moment_it_was_made(api: Api) -> None:
    for _ in range(5):
        account = await api.make_account()
        assert (await account.http.get("/v1/templates")).status_code == 200


async def test_a_revoked_key_is_refused_within_a_second(api: Api, kubectl: Kubectl) -> None:
    assert (await api.http.get("/v1/templates")).status_code == 200
    name = api_keys.object_name(digest(api.account.key))
    await api.kube.patch(API_KEY, name, {"spec": {"revoked": True}}, api.namespace)
    deadline = time.monotonic() + 1.0
    while (await api.http.get("/v1/templates")).status_code != 401:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_a_deleted_key_is_refused_within_a_second(api: Api) -> None:
    name = api_keys.object_name(digest(api.account.key))
    assert (await api.http.get("/v1/templates")).status_code == 200
    await api.kube.delete(API_KEY, name, api.namespace)
    deadline = time.monotonic() + 1.0
    while (await api.http.get("/v1/templates")).status_code != 401:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_a_key_that_gitops_named_by_hand_works(api: Api) -> None:
    key = api_keys.new_key()
    named = key_object(key, api.organization, api.namespace, name="billing-system")
    await api.kube.create(API_KEY, named, api.namespace)
    async with http_client(api.base_url, key) as http:
        assert (await http.get("/v1/templates")).status_code == 200


async def test_keys_work_before_the_first_list_has_come(api: Api) -> None:
    """A cold cache: the informers of this API never ran."""
    by_hand = api_keys.new_key()
    await api.kube.create(
        API_KEY, key_object(by_hand, api.organization, api.namespace, name="named-by-hand"), api.namespace
    )
    keys, organizations = api.services.keys, api.services.organizations
    cold_keys = type(keys)(api.services.client, api.kube, api.namespace)
    cold_organizations = type(organizations)(api.services.client, api.kube, api.namespace)
    for key in (api.account.key, by_hand):
        found = await cold_keys.find(digest(key))
        assert found is not None
        assert await cold_organizations.get(found.organization) is not None
    assert await cold_keys.find(digest(api_keys.new_key())) is None


async def test_a_flood_of_one_unknown_key_asks_the_cluster_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    get = api.services.client.get

    async def counted(kind: Any, name: str, namespace: str | None = None) -> Any:
        calls.append(name)
        return await get(kind, name, namespace)

    monkeypatch.setattr(api.services.client, "get", counted)
    unknown = f"Bearer {api_keys.new_key()}"
    answers = await asyncio.gather(*(status_with(api, unknown) for _ in range(30)))
    assert {answer.status_code for answer in answers} == {401}
    assert len(calls) == 1


async def test_a_key_of_an_organization_that_is_gone_is_refused(api: Api) -> None:
    account = await api.make_account()
    assert (await account.http.get("/v1/templates")).status_code == 200
    await api.kube.delete(ORGANIZATION, account.organization)
    await asyncio.sleep(0.5)
    assert (await account.http.get("/v1/templates")).status_code == 401


async def test_a_key_outside_the_organizations_namespaces_is_refused(start_api: StartApi) -> None:
    api = await start_api(**ALL_NAMESPACES)
    elsewhere = f"{api.namespace}-elsewhere"
    await api.kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": elsewhere}})
    key = api_keys.new_key()
    await api.kube.create(API_KEY, key_object(key, api.organization, elsewhere), elsewhere)
    assert (await status_with(api, f"Bearer {key}")).status_code == 401


async def test_a_copied_digest_in_another_organization_opens_nothing(api: Api) -> None:
    other = await api.make_account()
    copied = key_object(api.account.key, other.organization, api.namespace, name="stolen-digest")
    await api.kube.create(API_KEY, copied, api.namespace)
    await asyncio.sleep(0.5)
    assert (await api.http.get("/v1/templates")).status_code == 401


async def test_an_organization_in_a_namespace_of_its_own_is_served(start_api: StartApi) -> None:
    api = await start_api(**ALL_NAMESPACES)
    home = f"{api.namespace}-home"
    await api.kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
    account = await api.make_account(home=home)
    run_id = await account.new_run()
    assert (await account.http.get(f"/v1/runs/{run_id}")).json()["status"] == "pending"
    assert (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).status_code == 200
    assert (await account.http.get("/v1/runs")).json()["pagination"]["total"] == 1
    assert (await api.http.get(f"/v1/runs/{run_id}")).status_code == 404


async def test_the_last_use_of_a_key_is_noted_once(api: Api) -> None:
    name = api_keys.object_name(digest(api.account.key))
    for _ in range(10):
        await api.http.get("/v1/templates")
    await asyncio.sleep(0.5)
    key = await api.kube.get(API_KEY, name, api.namespace)
    assert abs((utc_now() - parse_timestamp(key["status"]["lastUsedAt"])).total_seconds()) < 30
    await api.http.get("/v1/templates")
    await asyncio.sleep(0.2)
    again = await api.kube.get(API_KEY, name, api.namespace)
    assert again["metadata"]["resourceVersion"] == key["metadata"]["resourceVersion"]


async def test_beyond_its_rate_a_key_gets_429_with_a_whole_number_of_seconds(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RATE_LIMIT="1/s burst 5")
    answers = await asyncio.gather(*(api.http.get("/v1/templates") for _ in range(9)))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [429] * 4
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert int(refused.headers["Retry-After"]) >= 1
    assert refused.json()["error"] == "rate_limited"
    other = await api.make_account()
    assert (await other.http.get("/v1/templates")).status_code == 200


async def test_too_many_requests_is_told_before_anything_else(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RATE_LIMIT="1/min burst 1")
    await api.http.get("/v1/templates")
    assert (await api.http.post("/v1/runs", content=b"nonsense")).status_code == 429


async def test_an_organization_may_have_a_rate_of_its_own(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RATE_LIMIT="100/s burst 200")
    slow = await api.make_account(rateLimit={"requestsPerSecond": 0.1, "burst": 2})
    statuses = [(await slow.http.get("/v1/templates")).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


async def test_previews_and_wrong_keys_are_limited_by_address(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RATE_LIMIT="off", CHECKLISTS_ADDRESS_RATE_LIMIT="1/min burst 3")
    path = f"/v1/runs/{new_id('r')}/preview"
    statuses = [
        (await api.anonymous.get(path, headers={"X-Forwarded-For": f"198.51.100.{number}"})).status_code
        for number in range(4)
    ]
    assert statuses == [404, 404, 404, 429]
    assert (await status_with(api, f"Bearer {api_keys.new_key()}")).status_code == 429
    assert (await api.http.get("/v1/templates")).status_code == 200


async def test_behind_a_trusted_proxy_the_address_is_the_clients(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_ADDRESS_RATE_LIMIT="1/min burst 1", CHECKLISTS_TRUSTED_PROXIES="1")
    path = f"/v1/runs/{new_id('r')}/preview"
    for address, status in (("198.51.100.1", 404), ("198.51.100.2", 404), ("9.9.9.9, 198.51.100.1", 429)):
        response = await api.anonymous.get(path, headers={"X-Forwarded-For": address})
        assert response.status_code == status
