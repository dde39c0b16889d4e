"""The page of one run: its story, its answers, its deliveries, its link, and its end."""

import re
from typing import Any

from playwright.async_api import expect
from tests.browser.checklist_screen import picture
from tests.waiting import eventually

from checklist_dev.browser.checklists import checklist, section, step
from checklist_dev.browser.failed_deliveries import make_failed
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link

from .conftest import SignedIn
from .dashboard_screen import DashboardScreen

DIRTY = {"when": {"step": "s-clean", "op": "eq", "value": False}}
COLD_STORE: dict[str, Any] = {
    "name": "Cold store check",
    "settings": {"allow_skip": True, "signature_on_complete": True},
    "sections": [
        section(
            "First look",
            step("clean", label="Is the floor clean?", required=True, config={"false_label": "Dirty"}),
            step("why", "text", label="What is dirty?", condition=DIRTY),
            step("place", label="Are you at the store?", geo=True),
        ),
        section(
            "Evidence",
            step("shelf", "photo", label="Photos of the shelves", config={"min": 1, "max": 3}),
            step("note", "text", label="Anything to remark?"),
        ),
    ],
}


def _answer(office: Office, link: Link, **values: object) -> None:
    for name, value in values.items():
        office.stage.execute(
            link, "PUT", f"/answers/s-{name}", json=value if isinstance(value, dict) else {"value": value}
        )


def _part(screen: DashboardScreen, name: str) -> Any:
    return screen.main.get_by_role("region", name=name)


async def test_a_completed_run_is_shown_from_dispatch_to_receipt(office: Office, signed_in: SignedIn) -> None:
    link = office.dispatch(COLD_STORE, webhook=office.webhook(), executor_ref="order 4711", expires_in_hours=24)
    _answer(office, link, clean=True, place={"value": True, "geo": {"lat": 52.5163, "lng": 13.3777, "accuracy_m": 8}})
    for colour in ("navy", "maroon"):
        headers = {"Content-Type": "image/png"}
        office.stage.execute(link, "POST", "/answers/s-shelf/photos", content=picture(colour), headers=headers)
    office.stage.execute(link, "POST", "/steps/s-note/skip", json={})
    office.stage.execute(link, "POST", "/submit", json={"signature": {"name": "Sam Example"}})
    delivered = f"/v1/runs/{link.run_id}/deliveries"
    await eventually(lambda: [one["status"] for one in office.call("GET", delivered)["data"]] == ["delivered"] * 6)
    screen = await signed_in("viewer", at=f"runs/{link.run_id}")
    story, missing = _part(screen, "Timeline"), _part(screen, "Without an answer")
    receipt = office.stage.execute(link, "GET", "")["receipt"]
    for words in ("Dispatched by Olga Owner", "order 4711", "127.0.0.1 (all events)", "Completed", receipt["digest"]):
        await expect(story).to_contain_text(words)
    labels = ["Is the floor clean?", "Are you at the store?", "Photos of the shelves"]
    await expect(story.locator(".answer-label")).to_have_text(labels)
    for words in ("52.51630, 13.37770", "accurate to 8 m", "Signed by Sam Example"):
        await expect(story).to_contain_text(words)
    await expect(missing.locator(".answer")).to_contain_text(["Anything to remark?Skipped"])
    await missing.get_by_text("1 step does not apply").click()
    await expect(missing.get_by_text("What is dirty?")).to_be_visible()
    await expect(_part(screen, "Places").get_by_role("img", name="The place of 1 answer")).to_be_visible()
    # Events follow what caused them, and are folded.
    events = story.locator(".event")
    await expect(events).to_have_count(6)
    await expect(events.locator("visible=true")).to_have_count(0)
    await expect(events.last).to_contain_text("run.completed")
    await story.locator(".event-group summary").last.click()
    await expect(events.last.get_by_role("table")).to_contain_text("204 Delivered")
    sent = events.last.get_by_role("cell", name=re.compile(r"\d\d:\d\d:\d\d$")).first
    await expect(sent).to_be_visible()
    await expect(_part(screen, "Undelivered events")).to_have_count(0)
    # Who reads only is given neither the link nor an act.
    await expect(screen.main.get_by_role("button", name=re.compile("Replay|Cancel the run"))).to_have_count(0)
    await screen.looks_right()

    first, viewer = screen.button("Photo 1 of “Photos of the shelves”"), screen.dialog("Photos of the shelves")
    boxes = [await screen.button(f"Photo {number} of “Photos of the shelves”").bounding_box() for number in (1, 2)]
    assert len({box["y"] for box in boxes if box is not None}) == 1, "photos are a strip"
    await expect(first.locator("img")).to_have_js_property("complete", True)
    assert await first.locator("img").evaluate("image => image.naturalWidth") > 0
    await first.press("Enter")
    for key, number in (("ArrowRight", 2), ("ArrowRight", 2), ("Home", 1)):
        await screen.page.keyboard.press(key)
        await expect(viewer).to_contain_text(f"Photo {number} of 2")
    await screen.looks_right()
    image = viewer.locator(".photo-large")
    narrow = (await image.bounding_box() or {})["width"]
    await screen.page.keyboard.press("+")
    await expect(viewer).to_contain_text("200 %")
    assert (await image.bounding_box() or {})["width"] > 1.9 * narrow
    assert await screen.device.accessibility_findings() == []
    await viewer.get_by_role("button", name="Zoom out").click()
    await expect(viewer).not_to_contain_text("200 %")
    await screen.page.keyboard.press("Escape")
    await expect(first).to_be_focused()


