"""Checklists that members answer as themselves: signing in on the way, who gets nowhere, and whose answers they are."""

import asyncio
from typing import Any

import httpx
from playwright.async_api import Request, expect

from checklist_api.dashboard.access import COOKIE, CSRF_HEADER
from checklist_api.dashboard.sessions import object_name
from checklist_crds.account_links import account_name, new_token, one_time_link
from checklist_crds.account_types import LinkPurpose, LocalAccountSpec
from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.kinds import DASHBOARD_SESSION, LOCAL_ACCOUNT, MEMBER
from checklist_crds.resource_types import API_VERSION
from checklist_crds.secret_digest import digest
from checklist_crds.times import utc_now
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.device import DESKTOP, Device
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link, Stage
from checklist_dev.people import Person, make_member

from .checklist_screen import ChecklistScreen, until
from .conftest import NewDevice

Json = dict[str, Any]
FOR_MEMBERS = checklist(step("clean"), step("note", "text"), identity="member")
PASSWORD = "four quiet herons wade upstream"


async def test_a_member_signs_in_on_the_way_comes_back_and_every_event_says_who(
    stage: Stage, office: Office, new_device: NewDevice
) -> None:
    member, email = await _member_with_password(office)
    link = office.dispatch(FOR_MEMBERS, webhook=office.webhook())
    device = await new_device()
    sent = _requests_of(device)
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.heading("Sign in to answer")).to_be_visible()
    await expect(screen.page.get_by_text("This checklist is for members of Bright Kitchens.")).to_be_visible()
    await screen.page.get_by_role("button", name="Sign in").click()
    await _sign_in_with_password(device, email)
    await expect(screen.heading("Cold store check")).to_be_visible()
    assert device.page.url == link.bare
    assert _run(office, link)["assigned_to"] == member
    assert _run(office, link)["status"] == "pending"
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await screen.page.get_by_role("button", name="Menu").click()
    await expect(screen.page.get_by_text("Answering as Lou Local")).to_be_visible()
    await screen.page.get_by_role("button", name="Close").click()
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    events = await stage.events(link, last="run.completed")
    assert [event.event for event in events] == ["step.completed", "run.completed"]
    assert {str(event.envelope["identity"]) for event in events} == {str({"mode": "member", "user_id": member})}
    assert events[0].envelope["data"]["by"] == events[1].envelope["data"]["answers"]["s-clean"]["by"] == member
    # The link's token went where it belongs, and nowhere else.
    assert not [request.url for request in sent if link.token in request.url.partition("#")[0]]
    for request in sent:
        if "/v1/executor/" not in request.url:
            assert link.token not in str(await request.all_headers()) + (request.post_data or "")


async def test_a_session_that_ends_in_the_middle_loses_nothing_that_is_typed(
    stage: Stage, office: Office, new_device: NewDevice
) -> None:
    member, email = await _member_with_password(office)
    link = office.dispatch(FOR_MEMBERS, webhook=office.webhook())
    device = await new_device()
    screen = await ChecklistScreen.opened(device, link)
    await screen.page.get_by_role("button", name="Sign in").click()
    await _sign_in_with_password(device, email)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await _end_session(device, office)
    await screen.write("Note", "typed after the end")
    await screen.choose("Clean", "No")
    await expect(screen.page.locator(".pill")).to_have_text("Signed out: 2 waiting")
    await expect(screen.page.get_by_text("You are signed out")).to_be_visible()
    await _looks_right(device)
    await device.page.reload()
    await expect(screen.card("Note").get_by_role("textbox")).to_have_value("typed after the end")
    await expect(screen.page.locator(".pill")).to_have_text("Signed out: 2 waiting")
    await screen.page.get_by_role("button", name="Sign in").click()
    await _sign_in_with_password(device, email)
    await expect(screen.page.locator(".pill")).to_have_text("Saved")
    await expect(screen.page.get_by_text("You are signed out")).to_have_count(0)
    assert {name: answer["value"] for name, answer in _run(office, link)["answers"].items()} == {
        "s-clean": False,
        "s-note": "typed after the end",
    }
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    events = await stage.events(link, last="run.completed")
    assert [event.event for event in events] == ["step.completed"] * 3 + ["run.completed"]
    assert {event.envelope["identity"]["user_id"] for event in events} == {member}


