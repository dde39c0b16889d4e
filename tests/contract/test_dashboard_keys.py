"""API keys in the dashboard: made once, shown once, revoked everywhere."""

import re

import httpx
from tests.waiting import eventually

from checklist_crds.kube.kinds import API_KEY, AUDIT_ENTRY
from checklist_crds.secret_digest import digest

from .conftest import Api, StartApi, http_client, shared_api
from .dashboard_client import at_desk
from .executor_client import error_of

api = shared_api


async def test_a_new_key_is_shown_once_opens_the_api_and_knows_its_maker_and_its_last_use(api: Api) -> None:
    desk = await at_desk(api, name="Grace Hopper")
    response = await desk.post("/keys", {"name": "  Nightly export "})
    made = response.json()
    assert response.status_code == 201
    assert re.fullmatch(r"cds_live_[0-9A-Za-z]{32}", made["key"])
    assert (made["name"], made["prefix"], made["last_four"]) == ("Nightly export", "cds_live_", made["key"][-4:])
    assert (made["created_by"], made["last_used_at"]) == ({"id": desk.member_id, "name": "Grace Hopper"}, None)
    async with http_client(api.base_url, made["key"]) as bearer:
        assert (await bearer.get("/v1/templates")).status_code == 200
    listed = await desk.told("/keys")
    newest = listed["data"][0]
    assert (newest["id"], newest["revoked"], listed["pagination"]["total"]) == (made["id"], False, 2)
    assert "key" not in newest
    assert made["key"] not in str(listed)

    async def last_use() -> str | None:
        return (await desk.told("/keys"))["data"][0]["last_used_at"]

    assert await eventually(last_use) >= newest["created_at"][:19]
    # The plaintext is nowhere in the cluster.
    keys, entries = await api.all_of(API_KEY), await api.all_of(AUDIT_ENTRY)
    assert entries
    assert made["key"] not in str(keys + entries)
    assert digest(made["key"]) in {body["spec"]["sha256"] for body in keys}


async def test_a_name_that_is_none_is_refused_and_nothing_is_made(api: Api) -> None:
    desk = await at_desk(api)
    assert error_of(await desk.post("/keys", {})) == (400, "missing_field")
    for name in ("", "  ", "x" * 201, 7, "two\nlines", None):
        assert error_of(await desk.post("/keys", {"name": name})) == (422, "validation_failed")
    assert (await desk.told("/keys"))["pagination"]["total"] == 1
    assert (await desk.told("/audit"))["pagination"]["total"] == 0


async def test_a_revoked_key_stays_in_the_list_and_revoking_it_again_changes_nothing(api: Api) -> None:
    desk = await at_desk(api)
    made = (await desk.post("/keys", {"name": "export"})).json()
    for _ in range(2):
        response = await desk.post(f"/keys/{made['id']}/revoke")
        assert (response.status_code, response.json()["revoked"]) == (200, True)
    assert (await desk.told("/keys"))["data"][0]["revoked"] is True
    actions = [entry["action"] for entry in (await desk.told("/audit"))["data"]]
    assert actions == ["api_key.revoked", "api_key.created"]
    for name in ("key-" + "0" * 40, "NOT A NAME", "-x", "a" * 300):
        assert error_of(await desk.post(f"/keys/{name}/revoke")) == (404, "api_key_not_found")


async def test_a_revoked_key_is_refused_at_once_by_another_replica_too(start_api: StartApi) -> None:
    """Also one that kubectl revokes; the other replica has used the key a moment before, so it has it in its copy."""
    first, second = await start_api(), await start_api()
    desk = await at_desk(first)
    for by_kubectl in (False, True):
        made = (await desk.post("/keys", {"name": "export"})).json()
        async with http_client(second.base_url, made["key"]) as bearer:
            assert (await bearer.get("/v1/templates")).status_code == 200
            if by_kubectl:
                await first.kube.patch(API_KEY, made["id"], {"spec": {"revoked": True}}, first.namespace)
            else:
                await desk.post(f"/keys/{made['id']}/revoke")

            async def is_refused(bearer: httpx.AsyncClient = bearer) -> bool:
                return (await bearer.get("/v1/templates")).status_code == 401

            await eventually(is_refused, within_s=10)
