"""The person saves the receipt as a PDF, in their language; without a connection the page says that it needs one."""

from pathlib import Path

import pypdfium2
from playwright.async_api import Page, expect
from tests.contract.pdf_reading import actual_texts

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import opened
from .conftest import NewDevice

PREPARED_WITHIN_MS = 120_000
"""On a busy machine the process that draws starts late."""


async def saved(page: Page, button: str, folder: Path) -> tuple[str, bytes]:
    """The name and the content of the file that the button saves."""
    async with page.expect_download(timeout=PREPARED_WITHIN_MS) as download:
        await page.get_by_role("button", name=button).click()
    file = await download.value
    await file.save_as(folder / "receipt.pdf")
    return file.suggested_filename, (folder / "receipt.pdf").read_bytes()


async def test_the_receipt_is_saved_in_the_persons_language_and_needs_a_connection(
    stage: Stage, new_device: NewDevice, tmp_path: Path
) -> None:
    device = await new_device()
    page = device.page
    link, screen = await opened(stage, device, checklist(step("clean", required=True)))
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    button, news = page.get_by_role("button", name="Save a receipt (PDF)"), page.locator("#receipt-news")

    await device.context.set_offline(True)
    await expect(news).to_have_text("Saving a receipt needs a connection.")
    await expect(button).to_be_disabled()
    assert await device.accessibility_findings() == []
    await device.context.set_offline(False)
    await expect(button).to_be_enabled()

    name, pdf = await saved(page, "Save a receipt (PDF)", tmp_path)
    await expect(news).to_have_text("The receipt is saved.")
    assert await device.accessibility_findings() == []
    receipt = stage.execute(link, "GET", "")["receipt"]
    assert name.startswith("Cold store check 20") and name.endswith(".pdf")
    text = pypdfium2.PdfDocument(pdf)[0].get_textpage().get_text_range()
    for said in ("Cold store check", receipt["digest"], link.run_id, "(UTC+", "Yes"):
        assert said in text, said
    assert link.url.partition("#")[2] not in text

    # The page in Arabic, which was reloaded: the token is the one of the device.
    await page.get_by_label("Language").select_option("ar")
    await page.reload()
    _, arabic = await saved(page, "حفظ إيصال (PDF)", tmp_path)
    assert {"الإيصال", "نعم"} <= set(actual_texts(arabic))
