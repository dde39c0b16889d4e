"""The templates of an organization: found, begun, and none of them yet."""

import re
from typing import Any

from playwright.async_api import Route, expect

from checklist_crds.resources.kinds import TEMPLATE
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .dashboard_screen import manage
from .template_screen import TemplateScreen, stored


async def test_templates_are_filtered_and_sorted_and_the_address_says_so(office: Office, signed_in: SignedIn) -> None:
    kitchen = {**checklist(step("clean"), name="Fridge check"), "tags": ["kitchen", "daily"]}
    three = {**checklist(step("a"), step("b"), step("c"), name="Opening hours"), "tags": ["daily"]}
    doors = {**checklist(step("clean"), step("dry"), name="Fire doors"), "description": "Every exit of the house"}
    managed, *_ = [office.make_template(template) for template in (three, kitchen, doors)]
    await manage(office, TEMPLATE, managed)
    screen = await signed_in("viewer", at="templates")
    names = screen.main.get_by_role("rowheader")
    await expect(screen.row("Fridge check")).to_contain_text("kitchen")
    await expect(screen.row("Fire doors").get_by_role("cell").nth(1)).to_have_text("2")
    await expect(screen.row("Opening hours")).to_contain_text("Flux")
    await screen.looks_right()
    await screen.page.get_by_label("Search").fill("EXIT house")
    await expect(names).to_have_text(["Fire doors"])
    assert "q=EXIT" in screen.page.url
    await screen.button("Clear filters").click()
    await screen.page.get_by_label("Tag", exact=True).select_option("daily")
    await expect(names).to_have_text(["Fridge check", "Opening hours"])
    await screen.page.get_by_label("Managed").select_option("gitops")
    await expect(names).to_have_text(["Opening hours"])
    await screen.page.reload()
    await expect(names).to_have_text(["Opening hours"])
    await screen.page.get_by_label("Search").fill("nothing like it")
    await expect(screen.main.get_by_role("heading", name="No template matches these filters")).to_be_visible()

    await screen.open("templates")
    heading = screen.main.get_by_role("columnheader", name="Name")
    by_name = ["Fire doors", "Fridge check", "Opening hours"]
    for order, expected in (("ascending", by_name), ("descending", by_name[::-1])):
        await screen.button("Name").press("Enter")
        await expect(names).to_have_text(expected)
        await expect(heading).to_have_attribute("aria-sort", order)
    assert screen.page.url.endswith("templates?sort=-name")
    await screen.button("Steps").click()
    await screen.page.reload()
    await expect(names).to_have_text(["Fridge check", "Fire doors", "Opening hours"])
    await expect(screen.main.get_by_role("columnheader", name="Steps")).to_have_attribute("aria-sort", "ascending")