async def test_a_submit_that_meets_no_session_waits_and_says_so(office: Office, new_device: NewDevice) -> None:
    person = await office.member("viewer")
    link = office.dispatch(FOR_MEMBERS)
    device = await _signed_in(office, new_device, person)
    screen = await ChecklistScreen.opened(device, link)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await _end_session(device, office)
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    await expect(screen.page.get_by_role("button", name="Sign in")).to_be_visible()
    await _looks_right(device)
    assert _run(office, link)["status"] == "in_progress"
    await screen.page.get_by_role("button", name="Back to the checklist").click()
    await expect(screen.heading("Check your answers")).to_be_visible()


async def test_another_member_on_the_same_device_sends_nothing_of_the_first_ones(
    office: Office, new_device: NewDevice
) -> None:
    ada, bob = await office.member("viewer", name="Ada First"), await office.member("admin", name="Bob Second")
    link = office.dispatch(FOR_MEMBERS)
    device = await _signed_in(office, new_device, ada)
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.card("Clean")).to_be_visible()
    await device.page.wait_for_function("navigator.serviceWorker.ready.then(() => true)")
    await device.context.set_offline(True)
    await screen.choose("Clean", "Yes")
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    await _become(device, office, bob)
    await device.context.set_offline(False)
    await expect(screen.heading("Somebody else answers this checklist")).to_be_visible()
    await expect(screen.page.get_by_text(bob.email)).to_be_visible()
    await expect(screen.page.get_by_text("1 answer from this device waits")).to_be_visible()
    await expect(screen.page.get_by_text("Ada First")).to_have_count(0)
    await _looks_right(device)
    assert _run(office, link)["answers"] == {}
    await screen.page.get_by_role("button", name="Sign in as somebody else").click()
    await expect(screen.page.get_by_label("Password", exact=True)).to_be_visible()
    await _become(device, office, ada)
    await device.page.goto(link.bare)
    await expect(screen.page.locator(".pill")).to_have_text("Saved")
    await until(lambda: "s-clean" in _run(office, link)["answers"])
    assert _run(office, link)["answers"]["s-clean"]["by"] == ada.member_id
    assert _run(office, link)["assigned_to"] == ada.member_id


async def test_of_two_members_who_open_the_link_the_first_gets_it(office: Office, new_device: NewDevice) -> None:
    people = [await office.member("viewer", name="Ada First"), await office.member("editor", name="Bob Second")]
    link = office.dispatch(FOR_MEMBERS)
    devices = [await _signed_in(office, new_device, person) for person in people]
    screens = await asyncio.gather(*(ChecklistScreen.opened(device, link) for device in devices))
    shut = "Somebody else answers this checklist"
    for screen in screens:
        await expect(screen.heading("Cold store check").or_(screen.heading(shut))).to_be_visible()
    got = [await screen.heading("Cold store check").count() for screen in screens]
    assert sorted(got) == [0, 1]
    assert _run(office, link)["assigned_to"] == people[got.index(1)].member_id


async def test_a_member_of_another_organization_gets_nowhere_and_is_told_as_whom(
    stage: Stage, kube: KubeClient, office: Office, new_device: NewDevice
) -> None:
    elsewhere = await Office.opened(stage, kube, name="Other People")
    stranger = await elsewhere.member("admin")
    link = office.dispatch(FOR_MEMBERS)
    device = await _signed_in(office, new_device, stranger, **DESKTOP)
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.heading("This checklist is not for you")).to_be_visible()
    await expect(screen.page.get_by_text("Only members of Bright Kitchens can answer it")).to_be_visible()
    await expect(screen.page.get_by_text(stranger.email)).to_be_visible()
    await _looks_right(device)
    assert _run(office, link)["assigned_to"] is None
    # Once invited, the same browser gets in.
    await _make_member_of(office, stranger)
    await screen.page.get_by_role("button", name="Try again").click()
    await expect(screen.heading("Cold store check")).to_be_visible()


async def test_who_is_removed_while_answering_keeps_what_waits(office: Office, new_device: NewDevice) -> None:
    person = await office.member("editor")
    link = office.dispatch(FOR_MEMBERS)
    device = await _signed_in(office, new_device, person)
    screen = await ChecklistScreen.opened(device, link)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await office.kube.delete(MEMBER, person.member_id, NAMESPACE)
    await until(lambda: _memberships(office, person) == 0)
    await screen.write("Note", "too late")
    await expect(screen.heading("This checklist is not for you")).to_be_visible()
    await expect(screen.page.get_by_text("1 answer from this device waits")).to_be_visible()
    assert list(_run(office, link)["answers"]) == ["s-clean"]


