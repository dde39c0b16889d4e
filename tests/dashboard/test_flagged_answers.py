"""Answers that are not as expected: how a template says what is expected, and how runs with faults stand out."""

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, options, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .template_screen import TemplateScreen, stored

COLD_STORE = checklist(
    step("door", label="Does the door close?", config={"expected": True, "on_flag": {"note": True}}),
    step("temp", "number", label="Temperature", config={"unit": "°C", "expected": {"max": 8}}),
    step("light", label="Is there light?", config={"expected": True}),
    name="Cold store",
)


async def test_runs_with_faults_stand_out_in_the_list_and_on_their_page(office: Office, signed_in: SignedIn) -> None:
    faulty, fine = (office.dispatch(COLD_STORE, executor_ref=reference) for reference in ("faulty", "fine"))
    for link, door in ((faulty, False), (fine, True)):
        note = {"note": "The hinge is broken."} if link is faulty else {}
        office.stage.execute(link, "PUT", "/answers/s-door", json={"value": door, **note})
        office.stage.execute(link, "PUT", "/answers/s-temp", json={"value": 8 if door else 9.5})
        office.stage.execute(link, "PUT", "/answers/s-light", json={"value": True})
    screen = await signed_in("viewer", at="runs")
    rows = screen.main.get_by_role("row")
    await expect(rows.filter(has_text="faulty")).to_contain_text("2 flagged")
    await expect(rows.filter(has_text="fine")).not_to_contain_text("flagged")
    await screen.looks_right()
    await screen.page.get_by_label("Not as expected").select_option("With flagged answers")
    await expect(rows.filter(has_text="fine")).to_have_count(0)
    await expect(rows.filter(has_text="faulty")).to_have_count(1)

    await screen.open(f"runs/{faulty.run_id}")
    await expect(screen.main.get_by_text("2 flagged")).to_be_visible()
    timeline = screen.main.get_by_role("region", name="Timeline")
    door, temp, light = (
        timeline.get_by_role("listitem").filter(has=screen.page.get_by_text(name, exact=True))
        for name in ("Does the door close?", "Temperature", "Is there light?")
    )
    await expect(door).to_contain_text("Not as expected")
    await expect(screen.main.get_by_role("region", name="Not as expected").get_by_role("listitem")).to_have_count(2)
    await expect(door).to_contain_text("Expected: Yes")
    await expect(door).to_contain_text("Note: The hinge is broken.")
    await expect(temp).to_contain_text("Expected: at most 8 °C")
    await expect(light).not_to_contain_text("Not as expected")
    await screen.looks_right()


async def test_what_is_expected_is_set_in_the_editor(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(
        checklist(
            step("door", label="Door tight?"),
            step("temp", "number", label="Temperature"),
            step("state", "choice", label="Condition", config={"options": options("New", "Used", "Broken")}),
            step("best", "date", label="Best before"),
        )
    )
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    page = screen.page

    async def expect_in(label: str) -> None:
        await editor.row(label).click()
        await page.get_by_role("checkbox", name="Expect an answer").check()

    await expect_in("Door tight?")
    await expect(page.get_by_label("Expected answer")).to_have_value("true")
    await page.get_by_role("checkbox", name="Ask for a note if flagged").check()
    await page.get_by_role("checkbox", name="Ask for photos if flagged").check()
    await screen.looks_right()
    await expect_in("Temperature")
    await page.get_by_label("Expected from").fill("2")
    await page.get_by_label("Expected to").fill("8")
    await expect_in("Condition")
    await page.get_by_role("checkbox", name="Used").check()
    await expect_in("Best before")
    await page.get_by_label("Not before (days from today)").fill("1")
    await editor.save("Saved as version 2.")
    door, temp, state, best = stored(office, template)["sections"][0]["steps"]
    assert door["config"] == {"expected": True, "on_flag": {"note": True, "photos": {"min": 1, "max": 3}}}
    assert temp["config"] == {"expected": {"min": 2, "max": 8}}
    first, second, third = (option["id"] for option in state["config"]["options"])
    assert state["config"]["expected"] == [first, second]
    assert best["config"] == {"expected": {"not_before": 1}}

    # An option that is removed is expected no longer, and a type that expects nothing keeps nothing.
    await editor.row("Condition").click()
    await page.get_by_role("button", name="Remove option 2").click()
    await editor.row("Door tight?").click()
    await page.get_by_label("Step type").select_option("Text")
    await expect(page.get_by_role("checkbox", name="Expect an answer")).to_have_count(0)
    await editor.save("Saved as version 3.")
    door, _, state, _ = stored(office, template)["sections"][0]["steps"]
    assert (door["config"], state["config"]["expected"]) == ({}, [first])
    assert [option["id"] for option in state["config"]["options"]] == [first, third]
