"""Limits per organization: exact over replicas, also when many requests are concurrent; beyond one, nothing changes."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta

import httpx
import pytest
from tests.contract.conftest import Api, StartApi, definition
from tests.contract.dashboard_client import Desk, at_desk
from tests.contract.executor_client import error_of

from checklist_crds.limits.organization_limits import Counted, Reserved
from checklist_crds.resources.base import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.resources.kinds import (
    API_KEY,
    AUDIT_ENTRY,
    DELIVERY_REPLAY,
    IDEMPOTENCY_RECORD,
    LOCAL_ACCOUNT,
    MEMBER,
    ORGANIZATION,
    TEMPLATE,
    Kind,
)
from checklist_crds.secrets.account_links import account_name
from checklist_crds.times import utc_now

AT_ONCE = 50
Post = Callable[[Api, Desk], Awaitable[httpx.Response]]


async def _template(api: Api, _: Desk) -> httpx.Response:
    return await api.http.post("/v1/templates", json=definition())


async def _keyed(api: Api, key: str = "", path: str = "/v1/templates", **body: object) -> httpx.Response:
    headers = {"Idempotency-Key": key or uuid.uuid4().hex}
    return await api.http.post(path, json=body or definition(), headers=headers)


async def _key(_: Api, desk: Desk) -> httpx.Response:
    return await desk.post("/keys", {"name": "export"})


async def _member(_: Api, desk: Desk) -> httpx.Response:
    return await desk.post("/members", {"email": f"{uuid.uuid4().hex}@example.com", "name": "Ada", "role": "viewer"})


@pytest.mark.parametrize(
    ("setting", "what", "kind", "post"),
    [
        ("CHECKLISTS_MAX_TEMPLATES", "templates", TEMPLATE, _template),
        ("CHECKLISTS_MAX_API_KEYS", "api_keys", API_KEY, _key),
        ("CHECKLISTS_MAX_MEMBERS", "members", MEMBER, _member),
        ("CHECKLISTS_MAX_IDEMPOTENCY_KEYS", "idempotency_keys", TEMPLATE, lambda api, _: _keyed(api)),
    ],
)
async def test_a_cap_is_exact_over_two_replicas_and_nothing_is_changed_beyond_it(
    start_api: StartApi, setting: str, what: str, kind: Kind, post: Post
) -> None:
    apis = [await start_api(**{setting: "7"}) for _ in range(2)]
    desks = [await at_desk(api) for api in apis]
    there = len(await apis[0].all_of(kind))

    async def decided(api: Api, desk: Desk) -> httpx.Response:
        while (answer := await post(api, desk)).status_code == 503:  # too many at once for a slow machine
            await asyncio.sleep(float(answer.headers["Retry-After"]))
        return answer

    answers = await asyncio.gather(*(decided(apis[number % 2], desks[number % 2]) for number in range(AT_ONCE)))
    assert Counter(answer.status_code for answer in answers) == {201: 7 - there, 409: AT_ONCE - 7 + there}
    for refused in (answer.json() for answer in answers if answer.status_code == 409):
        assert (refused["error"], refused["details"]) == ("limit_reached", {"limit": 7, "used": 7, "what": what})
    assert len(await apis[0].all_of(kind)) == 7
    assert all(body["spec"].get("outcome") != "failed" for body in await apis[0].all_of(AUDIT_ENTRY))


async def test_the_bytes_of_templates_are_capped_when_they_are_made_and_when_they_grow(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_MAX_TEMPLATE_BYTES="20000")

    async def size_of(response: httpx.Response) -> int:
        body = await api.kube.get(TEMPLATE, response.json()["id"], api.namespace)
        return int(body["metadata"]["annotations"]["checklists.dev/bytes"])

    padded = definition(description="x" * 4000)
    answers = await asyncio.gather(*(api.http.post("/v1/templates", json=padded) for _ in range(10)))
    made = [answer for answer in answers if answer.status_code == 201]
    used = sum([await size_of(answer) for answer in made])
    assert used <= 20000 < used + used // len(made)
    refused = next(answer.json() for answer in answers if answer.status_code == 409)
    assert refused["details"] == {"limit": 20000, "used": used, "what": "template_bytes"}

    [first, second, *_] = [f"/v1/templates/{answer.json()['id']}" for answer in made]
    steps = [{"id": f"s-more-{number}", "type": "text", "label": "z" * 400} for number in range(6)]
    longer = {"sections": [*padded["sections"], {"id": "g-more", "title": "More", "steps": steps}]}
    grown = await api.http.patch(first, json=longer)
    assert (grown.status_code, grown.json()["details"]["what"]) == (409, "template_bytes")
    assert (await api.http.get(first)).json()["v"] == 1
    assert (await api.http.patch(second, json={"description": ""})).status_code == 200
    assert (await api.http.delete(second)).status_code == 204
    assert (await api.http.patch(first, json=longer)).status_code == 200


async def test_the_cap_of_the_organization_precedes_the_setting(
    start_api: StartApi,
) -> None:
    api = await start_api(CHECKLISTS_MAX_TEMPLATES="1")
    await api.kube.patch(ORGANIZATION, api.organization, {"spec": {"limits": {"templates": 2}}})
    await api.account.create_template()
    for _ in range(3):
        made = await api.account.create_template()
        assert (await api.http.post("/v1/templates", json=definition())).status_code == 409
        assert (await api.http.delete(f"/v1/templates/{made['id']}")).status_code == 204


@pytest.mark.parametrize(("ago", "status"), [(timedelta(minutes=3), 201), (timedelta(), 409)])
async def test_dead_reservations_expire(start_api: StartApi, ago: timedelta, status: int) -> None:
    api = await start_api(CHECKLISTS_MAX_TEMPLATES="1")
    left = Reserved("one", Counted.TEMPLATE, f"{api.namespace}/t-never-made", 100, utc_now() - ago)
    await api.kube.patch_status(ORGANIZATION, api.organization, {"reservations": [left.as_status()]})
    assert (await api.http.post("/v1/templates", json=definition())).status_code == status


async def test_versions_of_a_template_are_capped_until_the_earlier_ones_are_gone(start_api: StartApi) -> None:
    apis = [await start_api(CHECKLISTS_MAX_VERSIONS="3") for _ in range(2)]
    path = f"/v1/templates/{(await apis[0].account.create_template())['id']}"
    answers = await asyncio.gather(
        *(apis[number % 2].http.patch(path, json={"name": f"Round {number}"}) for number in range(12))
    )
    refused = [answer.json() for answer in answers if answer.status_code == 409]
    assert len(refused) == 12 - 3
    assert refused[0]["details"] == {"limit": 3, "used": 3, "what": "versions"}
    assert (await apis[0].http.get(path)).json()["v"] == 4


async def test_accounts_that_admins_make_are_capped(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_MAX_ACCOUNTS="2")
    desk, email = await at_desk(api), f"{uuid.uuid4().hex}@example.com"
    labels = {ORGANIZATION_LABEL: api.organization}
    earlier = {"metadata": {"name": account_name(email), "labels": labels}, "spec": {"email": email, "name": "Ada"}}
    identity = {"apiVersion": API_VERSION, "kind": LOCAL_ACCOUNT.kind}
    await api.kube.create(LOCAL_ACCOUNT, identity | earlier, api.namespace)
    answers = [await _member(api, desk) for _ in range(2)]
    answers.append(await desk.post("/members", {"email": email, "name": "Ada", "role": "viewer"}))
    assert [answer.status_code for answer in answers] == [201, 409, 201], "the last one has an account, by its old name"
    assert answers[1].json()["details"] == {"limit": 2, "used": 2, "what": "accounts"}
    assert len(await api.all_of(MEMBER)) == 2 + 2
    made, _ = await api.kube.list_all(
        LOCAL_ACCOUNT, api.namespace, label_selector=f"{ORGANIZATION_LABEL}={api.organization}"
    )
    assert len(made) == 2


async def test_a_revoked_key_leaves_room_for_another_but_its_record_stays_and_counts(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_MAX_API_KEYS="2")
    desk = await at_desk(api)
    for _ in range(18):
        made = (await _key(api, desk)).json()
        assert (await _key(api, desk)).json()["details"]["what"] == "api_keys"
        assert (await desk.post(f"/keys/{made['id']}/revoke")).status_code == 200
    made = (await _key(api, desk)).json()
    assert (await desk.post(f"/keys/{made['id']}/revoke")).status_code == 200
    assert (await _key(api, desk)).json()["details"] == {"limit": 20, "used": 20, "what": "api_key_records"}


async def test_at_the_cap_a_new_key_makes_nothing_and_used_ones_runs_and_requests_without_a_key_go_on(
    start_api: StartApi,
) -> None:
    """Deleting what was made leaves no room: its record stays for 24 hours."""
    now = made_at = utc_now().replace(minute=30)
    api = await start_api(clock=lambda: now, CHECKLISTS_MAX_IDEMPOTENCY_KEYS="3")
    template = (await _keyed(api, "one")).json()
    replays = "/v1/deliveries/replay"
    assert (await _keyed(api, "replay", replays, filter={"host": "a.example"})).status_code == 202
    again = (await _keyed(api, "two")).json()["id"]
    assert (await api.http.delete(f"/v1/templates/{again}")).status_code == 204
    kinds = (TEMPLATE, DELIVERY_REPLAY, IDEMPOTENCY_RECORD, AUDIT_ENTRY)
    before = [await api.all_of(kind) for kind in kinds]
    for refused in (await _keyed(api), await _keyed(api, path=replays, filter={"host": "b.example"})):
        assert error_of(refused) == (409, "limit_reached")
        assert refused.json()["details"] == {"limit": 3, "used": 3, "what": "idempotency_keys"}
    assert [await api.all_of(kind) for kind in kinds] == before
    assert (await _keyed(api, "one")).json() == template
    assert error_of(await _keyed(api, "two")) == (410, "resource_deleted")
    assert (await api.http.post("/v1/templates", json=definition())).status_code == 201
    assert (await _keyed(api, path="/v1/runs", template_id=template["id"])).status_code == 201
    for hours, status in ((23.9, 409), (24.6, 201)):
        now = made_at + timedelta(hours=hours)
        assert (await _keyed(api)).status_code == status
