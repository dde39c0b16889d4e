"""One-time sign-in links: who gets in by one, how often, and what it makes of them."""

import asyncio
from datetime import timedelta

import pytest

from checklist_api.dashboard.access import COOKIE
from checklist_crds.account_links import account_name, new_token
from checklist_crds.account_types import LinkPurpose
from checklist_crds.kube.kinds import DASHBOARD_SESSION, LOCAL_ACCOUNT, MEMBER
from checklist_dev.people import make_member

from .conftest import Api, MakeLink, with_password
from .person import PersonAt


async def test_a_link_signs_in_and_binds_the_members_of_its_address(api: Api, make_link: MakeLink) -> None:
    member = await make_member(
        api.kube, organization=api.organization, namespace=api.namespace, role="editor", email="Grace@Example.com"
    )
    other = await api.make_account()
    elsewhere = await make_member(
        api.kube, organization=other.organization, namespace=api.namespace, role="viewer", email="grace@example.com"
    )
    person = PersonAt(api.anonymous)
    response = await person.post("sign-in/link", {"secret": await make_link("grace@example.com")})
    assert (response.status_code, response.json()) == (200, {"choose_password": False})
    session = await person.session()
    assert session["method"] == "link"
    assert {one["member_id"]: one["role"] for one in session["organizations"]} == {
        member: "editor",
        elsewhere: "viewer",
    }
    bound = await api.kube.get(MEMBER, member, api.namespace)
    assert bound["status"]["binding"]["issuer"] == "local"
    assert bound["status"]["binding"]["subject"] == account_name("grace@example.com")


async def test_the_cookie_is_one_that_no_script_and_no_other_site_gets(api: Api, make_link: MakeLink) -> None:
    person = PersonAt(api.anonymous)
    await person.post("sign-in/link", {"secret": await make_link("ada@example.com")})
    cookie = person.set_cookies[COOKIE]
    assert COOKIE.startswith("__Host-")
    assert (cookie["secure"], cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (
        True,
        True,
        "Lax",
        "/",
        "",
    )
    assert cookie["max-age"] == cookie["expires"] == ""
    assert len(cookie.value) == 43


async def test_however_many_use_a_link_at_once_one_gets_in(api: Api, make_link: MakeLink) -> None:
    token = await make_link("ada@example.com")
    people = [PersonAt(api.anonymous) for _ in range(12)]
    responses = await asyncio.gather(*(person.post("sign-in/link", {"secret": token}) for person in people))
    assert sorted(response.status_code for response in responses) == [200] + [401] * 11
    assert {response.json()["error"] for response in responses if response.status_code == 401} == {"link_not_valid"}
    sessions, _ = await api.kube.list_all(DASHBOARD_SESSION, api.namespace)
    assert len(sessions) == 1


async def test_a_used_link_an_expired_one_and_an_unknown_one_look_alike(api: Api, make_link: MakeLink) -> None:
    used = await make_link("ada@example.com")
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": used})).status_code == 200
    expired = await make_link("old@example.com", lifetime=timedelta(seconds=-1))
    replaced = await make_link("twice@example.com")
    await make_link("twice@example.com")
    told = set()
    for secret in (used, expired, replaced, new_token("nobody@example.com"), "nonsense", ""):
        response = await PersonAt(api.anonymous).post("sign-in/link", {"secret": secret})
        body = {name: value for name, value in response.json().items() if name != "request_id"}
        told.add((response.status_code, str(body), response.headers.get("Set-Cookie")))
    assert len(told) == 1
    assert next(iter(told))[0] == 401


async def test_a_link_of_a_disabled_account_is_not_valid_and_its_sessions_end(api: Api, make_link: MakeLink) -> None:
    person = await with_password(api, make_link, "ada@example.com")
    token = await make_link("ada@example.com")
    await api.kube.patch(LOCAL_ACCOUNT, account_name("ada@example.com"), {"spec": {"disabled": True}}, api.namespace)
    for _ in range(100):
        if not await person.is_signed_in():
            break
    assert not await person.is_signed_in()
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})).status_code == 401


async def test_sessions_of_a_disabled_account_stay_ended_when_it_is_enabled_again(
    api: Api, make_link: MakeLink
) -> None:
    await with_password(api, make_link, "ada@example.com")
    name = account_name("ada@example.com")
    await api.kube.patch(LOCAL_ACCOUNT, name, {"spec": {"disabled": True}}, api.namespace)
    async with asyncio.timeout(10):
        while (await api.kube.list_all(DASHBOARD_SESSION, api.namespace))[0]:
            await asyncio.sleep(0.02)


async def test_removing_an_account_ends_its_sessions(api: Api, make_link: MakeLink) -> None:
    person = await with_password(api, make_link, "ada@example.com")
    await api.kube.delete(LOCAL_ACCOUNT, account_name("ada@example.com"), api.namespace)
    for _ in range(100):
        if not await person.is_signed_in():
            break
    assert not await person.is_signed_in()


async def test_an_invitation_asks_for_a_password_to_be_chosen(api: Api, make_link: MakeLink) -> None:
    token = await make_link("new@example.com", purpose=LinkPurpose.INVITATION)
    response = await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})
    assert response.json() == {"choose_password": True}


async def test_the_account_keeps_nothing_of_a_link_but_its_digest(api: Api, make_link: MakeLink) -> None:
    token = await make_link("ada@example.com")
    account = await api.kube.get(LOCAL_ACCOUNT, account_name("ada@example.com"), api.namespace)
    assert token.split(".")[1] not in str(account)
    assert len(token.split(".")[1]) == 43
    await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})
    account = await api.kube.get(LOCAL_ACCOUNT, account_name("ada@example.com"), api.namespace)
    assert "link" not in account["spec"]


@pytest.mark.parametrize("path", ["sign-in/link", "sign-in/password"])
async def test_another_page_cannot_sign_a_browser_in(api: Api, make_link: MakeLink, path: str) -> None:
    token = await make_link("ada@example.com")
    body = {"secret": token, "email": "ada@example.com", "password": "x"}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}):
        response = await PersonAt(api.anonymous).post(path, body, headers=headers)
        assert (response.status_code, response.json()["error"]) == (403, "request_forged")
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})).status_code == 200


async def test_a_sign_in_ends_the_session_that_the_browser_had(api: Api, make_link: MakeLink) -> None:
    person = PersonAt(api.anonymous)
    await person.post("sign-in/link", {"secret": await make_link("ada@example.com")})
    before = PersonAt(api.anonymous, cookies=dict(person.cookies))
    assert await before.is_signed_in()
    await person.post("sign-in/link", {"secret": await make_link("ada@example.com")})
    assert person.secret != before.secret
    assert await person.is_signed_in()
    assert not await before.is_signed_in()
