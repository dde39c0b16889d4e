"""Pages wider than their content allows: a phone, a column next to the preview, texts of both directions."""

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.office import Office

from .conftest import SignedIn

ARABIC = "فحص غرفة التبريد"
UNBROKEN = "0b0f6f5e8d5c4d0c9a552f4f0d1c9a11" * 2


async def test_long_words_fit_a_phone_buttons_the_column_and_rows_the_direction_of_the_page(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template({**checklist(step("clean")), "name": ARABIC})
    office.call("PATCH", f"/v1/templates/{template}", json={"description": "Twice a day"})
    run = office.dispatch({**checklist(step("clean")), "name": UNBROKEN})
    office.call("POST", f"/v1/runs/{run.run_id}/cancel", json={})

    screen = await signed_in("admin", at=f"templates/{template}?tab=versions")
    restore = screen.row("Version 1").get_by_role("button")
    await restore.wait_for()
    for width in (1280, 1100):
        await screen.page.set_viewport_size({"width": width, "height": 800})
        wide = await screen.main.locator(".table-frame").evaluate("frame => frame.scrollWidth - frame.clientWidth")
        assert wide == 0, f"at {width} px, {wide} px of the versions are cut off"
    await screen.device.photograph()

    await screen.open("templates")
    await screen.row(ARABIC).wait_for()
    assert await screen.row(ARABIC).get_by_role("rowheader").evaluate("e => getComputedStyle(e).textAlign") == "left"
    await screen.device.photograph()

    await screen.open("settings/audit")
    await screen.row("Cancelled a run").get_by_text(UNBROKEN).wait_for()
    for width in (360, 320):
        await screen.page.set_viewport_size({**PHONE["viewport"], "width": width})
        assert not await screen.device.overflows(), f"at {width} px the audit scrolls sideways"
    await screen.device.photograph()
