"""The dashboard's pages of runs and deliveries."""

from typing import Any, Final

from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.failed_deliveries import make_failed
from checklist_dev.browser.stage import Link
from checklist_dev.screenshots.dashboard_states import Desk, desk_state
from checklist_dev.screenshots.scene import ANSWERS, PLACE, picture

FAILED: Final = 40
CHECKS: Final = ("Opening check", "Closing check", "Cold store check", "Playground inspection")


def _execute(desk: Desk, link: Link, method: str, path: str, **arguments: Any) -> None:
    desk.office.stage.execute(link, method, path, **arguments)


def _answered(desk: Desk) -> Link:
    """A run of every control, answered but for its submission; the first event needs two attempts."""
    office = desk.office
    office.stage.receiver.fail_next(1)
    link = office.dispatch(EVERY_CONTROL, webhook=office.webhook(), executor_ref="order 4711", expires_in_hours=48)
    for step_id, value in ANSWERS.items():
        _execute(desk, link, "PUT", f"/answers/{step_id}", json={"value": value})
    _execute(desk, link, "PUT", "/answers/s-place", json={"value": True, "geo": PLACE})
    _execute(desk, link, "POST", "/steps/s-country/skip", json={})
    for number in (1, 2, 3):
        content, headers = picture(number), {"Content-Type": "image/jpeg"}
        _execute(desk, link, "POST", "/answers/s-shelf/photos", content=content, headers=headers)
    return link


@desk_state(role="editor")
async def runs(desk: Desk) -> None:
    templates = [desk.office.make_template(checklist(step("a"), step("b"), name=name)) for name in CHECKS]
    for number in range(24):
        expires_in_hours = 24 if number % 3 else None
        link = desk.office.dispatch(
            templates[number % len(templates)],
            executor_ref=f"order {4700 + number}",
            expires_in_hours=expires_in_hours,
        )
        if number % 2:
            _execute(desk, link, "PUT", "/answers/s-a", json={"value": True})
        if number % 10 == 1:
            _execute(desk, link, "POST", "/submit", json={})
        elif number % 7 == 2:
            desk.office.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})
    await desk.open("runs")


@desk_state(role="editor")
async def runs_empty(desk: Desk) -> None:
    await desk.open("runs")


@desk_state(role="editor", whole=True)
async def run_open(desk: Desk) -> None:
    await desk.open(f"runs/{_answered(desk).run_id}")


@desk_state(role="viewer", whole=True)
async def run_completed(desk: Desk) -> None:
    link = _answered(desk)
    _execute(desk, link, "POST", "/submit", json={"signature": {"name": "Sam Example"}})
    await desk.open(f"runs/{link.run_id}")


@desk_state(role="editor")
async def run_photo(desk: Desk) -> None:
    await desk.open(f"runs/{_answered(desk).run_id}")
    await desk.page.locator(".photo-thumb").first.click()


@desk_state(role="editor")
async def run_cancel(desk: Desk) -> None:
    await desk.open(f"runs/{_answered(desk).run_id}")
    await desk.press("Cancel the run")


@desk_state(role="viewer")
async def run_expired(desk: Desk) -> None:
    link = desk.office.dispatch(checklist(step("clean")), expires_in_hours=1 / 3600)
    await desk.open(f"runs/{link.run_id}")
    await desk.page.get_by_text("Nobody answered before the link expired.").wait_for()


@desk_state(role="editor", whole=True)
async def dispatch(desk: Desk) -> None:
    for name in CHECKS:
        desk.office.make_template(checklist(step("a"), name=name))
    await desk.open("runs/new")
    await desk.page.get_by_label("Opening check").check()
    await desk.page.get_by_label("The link expires").select_option(label="In 3 days")
    await desk.page.get_by_label("Tell my server of what happens").check()
    await desk.page.get_by_label("Address").fill("ftp://hooks.example.com")
    await desk.page.get_by_label("Secret", exact=True).fill("short")
    await desk.press("Dispatch")
    await desk.page.locator(".error").first.wait_for()


@desk_state(role="editor")
async def dispatched(desk: Desk) -> None:
    template = desk.office.make_template(checklist(step("a"), name="Opening check"))
    await desk.open(f"runs/new?template={template}")
    await desk.press("Dispatch")
    await desk.page.get_by_role("heading", name="The run is dispatched").wait_for()


@desk_state(role="editor")
async def deliveries(desk: Desk) -> None:
    _answered(desk)
    await desk.open("deliveries")


@desk_state(role="editor")
async def endpoints(desk: Desk) -> None:
    _answered(desk)
    await desk.open("deliveries/endpoints")


@desk_state(role="editor")
async def replay(desk: Desk) -> None:
    """Counted, and not begun."""
    await make_failed(desk.office, FAILED)
    await desk.open("deliveries/replay?host=127.0.0.1")
    await desk.press("Count them")
    await desk.page.get_by_role("heading", name=f"{FAILED} failed deliveries").wait_for(timeout=60_000)


@desk_state(role="editor")
async def replay_done(desk: Desk) -> None:
    await replay(desk)
    desk.office.stage.receiver.fail_next(3)
    await desk.press(f"Replay {FAILED} deliveries")
    await desk.press(f"Send {FAILED} deliveries")
    await desk.page.get_by_text("Finished, not all delivered").first.wait_for(timeout=60_000)


@desk_state(role="editor")
async def replay_nothing(desk: Desk) -> None:
    await desk.open("deliveries/replay?host=hooks.example.com")
    await desk.press("Count them")
    await desk.page.get_by_role("heading", name="Nothing to replay").wait_for()
