"""Who gets to the dashboard's routes: sessions, roles, and writes of our own page only.

`test_dashboard_roles.py` tries every route.
"""

from checklist_crds.kube.kinds import DASHBOARD_SESSION, MEMBER
from checklist_crds.secret_digest import digest

from .conftest import Api, shared_api, until_status
from .dashboard_client import at_desk
from .executor_client import error_of

api = shared_api

SESSION = "/dashboard/api/session"
WISH = {"prompt": "check doors and windows"}


async def test_a_session_says_who_is_signed_in_and_where_they_may_go(api: Api) -> None:
    person = (await at_desk(api, "editor")).person
    body = (await api.anonymous.get(SESSION, headers=person.headers)).json()
    assert (body["email"], body["name"], body["method"]) == (person.email, person.name, "oidc")
    [organization] = body["organizations"]
    expected = (person.organization_id, "editor", person.member_id)
    assert (organization["id"], organization["role"], organization["member_id"]) == expected


async def test_a_write_has_to_come_from_our_own_page_and_of_a_role_that_still_allows_it(api: Api) -> None:
    desk = await at_desk(api, "editor")
    path, good = desk.path("/templates/generate"), desk.headers
    for headers in ({**good, "X-CSRF-Token": "0" * 64}, {**good, "Sec-Fetch-Site": "cross-site"}):
        assert error_of(await api.anonymous.post(path, json=WISH, headers=headers)) == (403, "request_forged")
    assert (await desk.post("/templates/generate", WISH)).status_code == 200
    await api.kube.patch(MEMBER, desk.member_id, {"spec": {"role": "viewer"}}, api.namespace)

    refused = await until_status(403, lambda: desk.post("/templates/generate", WISH), within_s=5)
    assert refused.json()["error"] == "forbidden"


async def test_a_session_ends_at_once_when_it_is_signed_out_or_deleted(api: Api) -> None:
    first, second = await at_desk(api), await at_desk(api)
    response = await api.anonymous.delete(SESSION, headers=first.headers)
    assert response.status_code == 204
    assert "Max-Age=0" in response.headers["Set-Cookie"]
    assert (await api.anonymous.get(SESSION, headers=first.headers)).status_code == 401
    assert (await api.anonymous.get(SESSION, headers=second.headers)).status_code == 200
    sessions, _ = await api.kube.list_all(DASHBOARD_SESSION, api.namespace)
    [name] = [each["metadata"]["name"] for each in sessions if each["spec"]["sha256"] == digest(second.person.secret)]
    await api.kube.delete(DASHBOARD_SESSION, name, api.namespace)

    await until_status(401, lambda: api.anonymous.get(SESSION, headers=second.headers), within_s=5)