async def test_a_description_becomes_a_template_or_stays(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    page, editor = screen.page, TemplateScreen(screen)
    await screen.open("templates/new")
    prompt = page.get_by_label("What should be checked?")
    await expect(screen.main.get_by_text("sets CHECKLISTS_MODEL_URL; without one")).to_contain_text("composer answers")
    await prompt.fill("ab")
    await screen.button("Generate").click()
    await expect(screen.main.get_by_text("Describe it in at least 4 characters.")).to_be_visible()
    await expect(prompt).to_be_focused()
    text = "Daily fridge check. Is the fridge clean? Temperature of the fridge in °C. A photo of the shelves."
    await prompt.fill(text)

    nothing = {"error": "generation_failed", "message": "Nothing that could be checked was found."}
    await page.route("**/templates/generate*", lambda route: route.fulfill(status=422, json=nothing))
    await screen.button("Generate").click()
    await expect(screen.main.get_by_role("alert")).to_contain_text("Nothing that could be checked was found.")
    await expect(prompt).to_have_value(text)
    await screen.looks_right()
    await page.unroute_all()

    await page.route("**/templates/generate*", lambda route: None)
    await screen.button("Generate").click()
    progress = page.get_by_role("progressbar", name="Generating the template")
    await expect(progress).to_be_visible()
    assert await progress.get_attribute("value") is None, "it is not known how long it takes"
    await expect(screen.main.get_by_text(re.compile(r"^[2-9] s$"))).to_be_visible()
    await screen.looks_right()
    async with page.expect_event("requestfailed"):  # the service does not go on working
        await screen.button("Stop").click()
    await expect(progress).to_have_count(0)
    await expect(prompt).to_be_focused()
    await expect(prompt).to_have_value(text)
    await page.unroute_all(behavior="ignoreErrors")

    await prompt.fill("Hotel lobby check")
    await screen.button("Generate").click()
    await expect(screen.main.get_by_role("alert")).to_contain_text("The library has no checklist for this job.")
    job = screen.main.get_by_role("group", name="Closest checklists of the library").get_by_role("button").first
    await screen.looks_right()
    title = await job.inner_text()
    await job.click()
    await expect(prompt).to_have_value(title)
    await expect(prompt).to_be_focused()
    await expect(screen.main.get_by_role("alert")).to_have_count(0)

    await prompt.fill(text)
    await page.get_by_label("Language of the template").select_option("en")
    await screen.button("Generate").click()
    await screen.button("Use this template").click()
    await expect(screen.main.locator(".generated-by")).to_contain_text("composer")
    await expect(editor.outline.locator(".row").first).to_be_visible()
    assert office.call("GET", "/v1/templates")["data"] == []
    await screen.looks_right()
    await editor.save("The template is saved.")
    (made,) = office.call("GET", "/v1/templates")["data"]
    assert sum(len(section["steps"]) for section in stored(office, made["id"])["sections"]) >= 3


PROMPT = (
    "Hello 🚚👋🏽! Van 🧊: tyres ok, lights ok, mirrors clean. Is there damage? If yes, a photo. See you Monday 🏁!"
)


async def test_a_generated_template_is_reviewed_next_to_its_prompt(signed_in: SignedIn) -> None:
    """Offsets are the service's own, behind characters of two UTF-16 units; how sure it is is ours."""
    screen = await signed_in("editor", at="templates/new")
    page, main, made = screen.page, screen.main, dict[str, Any]()

    async def generate(route: Route) -> None:
        made.update(await (await route.fetch()).json())
        for number, step in enumerate(made["steps"], 1):
            step.update({"confidence": 0.41, "unsure": True} if number == 2 else {"confidence": 0.97, "unsure": False})
        await route.fulfill(json=made, headers={"X-Generated-By": "composer"})

    await page.route("**/templates/generate?explain=true&locale=en", generate)
    prompt = page.get_by_label("What should be checked?")
    await prompt.fill(PROMPT)
    await page.get_by_label("Language of the template").select_option("en")
    await screen.button("Generate").click()
    summary = main.locator(".review-summary")
    await expect(summary).to_be_focused()
    words, unused = [step["source"]["text"] for step in made["steps"]], [part["text"] for part in made["unused"]]
    assert len(words) >= 5
    assert unused
    steps = {step["id"]: step for section in made["template"]["sections"] for step in section["steps"]}
    trigger = next(
        steps[step["condition"]["when"]["step"]]["label"] for step in steps.values() if step.get("condition")
    )
    await expect(summary).to_contain_text(f"1 of {len(words)} steps is unsure, {len(unused)} part")
    used, rows = main.locator(".prompt-text .is-used"), main.locator(".review-row")
    await expect(used).to_have_text(words)
    await expect(main.locator(".prompt-text .is-unused")).to_have_text([f"not used: {text}" for text in unused])
    await expect(main.get_by_text("Unsure, 41% sure")).to_have_count(1)
    await expect(rows.nth(1)).to_contain_text("Unsure, 41% sure")
    await expect(rows.filter(has_text=f"Shown when “{trigger}” is Yes").first).to_be_visible()
    await screen.looks_right()

    await used.nth(3).hover()
    await expect(main.locator(".review-row.is-lit")).to_have_text(re.compile(r"^4\. "))
    await rows.nth(2).hover()
    await expect(main.locator(".prompt-text .is-lit")).to_have_text(words[2])
    await page.mouse.move(0, 0)
    await screen.button("Go to the first unsure step").press("Enter")
    step, piece = rows.nth(1).get_by_role("button"), used.nth(1)
    await expect(step).to_be_focused()
    await expect(main.locator(".prompt-text .is-lit")).to_have_text(words[1])
    await page.keyboard.press("Enter")
    await expect(piece).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(main.locator(".review-row.is-lit")).to_have_text(re.compile(r"^3\. "))
    await page.keyboard.press(" ")
    await expect(rows.nth(2).get_by_role("button")).to_be_focused()
    await page.set_viewport_size({"width": 390, "height": 844})
    await main.get_by_text("Your prompt").click()
    await expect(piece).to_be_hidden()
    await rows.nth(0).click()
    await expect(rows.nth(0)).to_have_class(re.compile("is-lit"))

    await screen.button("Change the prompt").click()
    await expect(prompt).to_be_focused()
    await expect(prompt).to_have_value(PROMPT)
    await expect(page.get_by_label("Language of the template")).to_have_value("en")
    await page.unroute_all()
    silent = [{**step, "source": None, "confidence": None, "unsure": False} for step in made["steps"]]
    by_model = {**made, "steps": silent, "unused": []}
    await page.route("**/templates/generate*", lambda route: route.fulfill(json=by_model))
    await screen.button("Generate").click()
    await expect(summary).to_contain_text("A language model made this template. It does not report where a step")
    await expect(rows).to_have_count(len(words))
    await expect(main.locator(".piece, .row-origin")).to_have_count(0)
    await screen.looks_right()
