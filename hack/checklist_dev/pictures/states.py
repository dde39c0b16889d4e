"""Coroutines that create the state of each picture."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.pictures.scene import Scene

CHECKS: Final = ("Opening check", "Closing check", "Cold store check", "Playground inspection")
FRIDGE: Final[dict[str, Any]] = {
    "name": "Fridge check",
    "description": "Every morning, before the first delivery.",
    "tags": ["kitchen", "daily"],
    "sections": [
        {
            "id": "g-fridge",
            "title": "Fridge",
            "steps": [
                step("cold", label="Is the fridge below 5 °C?", required=True),
                step(
                    "done",
                    "text",
                    label="What was done about it?",
                    required=True,
                    condition={"when": {"step": "s-cold", "op": "eq", "value": False}},
                ),
                step("shelves", "photo", label="Photo of the shelves", config={"min": 1, "max": 3}),
            ],
        },
        {
            "id": "g-end",
            "title": "At the end",
            "steps": [step("lead", "signature", label="Signature of the shift lead", required=True)],
        },
    ],
}
VAN: Final = (
    "Hello team! Van before the trip: tyres ok, lights ok, tyre pressure in bar (2.2 to 2.6). Is there damage? If yes, "
    "two photos and a description. Maybe the meter if you have time. Signature of the driver. Thanks a lot and see you "
    "on Monday!"
)


async def the_checklist(scene: Scene) -> None:
    await scene.show(scene.office.dispatch(EVERY_CONTROL, expires_in_hours=48))


async def review(scene: Scene) -> None:
    await scene.show(scene.answered())
    await scene.page.locator(".next-bar button").click()
    await scene.page.locator("main.review").wait_for()


async def offline(scene: Scene) -> None:
    """Two unsent answers."""
    await scene.show(scene.office.dispatch(EVERY_CONTROL))
    await scene.device.context.set_offline(True)
    await scene.page.get_by_text("Dirty", exact=True).click()
    await scene.page.get_by_role("textbox", name="What is dirty?").fill("A puddle below the left shelf")
    await scene.page.keyboard.press("Tab")
    await scene.page.wait_for_timeout(500)


async def done(scene: Scene) -> None:
    link = scene.answered()
    scene.execute(link, "POST", "/submit", json={"signature": {"name": "Ada Lovelace"}})
    await scene.page.goto(link.url)
    await scene.page.locator(".receipt").wait_for()


async def runs(scene: Scene) -> None:
    office = scene.office
    templates = [office.make_template(checklist(step("a"), step("b"), name=name)) for name in CHECKS]
    for number in range(24):
        link = office.dispatch(
            templates[number % len(templates)],
            executor_ref=f"order {4700 + number}",
            expires_in_hours=24 if number % 3 else None,
        )
        if number % 2:
            scene.execute(link, "PUT", "/answers/s-a", json={"value": True})
        if number % 10 == 1:
            scene.execute(link, "POST", "/submit", json={})
        elif number % 7 == 2:
            office.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})
    await scene.open("runs")


async def run_completed(scene: Scene) -> None:
    link = scene.answered()
    scene.execute(link, "POST", "/submit", json={"signature": {"name": "Sam Example"}})
    await scene.open(f"runs/{link.run_id}")


async def deliveries(scene: Scene) -> None:
    scene.answered()
    await scene.open("deliveries")


async def template_editor(scene: Scene) -> None:
    """An open step with its condition as a sentence, and the preview."""
    await scene.open(f"templates/{scene.office.make_template(FRIDGE)}")
    await scene.page.locator(".outline .row-open").nth(1).click()
    await scene.page.get_by_label("Question").wait_for()
    await scene.page.mouse.move(0, 0)


async def template_review(scene: Scene) -> None:
    """A generated template next to its prompt, with the words of one step marked."""
    await scene.open("templates/new")
    await scene.page.get_by_label("What should be checked?").fill(VAN)
    await scene.page.get_by_role("button", name="Generate", exact=True).click()
    await scene.page.locator(".review-summary").wait_for()
    await scene.page.locator(".prompt-text .is-used").nth(1).hover()


ON_A_PHONE: Final[dict[str, Callable[[Scene], Awaitable[None]]]] = {
    "checklist-phone-light": the_checklist,
    "review-phone-light": review,
    "offline-phone-dark": offline,
    "done-phone-light": done,
}
OF_THE_DASHBOARD: Final[dict[str, Callable[[Scene], Awaitable[None]]]] = {
    "dashboard-runs-desktop-light": runs,
    "dashboard-run-completed-desktop-light": run_completed,
    "dashboard-deliveries-desktop-light": deliveries,
    "dashboard-template-editor-desktop-light": template_editor,
    "dashboard-template-review-desktop-light": template_review,
}
