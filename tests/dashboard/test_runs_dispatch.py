"""Dispatching from the dashboard: the form, what the service says of it, and the link that comes of it."""

import re

from playwright.async_api import Request, Route, expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn


async def test_a_run_is_dispatched_by_keyboard_and_its_link_given_away(office: Office, signed_in: SignedIn) -> None:
    for number in range(12):
        office.make_template(checklist(step("clean"), name=f"Room {number}"))
    template = office.make_template({**checklist(step("clean"), name="Opening check"), "tags": ["swings"]})
    screen = await signed_in("editor", at=f"runs/new?template={template}")
    await expect(screen.main.locator(".chosen-template")).to_contain_text("Opening check")
    await screen.button("Choose another").press("Enter")
    await expect(screen.main.locator(".template-choice")).to_contain_text("5 more: type more of the name.")
    await screen.main.get_by_label("Search by name, tag or description").fill("swing")
    await screen.main.get_by_role("radio").press("Space")
    await screen.main.get_by_label("The link expires").select_option(label="In 24 hours")
    await screen.main.get_by_label("Reference").fill("order 4711")
    await screen.main.get_by_label("Send events to my server").press("Space")
    await screen.main.get_by_label("Address").fill(f"{office.stage.receiver.url}/hook")
    await screen.button("Generate").press("Enter")
    secret = await screen.main.get_by_label("Secret", exact=True).input_value()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", secret)
    await screen.main.get_by_role("radio", name="Selected events").check()
    await screen.main.get_by_role("checkbox", name="run.expired").uncheck()
    await screen.looks_right()
    await screen.button("Dispatch").press("Enter")
    await expect(screen.heading("The run is dispatched")).to_be_focused()
    [run] = office.call("GET", "/v1/runs")["data"]
    assert (run["executor_ref"], run["template_id"], run["expires_at"] is not None) == ("order 4711", template, True)
    link = await screen.main.locator(".command code").inner_text()
    assert f"/r/{run['run_id']}#" in link
    await screen.looks_right()
    await screen.main.get_by_role("link", name="See the run").press("Enter")
    await expect(screen.main).to_contain_text("127.0.0.1 (run.completed, run.cancelled)")
    office.call("POST", f"/v1/runs/{run['run_id']}/cancel", json={})
    await expect(screen.main.locator(".event")).to_contain_text("run.cancelled")


async def test_repeated_dispatches_make_one_run(office: Office, signed_in: SignedIn) -> None:
    limited = await Office.opened(office.stage, office.kube, name="Small", runs_per_month=2)
    template = limited.make_template(checklist(step("clean")))
    screen = await signed_in(person=await limited.member("editor"))
    keys, alert = list[str](), screen.main.get_by_role("alert")

    async def lose_the_answer(route: Route) -> None:
        await route.fetch()
        await route.abort()

    def note(request: Request) -> None:
        if request.method == "POST":
            keys.append(request.headers.get("idempotency-key", ""))

    screen.page.on("request", note)
    await screen.page.goto(limited.address(f"runs/new?template={template}"))
    await screen.button("Dispatch").dblclick()
    await expect(screen.heading("The run is dispatched")).to_be_visible()
    assert len(limited.call("GET", "/v1/runs")["data"]) == len(keys) == 1
    await screen.button("Dispatch another").click()
    await screen.page.route("**/runs", lose_the_answer)
    await screen.button("Dispatch").click()
    await expect(alert).to_contain_text("The service cannot be reached")
    await screen.page.unroute("**/runs")
    await screen.button("Dispatch").click()
    await expect(screen.heading("The run is dispatched")).to_be_visible()
    assert (len(limited.call("GET", "/v1/runs")["data"]), len(set(keys))) == (2, 2)

    await screen.button("Dispatch another").click()
    await expect(alert).to_contain_text("2 of 2 runs used.")
    await screen.button("Dispatch").click()
    await expect(alert).to_have_count(1)
    await expect(alert).to_contain_text("The count resets")
    assert len(limited.call("GET", "/v1/runs")["data"]) == 2


async def test_what_the_service_refuses_is_said_at_its_field(office: Office, signed_in: SignedIn) -> None:
    office.make_template(checklist(step("clean")))
    screen = await signed_in("editor", at="runs/new")
    await screen.button("Dispatch").click()
    await expect(screen.main.locator(".template-choice .error")).to_be_visible()
    await screen.main.get_by_role("radio", name="Cold store check").check()
    await screen.main.get_by_label("The link expires").select_option(label="Custom …")
    await screen.main.get_by_label("Hours").fill("10000")
    await screen.main.get_by_label("Reference").fill("x" * 201)
    await screen.main.get_by_label("Send events to my server").check()
    await screen.main.get_by_label("Address").fill("ftp://example.com")
    await screen.main.get_by_label("Secret", exact=True).fill("short")
    await screen.main.get_by_role("radio", name="Selected events").check()
    for event in ("run.completed", "run.cancelled", "run.expired"):
        await screen.main.get_by_role("checkbox", name=event).uncheck()
    await screen.button("Dispatch").click()
    await expect(screen.main.locator(".error")).to_have_count(5)
    await expect(screen.main.get_by_label("Hours")).to_be_focused()
    await expect(screen.main.get_by_label("Hours")).to_have_accessible_description(re.compile("at most 8760"))
    secret = screen.main.get_by_label("Secret", exact=True)
    await expect(secret).to_have_accessible_description(re.compile("at least 16"))
    await screen.looks_right()
    assert office.call("GET", "/v1/runs")["data"] == []
