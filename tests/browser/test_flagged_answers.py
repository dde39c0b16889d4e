"""Answers that are not as expected, on a phone: the card says so after the answer, and asks for what the step needs."""

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import opened, picture
from .conftest import NewDevice

COLD_STORE = checklist(
    step("door", label="Does the door close?", required=True, config={"expected": True, "on_flag": {"note": True}}),
    step(
        "temp",
        "number",
        label="Temperature",
        config={"unit": "°C", "expected": {"min": 2, "max": 8}, "on_flag": {"photos": {"min": 1, "max": 2}}},
    ),
    step("mood", "rating", label="How tidy is it?", config={"expected": {"min": 3}}),
    name="Cold store",
)
OUTSIDE = "Not as expected"


async def test_a_fault_stands_out_and_is_sent_with_its_note_and_photo(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device()
    link, screen = await opened(stage, device, COLD_STORE)
    door, temp, mood = (screen.card(name) for name in ("Does the door close?", "Temperature", "How tidy is it?"))
    note = door.get_by_role("textbox", name="Add a note")
    await expect(screen.page.get_by_text(OUTSIDE)).to_have_count(0)

    await screen.choose("Does the door close?", "No")
    await expect(door).to_contain_text(OUTSIDE)
    await expect(door).to_contain_text("Expected: Yes")
    await expect(note).to_have_attribute("aria-required", "true")
    await screen.write("Temperature", "9,5")
    await expect(temp).to_contain_text("Expected: 2 °C to 8 °C")
    await expect(temp.get_by_role("button", name="Take a photo")).to_be_visible()
    await mood.get_by_role("radio", name="2 of 5").check()
    await expect(mood).to_contain_text("Expected: 3 or more")

    # It is an answer all the same; only the submit waits for what is missing.
    await screen.page.get_by_role("button", name="Go to next").click()
    await expect(door.locator(".step-label")).to_be_focused()
    await expect(door.locator(".step-state")).to_have_text("Add a note about this answer.")
    await device.photograph()
    await note.fill("The hinge is broken.")
    await note.blur()
    await screen.saved("Does the door close?")
    await screen.photo("Temperature", picture())
    await screen.saved("Temperature")

    # The note belongs to the fault: it leaves with it, and comes back with it.
    await screen.choose("Does the door close?", "Yes")
    await expect(note).to_have_count(0)
    await screen.saved("Does the door close?")
    await screen.choose("Does the door close?", "No")
    await expect(note).to_have_value("The hinge is broken.")
    await screen.saved("Does the door close?")

    await screen.to_review()
    await expect(screen.page.locator("dl").get_by_text(OUTSIDE)).to_have_count(3)
    await expect(screen.page.get_by_text("The hinge is broken.")).to_be_visible()
    await device.photograph()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    run = stage.run(link)
    assert (run["status"], run["flagged"]) == ("completed", 3)
    assert {name: (answer["flagged"], answer["note"]) for name, answer in run["answers"].items()} == {
        "s-door": (True, "The hinge is broken."),
        "s-temp": (True, None),
        "s-mood": (True, None),
    }
    assert len(run["answers"]["s-temp"]["photos"]) == 1


async def test_a_fault_is_kept_without_network_and_sent_as_it_was(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device()
    link, screen = await opened(stage, device, COLD_STORE)
    await device.context.set_offline(True)
    await screen.choose("Does the door close?", "No")
    door = screen.card("Does the door close?")
    await expect(door).to_contain_text(OUTSIDE)
    note = door.get_by_role("textbox", name="Add a note")
    await note.fill("No light either.")
    await note.blur()
    await expect(door.locator(".step-state")).to_contain_text("Saved on this device")
    await device.context.set_offline(False)
    await screen.saved("Does the door close?")
    answer = stage.run(link)["answers"]["s-door"]
    assert (answer["value"], answer["flagged"], answer["note"]) == (False, True, "No light either.")
