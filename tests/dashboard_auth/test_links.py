"""One-time sign-in links and invitations: who gets in by one, how often, and where."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.contract.dashboard_client import at_desk
from tests.waiting import eventually

from checklist_api.dashboard.access import COOKIE
from checklist_crds.resources.base import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.resources.kinds import DASHBOARD_SESSION, LOCAL_ACCOUNT, MEMBER
from checklist_crds.secrets.account_links import account_name, password_owner, token_to
from checklist_dev.local.people import make_member

from .conftest import PASSWORD, Api, MakeLink, with_password
from .person import PersonAt

GRACE = "grace@example.com"


async def test_a_link_binds_the_members_of_its_address_and_ends_the_session_that_the_browser_had(
    api: Api, make_link: MakeLink
) -> None:
    other, person = await api.make_account(), PersonAt(api.anonymous)
    members = {
        await make_member(
            api.kube, organization=at, namespace=api.namespace, role=role, email="Grace@Example.com"
        ): role
        for at, role in ((api.organization, "editor"), (other.organization, "viewer"))
    }
    token = await make_link(GRACE)
    account = await api.kube.get(LOCAL_ACCOUNT, account_name(GRACE), api.namespace)
    secret = token.split(".")[1]
    assert (len(secret), secret in str(account), "link" in account["spec"]) == (43, False, True), "its digest is kept"
    response = await person.post("sign-in/link", {"secret": token})
    assert (response.status_code, response.json()) == (200, {"choose_password": False})
    person.assert_host_cookie(COOKIE)
    cookie = person.set_cookies[COOKIE]
    assert (cookie["max-age"], cookie["expires"], len(cookie.value)) == ("", "", 43)
    assert "link" not in (await api.kube.get(LOCAL_ACCOUNT, account_name(GRACE), api.namespace))["spec"]
    session = await person.session()
    assert {one["member_id"]: one["role"] for one in session["organizations"]} == members
    for member in members:
        binding = (await api.kube.get(MEMBER, member, api.namespace))["status"]["binding"]
        assert (session["method"], binding["issuer"], binding["subject"]) == ("link", "local", account_name(GRACE))

    before = PersonAt(api.anonymous, cookies=dict(person.cookies))
    await person.post("sign-in/link", {"secret": await make_link(GRACE)})
    assert person.secret != before.secret
    assert await person.is_signed_in()
    assert not await before.is_signed_in()


async def test_however_many_use_a_link_at_once_one_gets_in(api: Api, make_link: MakeLink) -> None:
    token = await make_link("ada@example.com")
    people = [PersonAt(api.anonymous) for _ in range(12)]
    responses = await asyncio.gather(*(person.post("sign-in/link", {"secret": token}) for person in people))
    assert sorted(response.status_code for response in responses) == [200] + [401] * 11
    assert len((await api.kube.list_all(DASHBOARD_SESSION, api.namespace))[0]) == 1


async def test_a_used_link_an_expired_one_and_an_unknown_one_look_alike(api: Api, make_link: MakeLink) -> None:
    used = await make_link("ada@example.com")
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": used})).status_code == 200
    expired = await make_link("old@example.com", lifetime=timedelta(seconds=-1))
    replaced, _ = await make_link("twice@example.com"), await make_link("twice@example.com")
    responses = []
    for secret in (used, expired, replaced, token_to(account_name("unknown@example.com")), "nonsense", ""):
        response = await PersonAt(api.anonymous).post("sign-in/link", {"secret": secret})
        responses.append(
            (response.status_code, response.headers.get("Set-Cookie"), response.json() | {"request_id": ""})
        )
    assert responses == [responses[0]] * 6
    assert (responses[0][0], responses[0][2]["error"]) == (401, "link_not_valid")


async def test_a_link_of_a_disabled_account_is_not_valid_and_its_sessions_end(api: Api, make_link: MakeLink) -> None:
    person = await with_password(api, make_link, "ada@example.com")
    other = await with_password(api, make_link, "grace@example.com")
    token = await make_link("ada@example.com")
    await api.kube.patch(LOCAL_ACCOUNT, account_name("ada@example.com"), {"spec": {"disabled": True}}, api.namespace)
    await eventually(person.is_out)
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})).status_code == 401
    # Deleted, so that they stay ended when the account is enabled again; those of a removed account are, too.
    await api.kube.delete(LOCAL_ACCOUNT, account_name("grace@example.com"), api.namespace)
    await eventually(other.is_out)

    async def none_left() -> bool:
        return not (await api.kube.list_all(DASHBOARD_SESSION, api.namespace))[0]

    await eventually(none_left)


@pytest.mark.parametrize("path", ["sign-in/link", "sign-in/password"])
async def test_another_page_cannot_sign_a_browser_in(api: Api, make_link: MakeLink, path: str) -> None:
    token = await make_link("ada@example.com")
    body = {"secret": token, "email": "ada@example.com", "password": "x"}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}):
        response = await PersonAt(api.anonymous).post(path, body, headers=headers)
        assert (response.status_code, response.json()["error"]) == (403, "request_forged")
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})).status_code == 200


async def _by_invitation(api: Api, organization: str, email: str = GRACE) -> PersonAt:
    token, _ = await api.services.accounts.invite(email=email, name="Grace", organization=organization)
    person = PersonAt(api.anonymous)
    response = await person.post("sign-in/link", {"secret": token})
    assert response.json() == {"choose_password": True}
    return person


async def test_inviting_an_address_gives_no_access_to_its_account_elsewhere(api: Api) -> None:
    other = await api.make_account()
    for organization in (api.organization, other.organization):
        await make_member(api.kube, organization=organization, namespace=api.namespace, role="admin", email=GRACE)
    person, again = await _by_invitation(api, api.organization), PersonAt(api.anonymous)
    assert [one["id"] for one in (await person.session())["organizations"]] == [api.organization]
    await person.post("account/password", {"new_password": PASSWORD})
    assert (await again.post("sign-in/password", {"email": GRACE, "password": PASSWORD})).status_code == 200
    assert [one["id"] for one in (await again.session())["organizations"]] == [api.organization]
    assert (await again.get(f"{other.organization}/runs")).status_code == 404


async def _with_password_in(api: Api, organization: str, password: str, email: str = GRACE) -> PersonAt:
    """A person whom an organization invited, and who has chosen a password there."""
    person = await _by_invitation(api, organization, email)
    await person.session()
    assert (await person.post("account/password", {"new_password": password})).status_code == 200
    await person.session()
    return person


async def test_an_organization_cannot_tell_whether_an_address_has_an_account_elsewhere(
    api: Api, make_link: MakeLink
) -> None:
    elsewhere, other = await api.make_account(), await api.make_account()
    await _with_password_in(api, elsewhere.organization, PASSWORD, "elsewhere@example.com")
    await with_password(api, make_link, "everywhere@example.com")
    await _earlier_account(api, elsewhere.organization, "earlier@example.com")
    desk, responses = await at_desk(api, account=other), []
    for name in ("unknown", "elsewhere", "everywhere", "earlier"):
        address = {"email": f"{name}@example.com", "name": "Grace", "role": "editor"}
        made = await desk.post("/members", address)
        again = await desk.post(f"/members/{made.json()['id']}/invitation")
        answers = [made.json(), made.json()["invitation"], again.json()]
        responses.append([made.status_code, again.status_code, *({*answer} for answer in answers)])
        person = PersonAt(api.anonymous)
        secret = again.json()["link"].partition("#link=")[2]
        assert (await person.post("sign-in/link", {"secret": secret})).json() == {"choose_password": True}
        assert [one["id"] for one in (await person.session())["organizations"]] == [other.organization]
    assert responses == responses[:1] * 4


async def test_a_password_selects_its_account(api: Api, make_link: MakeLink) -> None:
    others = [await api.make_account() for _ in range(3)]
    same, also, differs = [account.organization for account in others]
    for organization in (same, also, differs):
        await make_member(api.kube, organization=organization, namespace=api.namespace, role="editor", email=GRACE)
    for organization, password in ((same, PASSWORD), (also, PASSWORD), (differs, PASSWORD + " elsewhere")):
        await _with_password_in(api, organization, password)

    async def sign_in(password: str, **chosen: str) -> tuple[PersonAt, httpx.Response]:
        person = PersonAt(api.anonymous)
        return person, await person.post("sign-in/password", {"email": GRACE, "password": password, **chosen})

    person, answer = await sign_in(PASSWORD + " elsewhere")
    assert answer.json() == {"choose_password": False}
    assert [one["id"] for one in (await person.session())["organizations"]] == [differs]
    person, answer = await sign_in(PASSWORD)
    assert (answer.status_code, {one["id"] for one in answer.json()["choose_organization"]}) == (200, {same, also})
    assert {one["name"] for one in answer.json()["choose_organization"]} == {"Test organization"}
    assert person.cookies == {}
    for organization in (same, also):
        person, answer = await sign_in(PASSWORD, organization_id=organization)
        assert [one["id"] for one in (await person.session())["organizations"]] == [organization]
    for chosen in (differs, "", "org-none"):
        assert (await sign_in(PASSWORD, organization_id=chosen))[1].status_code == 401
    await with_password(api, make_link, GRACE)
    ids = {one["id"] for one in (await sign_in(PASSWORD))[1].json()["choose_organization"]}
    assert ids == {"", same, also}
    hashes = {(await _hash_of(api, account_name(GRACE, one))).split("$")[4] for one in (None, same, also, differs)}
    assert len(hashes) == 1, "one computation tells for all accounts of the address"


async def test_an_admin_takes_an_account_of_their_organization_over_and_no_other(api: Api, make_link: MakeLink) -> None:
    other = await api.make_account()
    desk = await at_desk(api)
    member = (await desk.post("/members", {"email": GRACE, "name": "Grace", "role": "editor"})).json()
    own = await _with_password_in(api, api.organization, PASSWORD)
    bystanders = [
        await _with_password_in(api, other.organization, PASSWORD),
        await with_password(api, make_link, GRACE),
    ]
    reset = (await desk.post(f"/members/{member['id']}/reset")).json()
    assert (reset["signed_in"], await own.is_signed_in()) == (False, False)
    account = await api.kube.get(LOCAL_ACCOUNT, account_name(GRACE, api.organization), api.namespace)
    assert not {"sealedPassword", "link", "passwordChangedAt"} & account["spec"].keys()
    signs_in = {"email": GRACE, "password": PASSWORD, "organization_id": api.organization}
    assert (await PersonAt(api.anonymous).post("sign-in/password", signs_in)).status_code == 401
    secret = (await desk.post(f"/members/{member['id']}/invitation")).json()["link"].partition("#link=")[2]
    person = PersonAt(api.anonymous)
    assert (await person.post("sign-in/link", {"secret": secret})).json() == {"choose_password": True}
    assert [one["member_id"] for one in (await person.session())["organizations"]] == [member["id"]]
    assert (await person.post("account/password", {"new_password": PASSWORD + " again"})).status_code == 200
    assert [await bystander.is_signed_in() for bystander in bystanders] == [True, True]
    assert "member.reset" in (await desk.get("/audit")).text


async def test_a_reset_session_sets_no_password(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    person, accounts = await _with_password_in(api, api.organization, PASSWORD), api.services.accounts
    hashes = accounts._passwords.hash

    async def while_reset(*given: Any, **named: Any) -> str:
        await accounts.reset(email=GRACE, organization=api.organization)
        return await hashes(*given, **named)

    monkeypatch.setattr(accounts._passwords, "hash", while_reset)
    change = {"current_password": PASSWORD, "new_password": PASSWORD + " of mine"}
    assert (await person.post("account/password", change)).status_code == 401
    assert await _hash_of(api, account_name(GRACE, api.organization)) == ""


async def test_an_account_from_before_names_had_the_organization_goes_on(api: Api) -> None:
    other = await api.make_account()
    for organization in (api.organization, other.organization):
        await make_member(api.kube, organization=organization, namespace=api.namespace, role="editor", email=GRACE)
    await _earlier_account(api, api.organization, GRACE)
    person = await _with_password_in(api, api.organization, PASSWORD)
    await _with_password_in(api, other.organization, PASSWORD)
    accounts, _ = await api.kube.list_all(LOCAL_ACCOUNT, api.namespace)
    names = {account["metadata"]["name"] for account in accounts}
    assert names == {account_name(GRACE), account_name(GRACE, other.organization)}
    assert [one["id"] for one in (await person.session())["organizations"]] == [api.organization]
    await api.services.accounts.reset(email=GRACE, organization=api.organization)
    assert await person.is_out()


async def _earlier_account(api: Api, organization: str, email: str) -> None:
    """As earlier releases made it."""
    metadata = {"name": account_name(email), "labels": {ORGANIZATION_LABEL: organization}}
    spec = {"email": email, "name": "Grace"}
    body = {"apiVersion": API_VERSION, "kind": LOCAL_ACCOUNT.kind, "metadata": metadata, "spec": spec}
    await api.kube.create(LOCAL_ACCOUNT, body, api.namespace)


async def _hash_of(api: Api, name: str) -> str:
    sealed = (await api.kube.get(LOCAL_ACCOUNT, name, api.namespace))["spec"].get("sealedPassword", "")
    owner = password_owner(api.namespace, name)
    return sealed and api.services.settings.sealing.open(sealed, owner=owner)
