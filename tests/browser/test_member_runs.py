"""Checklists that members answer as themselves: signing in on the way, who gets nowhere, and whose answers they are."""

import asyncio
from typing import Any

from playwright.async_api import Request, expect
from tests.waiting import eventually

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.device import Device
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link, Stage
from checklist_dev.people import Person

from .checklist_screen import ChecklistScreen, looks_right
from .conftest import NewDevice
from .local_accounts import end_session, enter_password, make_with_password

Json = dict[str, Any]
FOR_MEMBERS = checklist(step("clean"), step("note", "text"), identity="member")


async def test_a_member_signs_in_on_the_way_comes_back_and_every_event_says_who(
    stage: Stage, office: Office, new_device: NewDevice
) -> None:
    member, email = await make_with_password(office, "viewer")
    link = office.dispatch(FOR_MEMBERS, webhook=office.webhook())
    device = await new_device()
    sent: list[Request] = []

    def note(request: Request) -> None:
        sent.append(request)

    device.page.on("request", note)
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.heading("Sign in to answer")).to_be_visible()
    await expect(screen.page.get_by_text("This checklist is for members of Bright Kitchens.")).to_be_visible()
    await screen.page.get_by_role("button", name="Sign in").click()
    await enter_password(device, email)
    await expect(screen.heading("Cold store check")).to_be_visible()
    assert device.page.url == link.bare
    run = _run(office, link)
    assert (run["assigned_to"], run["status"]) == (member, "pending")
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
    member, email = await make_with_password(office, "viewer")
    link = office.dispatch(FOR_MEMBERS, webhook=office.webhook())
    device = await new_device()
    screen = await ChecklistScreen.opened(device, link)
    await screen.page.get_by_role("button", name="Sign in").click()
    await enter_password(device, email)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await end_session(office, device)
    await screen.write("Note", "typed after the end")
    await screen.choose("Clean", "No")
    await expect(screen.page.locator(".pill")).to_have_text("Signed out: 2 waiting")
    await expect(screen.page.get_by_text("You are signed out")).to_be_visible()
    await looks_right(device)
    await device.page.reload()
    await expect(screen.card("Note").get_by_role("textbox")).to_have_value("typed after the end")
    await expect(screen.page.locator(".pill")).to_have_text("Signed out: 2 waiting")
    await screen.page.get_by_role("button", name="Sign in").click()
    await enter_password(device, email)
    await expect(screen.page.locator(".pill")).to_have_text("Saved")
    await expect(screen.page.get_by_text("You are signed out")).to_have_count(0)
    assert {name: answer["value"] for name, answer in _run(office, link)["answers"].items()} == {
        "s-clean": False,
        "s-note": "typed after the end",
    }
    await screen.to_review()
    await end_session(office, device)
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    await looks_right(device)
    assert _run(office, link)["status"] == "in_progress"
    await screen.page.get_by_role("button", name="Sign in").click()
    await enter_password(device, email)
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    events = await stage.events(link, last="run.completed")
    assert [event.event for event in events] == ["step.completed"] * 3 + ["run.completed"]
    assert {event.envelope["identity"]["user_id"] for event in events} == {member}


async def test_another_member_on_the_device_sends_nothing_of_the_first_ones(
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
    await looks_right(device)
    assert _run(office, link)["answers"] == {}
    await screen.page.get_by_role("button", name="Sign in as somebody else").click()
    await expect(screen.page.get_by_label("Password", exact=True)).to_be_visible()
    await _become(device, office, ada)
    await device.page.goto(link.bare)
    await expect(screen.page.locator(".pill")).to_have_text("Saved")
    await eventually(lambda: "s-clean" in _run(office, link)["answers"])
    run = _run(office, link)
    assert run["assigned_to"] == run["answers"]["s-clean"]["by"] == ada.member_id


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


async def _signed_in(office: Office, new_device: NewDevice, person: Person) -> Device:
    device = await new_device()
    await _become(device, office, person)
    return device


async def _become(device: Device, office: Office, person: Person) -> None:
    await device.context.clear_cookies()
    await device.context.add_cookies([person.cookie(office.stage.base_url)])  # type: ignore[list-item]


def _run(office: Office, link: Link) -> Json:
    """As its owner reads it."""
    return office.call("GET", f"/v1/runs/{link.run_id}")
