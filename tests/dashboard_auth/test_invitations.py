"""Local accounts that an organization's own admins make: they count there, and open no other door."""

import pytest

from checklist_api.dashboard.accounts import AccountExists
from checklist_dev.people import make_member

from .conftest import PASSWORD, Api, MakeLink, with_password
from .person import PersonAt

EMAIL = "grace@example.com"


async def _by_invitation(api: Api, organization: str) -> PersonAt:
    token, _ = await api.services.accounts.invite(email=EMAIL, name="Grace", organization=organization)
    person = PersonAt(api.anonymous)
    response = await person.post("sign-in/link", {"secret": token})
    assert response.json() == {"choose_password": True}
    return person


async def test_an_admin_becomes_nobody_elsewhere_by_inviting_their_address(api: Api) -> None:
    other = await api.make_account()
    for organization in (api.organization, other.organization):
        await make_member(api.kube, organization=organization, namespace=api.namespace, role="admin", email=EMAIL)
    person = await _by_invitation(api, api.organization)
    assert [one["id"] for one in (await person.session())["organizations"]] == [api.organization]
    await person.session()
    await person.post("account/password", {"new_password": PASSWORD})
    again = PersonAt(api.anonymous)
    assert (await again.post("sign-in/password", {"email": EMAIL, "password": PASSWORD})).status_code == 200
    assert [one["id"] for one in (await again.session())["organizations"]] == [api.organization]
    assert (await again.get(f"{other.organization}/runs")).status_code == 404


async def test_nobody_gets_a_link_to_an_account_that_is_somebodys_already(api: Api, make_link: MakeLink) -> None:
    other = await api.make_account()
    invite = api.services.accounts.invite
    await invite(email=EMAIL, name="Grace", organization=api.organization)
    with pytest.raises(AccountExists):
        await invite(email=EMAIL, name="Eve", organization=other.organization)
    first = await _by_invitation(api, api.organization)  # no password yet: the same organization may ask again
    await first.session()
    await first.post("account/password", {"new_password": PASSWORD})
    with pytest.raises(AccountExists):
        await invite(email=EMAIL, name="Grace", organization=api.organization)
    await with_password(api, make_link, "operator-made@example.com")
    with pytest.raises(AccountExists):
        await invite(email="Operator-Made@example.com", name="Eve", organization=api.organization)
