"""Who gets to the dashboard's routes: sessions, roles, organizations, and writes of our own page only."""

import httpx
import pytest

from checklist_crds.kube.kinds import DASHBOARD_SESSION, MEMBER
from checklist_dev.people import Person

from .conftest import Api
from .dashboard_client import member_of


async def _person(api: Api, role: str = "admin") -> Person:
    return await member_of(api, role)


async def _csrf(api: Api, person: Person) -> dict[str, str]:
    response = await api.anonymous.get("/dashboard/api/session", headers=person.headers)
    assert response.status_code == 200, response.text
    return person.csrf_headers(response.json()["csrf_token"])


async def test_a_session_says_who_is_signed_in_and_where_they_may_go(api: Api) -> None:
    person = await _person(api, "editor")
    response = await api.anonymous.get("/dashboard/api/session", headers=person.headers)
    body = response.json()
    assert (body["email"], body["name"], body["method"]) == (person.email, person.name, "oidc")
    [organization] = body["organizations"]
    assert (organization["id"], organization["role"], organization["member_id"]) == (
        person.organization_id,
        "editor",
        person.member_id,
    )


@pytest.mark.parametrize("cookie", [None, "__Host-checklists-session=", "__Host-checklists-session=wrong"])
async def test_without_a_good_session_there_is_nothing(api: Api, cookie: str | None) -> None:
    headers = {"Cookie": cookie} if cookie else {}
    for path in ("session", f"{api.organization}/runs", "org-nobody/runs"):
        response = await api.anonymous.get(f"/dashboard/api/{path}", headers=headers)
        assert (response.status_code, response.json()["error"]) == (401, "sign_in_required")


async def test_an_api_key_opens_no_route_of_the_dashboard(api: Api) -> None:
    response = await api.http.get(f"/dashboard/api/{api.organization}/runs")
    assert response.status_code == 401


async def test_another_organization_looks_like_none_at_all(api: Api) -> None:
    person, other = await _person(api), await api.make_account()

    def told(response: httpx.Response) -> tuple[int, bytes]:
        return response.status_code, response.content.replace(response.headers["X-Request-Id"].encode(), b"")

    theirs = await api.anonymous.get(f"/dashboard/api/{other.organization}/runs", headers=person.headers)
    nobodys = await api.anonymous.get(f"/dashboard/api/org-{'0' * 8}/runs", headers=person.headers)
    assert theirs.status_code == 404
    assert told(theirs) == told(nobodys)


async def test_a_write_has_to_come_from_our_own_page(api: Api) -> None:
    person = await _person(api)
    good = await _csrf(api, person)
    path, body = f"/dashboard/api/{person.organization_id}/templates/generate", {"prompt": "check doors and windows"}
    without = {name: value for name, value in good.items() if name != "X-CSRF-Token"}
    for headers in (without, {**good, "X-CSRF-Token": "0" * 64}, {**good, "Sec-Fetch-Site": "cross-site"}):
        response = await api.anonymous.post(path, json=body, headers=headers)
        assert (response.status_code, response.json()["error"]) == (403, "request_forged")
    assert (await api.anonymous.post(path, json=body, headers=good)).status_code == 200


async def test_a_role_that_was_taken_away_is_gone_with_the_same_session(api: Api) -> None:
    person = await _person(api, "editor")
    headers = await _csrf(api, person)
    path, body = f"/dashboard/api/{person.organization_id}/templates/generate", {"prompt": "check doors and windows"}
    assert (await api.anonymous.post(path, json=body, headers=headers)).status_code == 200
    await api.kube.patch(MEMBER, person.member_id, {"spec": {"role": "viewer"}}, api.namespace)
    for _ in range(100):
        response = await api.anonymous.post(path, json=body, headers=headers)
        if response.status_code != 200:
            break
    assert (response.status_code, response.json()["error"]) == (403, "forbidden")


async def test_a_session_ends_at_once_when_it_is_signed_out_or_deleted(api: Api) -> None:
    first, second = await _person(api), await _person(api)
    response = await api.anonymous.delete("/dashboard/api/session", headers=await _csrf(api, first))
    assert response.status_code == 204
    assert "Max-Age=0" in response.headers["Set-Cookie"]
    assert (await api.anonymous.get("/dashboard/api/session", headers=first.headers)).status_code == 401
    assert (await api.anonymous.get("/dashboard/api/session", headers=second.headers)).status_code == 200
    sessions, _ = await api.kube.list_all(DASHBOARD_SESSION, api.namespace)
    for session in sessions:
        await api.kube.delete(DASHBOARD_SESSION, session["metadata"]["name"], api.namespace)
    for _ in range(100):
        response = await api.anonymous.get("/dashboard/api/session", headers=second.headers)
        if response.status_code == 401:
            break
    assert response.status_code == 401
