"""Signing in with a real OpenID provider that is not ours, by HTTP from the first page to the last."""

import re
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest
from tests.waiting import eventually

from checklist_api.dashboard.access import COOKIE
from checklist_api.dashboard.oidc import provider as oidc_provider
from checklist_api.dashboard.oidc.pending import COOKIE as PENDING
from checklist_crds.resources.kinds import DASHBOARD_SESSION, MEMBER
from checklist_dev.local.people import make_member

from .conftest import Api, StartApi
from .person import PersonAt
from .real_provider import SERVICE, RealProvider, begin, below_service, new_keys, sign_in_at, visit_provider


async def _invited(api: Api, email: str, role: str = "editor") -> str:
    return await make_member(api.kube, organization=api.organization, namespace=api.namespace, role=role, email=email)


async def test_an_invited_person_signs_in_and_is_the_member(start_api: StartApi, shared: RealProvider) -> None:
    api = await start_api(**shared.settings)
    member = await _invited(api, "Grace@example.com")
    person = PersonAt(api.anonymous)
    wanted = f"/dashboard/{api.organization}/runs?status=pending"
    response = await sign_in_at(person, "grace@example.com", wanted)
    assert (response.status_code, response.headers["Location"]) == (303, wanted)
    session = await person.session()
    who = (session["method"], session["email"], session["name"])
    assert who == ("oidc", "grace@example.com", "Ada of the Provider")
    assert [one["member_id"] for one in session["organizations"]] == [member]
    bound = (await api.kube.get(MEMBER, member, api.namespace))["status"]["binding"]
    assert (bound["issuer"], bound["subject"]) == (shared.issuer, "grace@example.com")
    [kept], _ = await api.kube.list_all(DASHBOARD_SESSION, api.namespace)
    assert kept["spec"]["sealedIdToken"].startswith("k1:")
    assert "eyJ" not in str(kept)

    # Of several organizations, also where one is invited while signed in.
    other = await api.make_account()
    await make_member(
        api.kube, organization=other.organization, namespace=api.namespace, role="viewer", email="grace@example.com"
    )

    async def both() -> bool:
        organizations = {one["id"]: one["role"] for one in (await person.session())["organizations"]}
        return organizations == {api.organization: "editor", other.organization: "viewer"}

    await eventually(both)


async def test_the_request_and_the_cookies_of_sign_in_are_ours_alone(start_api: StartApi, shared: RealProvider) -> None:
    api = await start_api(**shared.settings)
    person = PersonAt(api.anonymous)
    asked = [parse_qs(urlsplit(await begin(person)).query) for _ in range(2)]
    for query in asked:
        given = [query[name] for name in ("response_type", "code_challenge_method", "scope")]
        assert given == [["code"], ["S256"], ["openid email profile"]]
    for name in ("state", "nonce", "code_challenge"):
        assert len(asked[0][name][0]) >= 43
        assert asked[0][name] != asked[1][name]
    person.assert_host_cookie(PENDING)
    assert person.set_cookies[PENDING]["max-age"] == "600"
    assert (await sign_in_at(person, "grace@example.com")).status_code == 303
    assert PENDING not in person.cookies
    person.assert_host_cookie(COOKIE)


async def test_another_subject_with_the_same_address_later_gets_nowhere(
    start_api: StartApi, shared: RealProvider
) -> None:
    api = await start_api(**shared.settings)
    member = await _invited(api, "grace@example.com")
    people = [PersonAt(api.anonymous), PersonAt(api.anonymous)]
    for person, login in zip(people, ("first/grace@example.com", "second/grace@example.com"), strict=True):
        await sign_in_at(person, login)
    organizations = [(await person.session())["organizations"] for person in people]
    assert [[one["member_id"] for one in found] for found in organizations] == [[member], []]
    assert (await people[1].get(f"{api.organization}/runs")).status_code == 404


