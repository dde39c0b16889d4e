"""Files of runs from the dashboard: what they hold, and what is seen while they come or do not."""

import json
from pathlib import Path

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .dashboard_screen import DashboardScreen

HELD_BACK = """
() => {
  const real = window.fetch;
  window.fetch = async (...asked) => {
    const answer = await real(...asked);
    if (!String(asked[0]).includes("/exports")) return answer;
    const whole = new Uint8Array(await answer.arrayBuffer());
    const start = (controller) => {
      controller.enqueue(whole.slice(0, -1));
      window.endIt = (go) => {
        if (!go) return controller.error(new TypeError("network error"));
        controller.enqueue(whole.slice(-1));
        controller.close();
      };
    };
    return new Response(new ReadableStream({ start }), { headers: answer.headers });
  };
}
"""
"""The last byte of an export comes when the test says so, or never."""


async def export(screen: DashboardScreen, kind: str) -> None:
    await screen.button("Export these runs").click()
    await screen.button(kind).click()


async def saved(screen: DashboardScreen, kind: str) -> tuple[str, bytes]:
    async with screen.page.expect_download() as download:
        await export(screen, kind)
    file = await download.value
    return file.suggested_filename, Path(await file.path()).read_bytes()


async def two_kinds_of_runs(office: Office) -> tuple[str, str]:
    """A template, and the id of its run; there is a run of another one, too."""
    template = office.make_template(checklist(step("clean"), name="Opening check"))
    office.dispatch(checklist(step("clean"), name="Closing check"))
    return template, office.dispatch(template).run_id


async def test_filtered_runs_are_exported_in_each_form_and_one_as_a_pdf(office: Office, signed_in: SignedIn) -> None:
    template, run_id = await two_kinds_of_runs(office)
    screen = await signed_in("viewer", at="runs")
    name, whole = await saved(screen, "CSV, a row for each answer")
    assert name.startswith("runs-") and name.endswith(".csv") and whole.count(b"check") == 2
    await screen.says("The file is saved.")
    await screen.button("Export these runs").click()
    await expect(screen.button("CSV, a row for each run")).to_have_count(0)
    await screen.open(f"runs?template={template}")
    _, lines = await saved(screen, "JSON lines")
    assert [json.loads(line)["run_id"] for line in lines.splitlines()] == [run_id]

    await screen.open(f"runs/{run_id}")
    async with screen.page.expect_download(timeout=90_000) as download:
        await screen.button("PDF").click()
        await expect(screen.main.locator(".download")).to_contain_text("Making the PDF")
    file = await download.value
    assert file.suggested_filename == f"run-{run_id[2:]}.pdf"
    assert Path(await file.path()).read_bytes().startswith(b"%PDF-")
    await screen.says("The file is saved.")
    await screen.looks_right()


async def test_exports_show_progress_and_failures(office: Office, signed_in: SignedIn) -> None:
    await two_kinds_of_runs(office)
    screen = await signed_in("viewer")
    page, coming, alert = screen.page, screen.main.locator(".download"), screen.main.get_by_role("alert")
    await screen.open("runs")
    await page.evaluate(HELD_BACK)
    for goes_on in (True, False):
        await export(screen, "JSON lines")
        await expect(coming).to_contain_text("2 of 2 runs")
        if goes_on:
            await screen.looks_right()
            async with page.expect_download():
                await page.evaluate("() => window.endIt(true)")
        else:
            await screen.button("Stop").click()
        await expect(coming).to_have_count(0)

    downloads: list[str] = []
    page.on("download", lambda download: downloads.append(download.url))
    await export(screen, "CSV, a row for each answer")
    await expect(coming).to_contain_text("2 of 2 runs")
    await page.evaluate("() => window.endIt(false)")
    await expect(alert).to_contain_text("is incomplete and was not saved")
    assert downloads == []
    await screen.looks_right()
    await screen.main.get_by_role("button", name="Dismiss").click()
    await expect(alert).to_have_count(0)

    await page.reload()
    body = {"error": "rate_limited", "message": "Other exports are under way; please try again when one is done."}
    await page.route("**/exports*", lambda route: route.fulfill(status=429, json=body))
    await export(screen, "JSON lines")
    await expect(alert).to_contain_text("Other exports are under way")
    await page.unroute("**/exports*")
    async with page.expect_download():
        await screen.button("Try again").click()
