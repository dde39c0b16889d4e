"""Checklists that members answer as themselves: signing in on the way, who gets nowhere, and whose answers they are."""

import asyncio
from typing import Any

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link, Stage

from .checklist_screen import ChecklistScreen, looks_right
from .conftest import NewDevice
from .local_accounts import end_session, enter_password, make_with_password

Json = dict[str, Any]
FOR_MEMBERS = checklist(step("clean"), step("note", "text"), identity="member")


async def test_a_member_signs_in_on_the_way_and_a_session_that_ends_loses_nothing(
    stage: Stage, office: Office, new_device: NewDevice
) -> None:
    member, email = await make_with_password(office, "viewer")
    link = office.dispatch(FOR_MEMBERS, webhook=office.webhook())
    device = await new_device()
    screen = await ChecklistScreen.opened(device, link)
    page, pill = screen.page, screen.page.locator(".pill")

    async def sign_in() -> None:
        await page.get_by_role("button", name="Sign in").click()
        await enter_password(device, email)

    await expect(screen.heading("Sign in to answer")).to_be_visible()
    await expect(page.get_by_text("This checklist is for members of Bright Kitchens.")).to_be_visible()
    await looks_right(device)
    await sign_in()
    await expect(screen.heading("Cold store check")).to_be_visible()
    assert page.url == link.bare
    run = _run(office, link)
    assert (run["assigned_to"], run["status"]) == (member, "pending")
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await page.get_by_role("button", name="Menu").click()
    await expect(page.get_by_text("Answering as Lou Local")).to_be_visible()
    await page.get_by_role("button", name="Close").click()

    await end_session(office, device)
    await screen.write("Note", "typed after the end")
    await screen.choose("Clean", "No")
    await expect(pill).to_have_text("Signed out: 2 waiting")
    await looks_right(device)
    await page.reload()
    await expect(screen.card("Note").get_by_role("textbox")).to_have_value("typed after the end")
    await sign_in()
    await expect(pill).to_have_text("Saved")
    given = {name: answer["value"] for name, answer in _run(office, link)["answers"].items()}
    assert given == {"s-clean": False, "s-note": "typed after the end"}
    await screen.to_review()
    await end_session(office, device)
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    await looks_right(device)
    assert _run(office, link)["status"] == "in_progress"
    await sign_in()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    events = await stage.events(link, last="run.completed")
    assert [event.event for event in events] == ["step.completed"] * 3 + ["run.completed"]
    assert {str(event.envelope["identity"]) for event in events} == {str({"mode": "member", "user_id": member})}
    assert events[-1].envelope["data"]["answers"]["s-clean"]["by"] == member


async def test_of_two_members_who_open_the_link_the_first_gets_it(office: Office, new_device: NewDevice) -> None:
    people = [await office.member("viewer", name="Ada First"), await office.member("editor", name="Bob Second")]
    link, devices = office.dispatch(FOR_MEMBERS), [await new_device(), await new_device()]
    for device, person in zip(devices, people, strict=True):
        await device.context.add_cookies([person.cookie(office.stage.base_url)])  # type: ignore[list-item]
    screens = await asyncio.gather(*(ChecklistScreen.opened(device, link) for device in devices))
    shut = "Another member is answering this checklist"
    for screen in screens:
        await expect(screen.heading("Cold store check").or_(screen.heading(shut))).to_be_visible()
    got = [await screen.heading("Cold store check").count() for screen in screens]
    assert sorted(got) == [0, 1]
    winner, loser = got.index(1), got.index(0)
    assert _run(office, link)["assigned_to"] == people[winner].member_id
    await expect(screens[loser].page.get_by_text(people[loser].email)).to_be_visible()
    await expect(screens[loser].page.get_by_text(("Ada First", "Bob Second")[winner])).to_have_count(0)
    await looks_right(devices[loser])


def _run(office: Office, link: Link) -> Json:
    """As its owner reads it."""
    return office.call("GET", f"/v1/runs/{link.run_id}")