async def test_whoever_is_signed_in_stays_unnamed_in_a_checklist_for_anybody(
    office: Office, new_device: NewDevice
) -> None:
    person = await office.member("admin")
    link = office.dispatch(checklist(step("clean"), step("shelf", "photo", config={"min": 0, "max": 1})))
    device = await _signed_in(office, new_device, person)
    sent = _requests_of(device)
    screen = await ChecklistScreen.opened(device, link)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    run = _run(office, link)
    assert (run["assigned_to"], run["executor_identity"]) == (None, {"mode": "anonymous"})
    assert run["answers"]["s-clean"]["by"] is None
    calls = [request for request in sent if "/v1/executor/" in request.url]
    assert calls
    for request in calls:
        assert COOKIE not in (await request.all_headers()).get("cookie", "")


# --- parts


async def _signed_in(office: Office, new_device: NewDevice, person: Person, **options: object) -> Device:
    device = await new_device(**options)
    await _become(device, office, person)
    return device


async def _become(device: Device, office: Office, person: Person) -> None:
    await device.context.clear_cookies()
    await device.context.add_cookies([person.cookie(office.stage.base_url)])  # type: ignore[list-item]


def _requests_of(device: Device) -> list[Request]:
    """Grows from now on."""
    sent: list[Request] = []

    def note(request: Request) -> None:
        sent.append(request)

    device.page.on("request", note)
    return sent


async def _sign_in_with_password(device: Device, email: str) -> None:
    page = device.page
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def _member_with_password(office: Office) -> tuple[str, str]:
    """A member who was invited and has chosen PASSWORD: id and e-mail address."""
    email = f"{new_id('u')}@example.com"
    member = await make_member(
        office.kube, organization=office.organization, namespace=NAMESPACE, role="viewer", name="Lou Local", email=email
    )
    token = new_token(email)
    link = one_time_link(token, now=utc_now(), purpose=LinkPurpose.INVITATION)
    body = {
        "apiVersion": API_VERSION,
        "kind": LOCAL_ACCOUNT.kind,
        "metadata": {"name": account_name(email), "namespace": NAMESPACE},
        "spec": LocalAccountSpec(email=email, name="Lou Local", link=link).to_kube(),
    }
    await office.kube.create(LOCAL_ACCOUNT, body, NAMESPACE)
    own_page = {"Sec-Fetch-Site": "same-origin"}
    api = f"{office.stage.base_url}/dashboard/api"
    async with httpx.AsyncClient(headers=own_page, trust_env=False, timeout=30) as http:
        signed = await http.post(f"{api}/sign-in/link", json={"secret": token})
        assert signed.status_code == 200, signed.text
        headers = {"Cookie": f"{COOKIE}={signed.headers['Set-Cookie'].partition('=')[2].partition(';')[0]}"}
        headers[CSRF_HEADER] = (await http.get(f"{api}/session", headers=headers)).json()["csrf_token"]
        chosen = await http.post(f"{api}/account/password", json={"new_password": PASSWORD}, headers=headers)
        assert chosen.status_code == 200, chosen.text
    return member, email


async def _make_member_of(office: Office, person: Person) -> None:
    await make_member(
        office.kube,
        organization=office.organization,
        namespace=NAMESPACE,
        role="viewer",
        name=person.name,
        subject=person.subject,
    )
    await until(lambda: _memberships(office, person) == 2)


def _memberships(office: Office, person: Person) -> int:
    session = httpx.get(f"{office.stage.base_url}/dashboard/api/session", headers=person.headers, trust_env=False)
    return len(session.json()["organizations"])


async def _end_session(device: Device, office: Office) -> None:
    """On the server, as an administrator or the passing of time does it."""
    [cookie] = [each for each in await device.context.cookies() if each["name"] == COOKIE]
    await office.kube.delete(DASHBOARD_SESSION, object_name(digest(cookie["value"])), NAMESPACE)
    address, headers = f"{office.stage.base_url}/dashboard/api/session", {"Cookie": f"{COOKIE}={cookie['value']}"}
    await until(lambda: httpx.get(address, headers=headers, trust_env=False).status_code == 401)


async def _looks_right(device: Device) -> None:
    for scheme in ("light", "dark"):
        # Without motion: colours that are on their way from one scheme to the other are in neither.
        await device.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        assert await device.accessibility_findings() == []
    await device.page.emulate_media(color_scheme="light")
    assert not await device.overflows()


def _run(office: Office, link: Link) -> Json:
    """As its owner reads it."""
    return office.call("GET", f"/v1/runs/{link.run_id}")