async def test_an_open_run_is_followed_and_cancelled(office: Office, signed_in: SignedIn) -> None:
    link = office.dispatch(COLD_STORE, webhook=office.webhook(events=["run.cancelled"]), expires_in_hours=24)
    robin = await office.member("editor", name="Robin Baker")
    screen = await signed_in(person=robin, permissions=["clipboard-read", "clipboard-write"])
    hosts: set[str] = set()
    screen.page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    await screen.open(f"runs/{link.run_id}")
    story, missing = _part(screen, "Timeline"), _part(screen, "Without an answer")
    await expect(story).to_contain_text("Waiting for the first answer; the link works for 24 more hours")
    _answer(office, link, clean=False)
    await expect(story.locator(".answer").first).to_contain_text("Dirty")
    await expect(missing.locator(".answer-label").first).to_have_text("What is dirty?")
    await screen.button("Copy the link").click()
    assert await screen.page.evaluate("navigator.clipboard.readText()") == link.url
    await screen.button("Show the QR code large").press("Enter")
    await expect(screen.dialog("Cold store check").get_by_role("img", name=re.compile("^QR code"))).to_be_visible()
    assert hosts == {office.stage.base_url.split("/")[2]}
    await screen.page.keyboard.press("Escape")

    await screen.button("Cancel the run").click()
    question = screen.dialog("Cancel this run of “Cold store check”?")
    await expect(question).to_contain_text("127.0.0.1 is sent run.cancelled")
    await screen.looks_right()
    await question.get_by_role("button", name="Cancel the run").click()
    await screen.says("The run is cancelled.")
    await expect(story).to_contain_text("Cancelled by the organization")
    await expect(_part(screen, "Link for the executor")).to_have_count(0)

    event = story.locator(".event")
    await expect(event).to_contain_text("Delivered")
    await story.get_by_text("run.cancelled, delivered").click()
    await event.get_by_role("button", name="Replay run.cancelled, event 1").click()
    question = screen.dialog("Send run.cancelled to 127.0.0.1 again?")
    await expect(question).to_contain_text("It was delivered before.")
    await question.get_by_role("button", name="Send again").click()
    await screen.says("run.cancelled was delivered to 127.0.0.1.")
    assert len(office.stage.receiver.of_run(link.run_id)) == 2
    [delivery] = office.call("GET", "/v1/deliveries")["data"]
    await screen.open(f"deliveries/{delivery['event_id']}")
    await expect(screen.main.get_by_role("region", name="Event")).to_contain_text("Robin Baker")


async def test_an_event_that_does_not_arrive_stands_first_with_the_receivers_answer(
    office: Office, signed_in: SignedIn
) -> None:
    link = await make_failed(office, 2)
    screen = await signed_in("editor", at=f"runs/{link.run_id}")
    problems = _part(screen, "Undelivered events")
    await expect(problems).to_contain_text("2 events did not arrive at 127.0.0.1.")
    first = problems.locator(".event").first
    await expect(first).to_contain_text("503 Server error")
    await expect(first).to_contain_text("The endpoint answered with 503.")
    regions = await screen.main.get_by_role("region").evaluate_all("all => all.map(each => each.ariaLabel)")
    assert regions.index("Undelivered events") < regions.index("Timeline")
    await screen.looks_right()
    await expect(first.get_by_role("button", name="Replay step.completed, event 1")).to_be_visible()


async def test_the_longest_texts_stay_within_the_list_and_the_page(office: Office, signed_in: SignedIn) -> None:
    word = "Donaudampfschifffahrt" * 20
    long = checklist(step("note", "text", label=word[:400], config={"multiline": True}), name=word[:200])
    link = office.dispatch(long, executor_ref="x" * 200, webhook=office.webhook())
    _answer(office, link, note=f"{word}\n" * 5)
    screen = await signed_in("editor", at="runs")
    await expect(screen.row(word[:200])).to_be_visible()
    await screen.looks_right()
    await screen.open(f"runs/{link.run_id}")
    await expect(_part(screen, "Timeline")).to_contain_text("Donaudampfschifffahrt")
    await screen.looks_right()