async def test_a_callback_works_once_and_in_its_own_browser_only(start_api: StartApi, shared: RealProvider) -> None:
    api = await start_api(**shared.settings)
    person, stranger = PersonAt(api.anonymous), PersonAt(api.anonymous)
    address = await begin(person)
    await begin(stranger)
    before = PersonAt(api.anonymous, cookies=dict(person.cookies))
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        callback = below_service(await visit_provider(address, "grace@example.com", http))
    state = parse_qs(urlsplit(callback).query)["state"][0]
    wrong = (callback.replace(state, "x" * 43), callback.replace(f"state={state}", ""), f"{callback}&state=x")
    tries = [(stranger, callback), (PersonAt(api.anonymous), callback), *((person, address) for address in wrong)]
    for browser, address in tries:
        response = await browser.get(address)
        assert (response.status_code, browser.secret, "Start again" in response.text) == (400, None, True)
    assert (await person.get(callback)).status_code == 303
    response = await before.get(callback)
    assert (response.status_code, before.secret) == (400, None)


async def test_provider_keys_rotate(start_api: StartApi, own: RealProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oidc_provider, "_KEYS_REFETCH_AFTER_S", 0.0)
    own.start()
    api = await start_api(**own.settings)
    assert (await sign_in_at(PersonAt(api.anonymous), "grace@example.com")).status_code == 303
    for algorithm in ("ES256", "PS256"):
        own.stop()
        own.start(keys=new_keys(algorithm))
        person = PersonAt(api.anonymous)
        assert (await sign_in_at(person, "grace@example.com")).status_code == 303
        assert await person.is_signed_in()


async def test_an_unavailable_provider_is_reported(start_api: StartApi, own: RealProvider) -> None:
    own.start()
    api = await start_api(**own.settings)
    person = PersonAt(api.anonymous)
    await sign_in_at(person, "grace@example.com")
    own.stop()
    fresh = await start_api(**own.settings)
    response = await PersonAt(fresh.anonymous).get("sign-in/oidc")
    assert (response.status_code, response.headers["Content-Type"][:9]) == (503, "text/html")
    assert int(response.headers["Retry-After"]) >= 1
    assert await PersonAt(fresh.anonymous, cookies=person.cookies).is_signed_in()
    assert (await fresh.http.get("/v1/templates")).status_code == 200
    await person.session()
    there = PersonAt(fresh.anonymous, cookies=person.cookies, csrf=person.csrf)
    assert (await there.delete("session")).status_code == 204


async def test_signing_out_leads_to_the_provider_and_out_there_too(start_api: StartApi, shared: RealProvider) -> None:
    api = await start_api(**shared.settings)
    person = PersonAt(api.anonymous)
    address = await begin(person)
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        await person.get(below_service(await visit_provider(address, "grace@example.com", http)))
        await person.session()
        cookies = dict(person.cookies)
        response = await person.delete("session")
        assert response.status_code == 200
        assert COOKIE not in person.cookies
        assert not await PersonAt(api.anonymous, cookies=cookies).is_signed_in()
        onward = response.json()["continue_at"]
        assert onward.startswith(f"{shared.issuer}/session/end?")
        assert "id_token_hint" in parse_qs(urlsplit(onward).query)
        page = await http.get(onward)
        assert page.status_code == 200, page.text
        xsrf = re.search(r'name="xsrf" value="([^"]+)"', page.text)
        assert xsrf, page.text
        assert await _comes_straight_back(await begin(person), http)
        done = await http.post(f"{shared.issuer}/session/end/confirm", data={"xsrf": xsrf[1], "logout": "yes"})
        assert done.headers["Location"] == "https://checklists.example/dashboard/sign-in"
        assert not await _comes_straight_back(await begin(person), http)


async def _comes_straight_back(address: str, http: httpx.AsyncClient) -> bool:
    """Whether the provider still knows who is there, and asks nothing."""
    response = await http.get(address)
    while response.is_redirect:
        onward = urljoin(str(response.url), response.headers["Location"])
        if onward.startswith(SERVICE):
            return "code=" in onward
        response = await http.get(onward)
    return False
