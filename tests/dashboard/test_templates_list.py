"""The templates of an organization: found, begun, and none of them yet."""

import asyncio
import re

from playwright.async_api import Route, expect

from checklist_crds.kube.kinds import TEMPLATE
from checklist_crds.management import MANAGED_BY_ANNOTATION
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .template_screen import TemplateScreen


async def test_without_templates_one_is_shown_how_to_get_the_first(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    await screen.open("templates")
    await expect(screen.main.get_by_role("heading", name="There is no template yet")).to_be_visible()
    await expect(screen.main.locator(".command").first).to_contain_text(f"curl {office.stage.base_url}/v1/templates")
    await expect(screen.main.locator(".command").last).to_contain_text("kubectl apply")
    await screen.looks_right()
    await screen.page.get_by_role("link", name="Make the first template").click()
    await expect(screen.heading("New template")).to_be_focused()
    await screen.looks_right()


async def test_who_only_reads_is_offered_nothing_to_write(signed_in: SignedIn) -> None:
    screen = await signed_in("viewer")
    await screen.open("templates")
    await expect(screen.main.get_by_role("heading", name="There is no template yet")).to_be_visible()
    await expect(screen.button("New template")).to_have_count(0)
    await expect(screen.page.get_by_role("link", name="Make the first template")).to_have_count(0)
    await screen.open("templates/new")
    await expect(screen.main.get_by_role("heading", name="Your role does not allow this")).to_be_visible()


async def test_templates_are_found_by_words_tags_and_who_manages_them_and_the_address_says_so(
    office: Office, signed_in: SignedIn
) -> None:
    office.make_template({**checklist(step("clean"), step("dry"), name="Fridge check"), "tags": ["kitchen", "daily"]})
    office.make_template({**checklist(step("clean"), name="Fire doors"), "description": "Every exit of the house"})
    managed = office.make_template({**checklist(step("clean"), name="Opening hours"), "tags": ["daily"]})
    await office.kube.patch(
        TEMPLATE, managed, {"metadata": {"annotations": {MANAGED_BY_ANNOTATION: "Argo CD"}}}, NAMESPACE
    )
    screen = await signed_in("viewer")
    await screen.open("templates")
    await expect(screen.row("Fridge check")).to_contain_text("kitchen")
    await expect(screen.row("Fridge check").get_by_role("cell").nth(1)).to_have_text("2")
    await expect(screen.row("Opening hours")).to_contain_text("Argo CD")
    await screen.looks_right()

    await screen.page.get_by_label("Search").fill("EXIT house")
    await expect(screen.row("Fridge check")).to_have_count(0)
    await expect(screen.row("Fire doors")).to_be_visible()
    assert "q=EXIT" in screen.page.url
    await screen.button("Clear filters").click()
    await screen.page.get_by_label("Tag", exact=True).select_option("daily")
    await expect(screen.row("Fire doors")).to_have_count(0)
    await screen.page.get_by_label("Managed").select_option("gitops")
    await expect(screen.main.get_by_role("row")).to_have_count(2)
    await screen.page.reload()
    await expect(screen.row("Opening hours")).to_be_visible()
    await expect(screen.main.get_by_role("row")).to_have_count(2)
    await screen.page.get_by_label("Search").fill("nothing like it")
    await expect(screen.main.get_by_role("heading", name="No template fits these filters")).to_be_visible()


async def test_templates_are_sorted_by_their_headings_and_the_address_says_so(
    office: Office, signed_in: SignedIn
) -> None:
    for name, steps in (("Cellar", 3), ("Attic", 1), ("Bar", 2)):
        office.make_template(checklist(*(step(f"s{number}") for number in range(steps)), name=name))
    screen = await signed_in("viewer")
    await screen.open("templates")
    names = screen.main.get_by_role("rowheader")
    await expect(names).to_have_text(["Bar", "Attic", "Cellar"])  # the newest first
    heading = screen.main.get_by_role("columnheader", name="Name")
    await expect(heading).to_have_attribute("aria-sort", "none")
    await screen.button("Name").focus()
    await screen.page.keyboard.press("Enter")
    await expect(names).to_have_text(["Attic", "Bar", "Cellar"])
    await expect(heading).to_have_attribute("aria-sort", "ascending")
    await expect(screen.button("Name")).to_be_focused()
    await screen.page.keyboard.press("Enter")
    await expect(names).to_have_text(["Cellar", "Bar", "Attic"])
    await expect(heading).to_have_attribute("aria-sort", "descending")
    assert screen.page.url.endswith("templates?sort=-name")
    await screen.looks_right()
    await screen.button("Steps").click()
    await expect(names).to_have_text(["Attic", "Bar", "Cellar"])
    await expect(heading).to_have_attribute("aria-sort", "none")
    await screen.page.reload()
    await expect(names).to_have_text(["Attic", "Bar", "Cellar"])
    await expect(screen.main.get_by_role("columnheader", name="Steps")).to_have_attribute("aria-sort", "ascending")
    await screen.page.set_viewport_size({"width": 390, "height": 844})
    await screen.button("Changed").click()
    await expect(names).to_have_text(["Cellar", "Attic", "Bar"])
    await expect(screen.button("Changed")).to_be_in_viewport()


async def test_generating_is_stopped_and_what_was_described_stays(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    await screen.open("templates/new")
    let_go, begun, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(route: Route) -> None:
        begun.set()
        await let_go.wait()
        await route.continue_()

    await screen.page.route("**/templates/generate*", slow)
    screen.page.on("requestfailed", lambda request: ended.set() if "/generate" in request.url else None)
    prompt = screen.page.get_by_label("What is to be checked?")
    await prompt.fill("Daily fridge check. Is the fridge clean?")
    await screen.button("Generate").click()
    progress = screen.page.get_by_role("progressbar", name="Generating the template")
    await expect(progress).to_be_visible()
    # Nobody knows how long it takes: a bar without a value, and the seconds in words.
    assert await progress.get_attribute("value") is None
    await expect(screen.main.get_by_text(re.compile(r"^[2-9] s$"))).to_be_visible()
    await screen.looks_right()
    async with asyncio.timeout(10):
        await begun.wait()
    await screen.button("Stop").click()
    await expect(progress).to_have_count(0)
    async with asyncio.timeout(10):
        await ended.wait()  # the service is not kept at work for nobody
    await expect(screen.main.get_by_role("alert")).to_have_count(0)
    await expect(prompt).to_be_focused()
    await expect(prompt).to_have_value("Daily fridge check. Is the fridge clean?")
    let_go.set()
    await screen.page.unroute_all(behavior="ignoreErrors")
    await screen.button("Generate").click()
    await expect(screen.main.locator(".generated-by")).to_be_visible()
    assert office.call("GET", "/v1/templates")["data"] == []


async def test_a_description_becomes_a_template_that_is_looked_through_before_it_is_saved(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("editor")
    await screen.open("templates/new")
    prompt = screen.page.get_by_label("What is to be checked?")
    await prompt.fill("ab")
    await screen.button("Generate").click()
    await expect(screen.main.get_by_text("Describe it in at least 4 characters.")).to_be_visible()
    await expect(prompt).to_be_focused()
    await prompt.fill("x" * 4_001)
    await expect(screen.main.get_by_text("At most 4,000 characters; this has 4,001.")).to_be_visible()
    await prompt.fill(
        "Daily fridge check. Is the fridge clean? Temperature of the fridge in °C. A photo of the shelves."
    )
    await screen.page.get_by_label("Language of the template").select_option("en")
    await screen.button("Generate").click()
    editor = TemplateScreen(screen)
    await expect(screen.main.locator(".generated-by")).to_contain_text("composer")
    await expect(editor.outline.locator(".row").first).to_be_visible()
    assert office.call("GET", "/v1/templates")["data"] == []
    await screen.looks_right()
    await editor.save("The template is saved.")
    await expect(screen.page).to_have_url(f"{office.address('templates')}/{_only(office)['id']}")
    steps = sum(
        len(section["steps"]) for section in office.call("GET", f"/v1/templates/{_only(office)['id']}")["sections"]
    )
    assert steps >= 3


async def test_what_cannot_be_generated_is_said_and_the_description_stays(signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    await screen.open("templates/new")
    await screen.page.get_by_label("What is to be checked?").fill("Hello there, how are you?")
    await screen.page.route(
        "**/templates/generate*",
        lambda route: route.fulfill(
            status=422, json={"error": "generation_failed", "message": "Nothing that could be checked was found."}
        ),
    )
    await screen.button("Generate").click()
    await expect(screen.main.get_by_role("alert")).to_contain_text("Nothing that could be checked was found.")
    await expect(screen.page.get_by_label("What is to be checked?")).to_have_value("Hello there, how are you?")
    await screen.looks_right()


def _only(office: Office) -> dict[str, str]:
    (template,) = office.call("GET", "/v1/templates")["data"]
    found: dict[str, str] = template
    return found
