"""People with local accounts, and the sessions of browsers, changed in the cluster as an administrator changes them."""

from datetime import timedelta

import httpx
from tests.waiting import eventually

from checklist_api.dashboard.access import COOKIE, CSRF_HEADER
from checklist_api.dashboard.sessions.store import object_name
from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists
from checklist_crds.resources.account import LinkPurpose, LocalAccountSpec
from checklist_crds.resources.base import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.resources.kinds import DASHBOARD_SESSION, LOCAL_ACCOUNT
from checklist_crds.secrets.account_links import account_name, address, one_time_link, token_to
from checklist_crds.secrets.digest import digest
from checklist_crds.times import utc_now
from checklist_dev.browser.device import Device
from checklist_dev.browser.office import Office
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.people import Person, make_member

PASSWORD = "four quiet herons wade upstream"
SIGN_IN = LinkPurpose.SIGN_IN


async def make_token(
    kube: KubeClient,
    namespace: str,
    email: str,
    *,
    purpose: LinkPurpose = SIGN_IN,
    lifetime: timedelta | None = None,
    organization: str | None = None,
) -> str:
    """The token of a one-time link, for a new account or one that exists: of the installation, or an organization."""
    name = account_name(email, organization)
    token = token_to(name)
    link = one_time_link(token, now=utc_now(), purpose=purpose, lifetime=lifetime)
    spec = LocalAccountSpec(email=email.lower(), name="Lou Local", link=link).to_kube()
    labels = {} if organization is None else {ORGANIZATION_LABEL: organization}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    body = {"apiVersion": API_VERSION, "kind": LOCAL_ACCOUNT.kind, "metadata": metadata, "spec": spec}
    try:
        await kube.create(LOCAL_ACCOUNT, body, namespace)
    except KubeAlreadyExists:
        await kube.patch(LOCAL_ACCOUNT, name, {"spec": {"link": spec["link"]}}, namespace)
    return token


async def make_link(
    office: Office, email: str, purpose: LinkPurpose = SIGN_IN, *, organization: str | None = None
) -> str:
    """The address of a one-time link."""
    token = await make_token(office.kube, NAMESPACE, email, purpose=purpose, organization=organization)
    return address(office.stage.base_url, token)


async def make_invited(office: Office, role: str = "admin") -> tuple[str, str]:
    """A member who has not signed in: id and e-mail address."""
    email = f"{new_id('u')}@example.com"
    member = await make_member(
        office.kube, organization=office.organization, namespace=NAMESPACE, role=role, name="Lou Local", email=email
    )
    return member, email


async def make_with_password(office: Office, role: str = "admin") -> tuple[str, str]:
    """A member who was invited and has chosen PASSWORD: id and e-mail address."""
    member, email = await make_invited(office, role)
    await choose_password(office, await make_link(office, email, LinkPurpose.INVITATION))
    return member, email


async def choose_password(office: Office, link: str) -> None:
    """PASSWORD, by an invitation's link."""
    secret = link.partition("#link=")[2]
    api = f"{office.stage.service.local_url}/dashboard/api"
    async with httpx.AsyncClient(headers={"Sec-Fetch-Site": "same-origin"}, trust_env=False, timeout=30) as http:
        signed = await http.post(f"{api}/sign-in/link", json={"secret": secret})
        headers = {"Cookie": f"{COOKIE}={signed.headers['Set-Cookie'].partition('=')[2].partition(';')[0]}"}
        headers[CSRF_HEADER] = (await http.get(f"{api}/session", headers=headers)).json()["csrf_token"]
        chosen = await http.post(f"{api}/account/password", json={"new_password": PASSWORD}, headers=headers)
        assert chosen.status_code == 200, chosen.text


async def enter_password(device: Device, email: str, password: str = PASSWORD) -> None:
    """In the form of the sign-in page."""
    await device.page.get_by_label("E-mail address").fill(email)
    await device.page.get_by_role("textbox", name="Password").fill(password)
    await device.page.get_by_role("button", name="Sign in", exact=True).click()


async def secret_of(device: Device) -> str:
    """The secret of the session that the browser has."""
    [secret] = [cookie["value"] for cookie in await device.context.cookies() if cookie["name"] == COOKIE]
    return str(secret)


async def end_session(office: Office, device: Device) -> None:
    """On the server, as an administrator or the passing of time does it. The service knows it when this returns."""
    secret = await secret_of(device)
    headers = {"Cookie": f"{COOKIE}={secret}"}
    await office.kube.delete(DASHBOARD_SESSION, object_name(digest(secret)), NAMESPACE)
    await eventually(
        lambda: office.stage.anonymous.ask("GET", "/dashboard/api/session", headers=headers).status_code == 401
    )


async def renew_session(office: Office, device: Device, person: Person) -> None:
    """The browser has a new session of the same person, as a sign-in with the provider gives it one."""
    other = await office.member("editor")
    name = object_name(digest(other.secret))
    session = await office.kube.get(DASHBOARD_SESSION, name, NAMESPACE)
    await office.kube.delete(DASHBOARD_SESSION, name, NAMESPACE)
    session["spec"] |= {"email": person.email, "subject": person.subject}
    session["metadata"] = {"name": name, "namespace": NAMESPACE}
    await office.kube.create(DASHBOARD_SESSION, session, NAMESPACE)
    await device.context.add_cookies([other.cookie(office.stage.base_url)])  # type: ignore[list-item]
