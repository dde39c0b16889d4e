"""The dashboard's pages of templates: the list, the editor, what two people do at once, and what GitOps holds."""

import copy
from typing import Any, Final

from checklist_crds.resources.kinds import TEMPLATE
from checklist_crds.resources.management import MANAGED_BY_ANNOTATION
from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.screenshots.dashboard_states import Desk, desk_state

Json = dict[str, Any]
FRIDGE: Final[Json] = {
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
OTHERS: Final = (
    ("Opening check", ["daily"], 6),
    ("Closing check", ["daily"], 9),
    ("Playground inspection", ["safety", "outside"], 14),
    ("Delivery of goods", ["kitchen"], 5),
)


def _others(desk: Desk) -> None:
    for name, tags, count in OTHERS:
        steps = (step(f"s{number}") for number in range(count))
        desk.office.make_template({**checklist(*steps, name=name), "tags": tags})


async def _managed(desk: Desk, template: str) -> None:
    annotations = {"metadata": {"annotations": {MANAGED_BY_ANNOTATION: "Flux"}}}
    await desk.office.kube.patch(TEMPLATE, template, annotations, NAMESPACE)


def _changed_by_another(desk: Desk, template: str) -> None:
    theirs = copy.deepcopy(FRIDGE["sections"])
    theirs[0]["steps"][0]["label"] = "Is the fridge below 4 °C?"
    theirs[0]["steps"].append(step("seal", label="Is the seal of the door clean?"))
    desk.office.call("PATCH", f"/v1/templates/{template}", json={"sections": theirs})


async def _opened(desk: Desk, template: str, query: str = "") -> None:
    await desk.open(f"templates/{template}{query}")
    await desk.page.get_by_role("tablist", name="Views of the template").wait_for()


async def _edited(desk: Desk) -> str:
    """The template open, with changes that are not saved."""
    template = desk.office.make_template(FRIDGE)
    await _opened(desk, template)
    await desk.page.locator(".live-badge").get_by_text("Live").wait_for()
    await desk.page.get_by_label("Name", exact=True).fill("Fridges of the cellar")
    await desk.page.locator(".outline .row-open").first.click()
    await desk.page.get_by_label("What is asked").fill("Is the fridge below 6 °C?")
    return template


@desk_state(role="editor")
async def templates(desk: Desk) -> None:
    _others(desk)
    await _managed(desk, desk.office.make_template(FRIDGE))
    await desk.open("templates")
    await desk.page.get_by_text("Flux").first.wait_for()


@desk_state(role="editor")
async def templates_empty(desk: Desk) -> None:
    await desk.open("templates")


@desk_state(role="editor")
async def template_new(desk: Desk) -> None:
    await desk.open("templates/new")


async def _generated(desk: Desk, prompt: str, then: str) -> None:
    await desk.open("templates/new")
    await desk.page.get_by_label("What is to be checked?").fill(prompt)
    await desk.press("Generate")
    await desk.page.locator(then).wait_for()


@desk_state(role="editor", whole=True)
async def template_review(desk: Desk) -> None:
    """What was generated beside its prompt; the words of one step are marked."""
    await _generated(desk, VAN, ".review-summary")
    await desk.page.locator(".prompt-text .is-used").nth(1).hover()


@desk_state(role="editor")
async def template_unknown_job(desk: Desk) -> None:
    await _generated(desk, "Hotel lobby check", ".closest")
    await desk.page.locator(".closest").scroll_into_view_if_needed()


@desk_state(role="editor")
async def template_generated(desk: Desk) -> None:
    await _generated(desk, VAN, ".review-summary")
    await desk.press("Use this template")
    await desk.page.locator(".generated-by").wait_for()


@desk_state(role="editor")
async def template_editor(desk: Desk) -> None:
    """A step open, its condition a sentence, and the preview beside it."""
    await _opened(desk, desk.office.make_template(FRIDGE))
    await desk.page.locator(".outline .row-open").nth(1).click()
    await desk.page.get_by_label("What is asked").wait_for()
    await desk.page.mouse.move(0, 0)


@desk_state(role="editor", whole=True)
async def template_preview(desk: Desk) -> None:
    await _opened(desk, desk.office.make_template(EVERY_CONTROL))
    button = desk.page.get_by_role("button", name="Preview", exact=True)
    if await button.get_attribute("aria-pressed") == "false":
        await button.click()
    await desk.page.get_by_role("region", name="Preview").scroll_into_view_if_needed()


@desk_state(role="editor", whole=True)
async def template_refused(desk: Desk) -> None:
    await _opened(desk, desk.office.make_template(FRIDGE))
    await desk.page.get_by_label("Name", exact=True).fill("")
    await desk.page.locator(".outline .row-open").first.click()
    await desk.page.get_by_label("What is asked").fill("")
    await desk.press("Save")
    await desk.page.get_by_role("alert").first.wait_for()


@desk_state(role="editor")
async def template_json(desk: Desk) -> None:
    await _opened(desk, desk.office.make_template(FRIDGE), "?tab=json")
    text = await desk.page.get_by_label("The template as JSON").input_value()
    await desk.page.get_by_label("The template as JSON").fill(text.replace('"photo"', '"picture"'))
    await desk.page.get_by_role("region", name="What is wrong").wait_for()


@desk_state(role="editor", whole=True)
async def template_versions(desk: Desk) -> None:
    template = desk.office.make_template(FRIDGE)
    _changed_by_another(desk, template)
    await _opened(desk, template, "?tab=versions")
    await desk.page.get_by_role("list", name="From version 1 to version 2").wait_for()


@desk_state(role="editor")
async def template_newer(desk: Desk) -> None:
    """Somebody else has saved; nothing is asked yet."""
    _changed_by_another(desk, await _edited(desk))
    await desk.page.get_by_text("Somebody else has changed this template").wait_for()
    await desk.page.evaluate("scrollTo(0, 0)")


@desk_state(role="editor")
async def template_conflict(desk: Desk) -> None:
    template = await _edited(desk)
    _changed_by_another(desk, template)
    await desk.press("Save")
    await desk.page.get_by_role("dialog", name="Somebody else has changed this template").wait_for()


@desk_state()
async def template_managed(desk: Desk) -> None:
    template = desk.office.make_template(FRIDGE)
    await _managed(desk, template)
    await _opened(desk, template)
    await desk.page.get_by_text("is read-only here").wait_for()


@desk_state(role="editor")
async def template_deleted(desk: Desk) -> None:
    template = desk.office.make_template(FRIDGE)
    await _opened(desk, template)
    await desk.page.locator(".live-badge").get_by_text("Live").wait_for()
    desk.office.call("DELETE", f"/v1/templates/{template}")
    await desk.page.get_by_text("Somebody has deleted this template").wait_for()


@desk_state(role="editor")
async def template_delete(desk: Desk) -> None:
    template = desk.office.make_template(FRIDGE)
    desk.office.dispatch(template)
    await _opened(desk, template)
    await desk.press("More for this template")
    await desk.press("Delete the template")
    await desk.page.get_by_text("1 open run of it").wait_for()
