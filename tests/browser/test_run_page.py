"""The page behind the link as a browser takes it: what it may do, what it tells, and to whom."""

from urllib.parse import urlsplit

import pytest

from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.device import DESKTOP
from checklist_dev.browser.stage import Stage

from .conftest import NewDevice


async def test_the_page_may_not_run_what_is_written_into_it(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean")))
    device = await new_device()
    await device.page.goto(link.bare)
    await device.page.evaluate(
        """() => {
            const image = document.createElement("img");
            image.src = "https://elsewhere.example/image.png";
            document.body.append(image);
            const attempts = {
                script: () => {
                    const script = document.createElement("script");
                    script.textContent = "window.ran = true";
                    document.body.append(script);
                },
                handler: () => image.setAttribute("onerror", "window.ran = true"),
                html: () => { document.body.innerHTML = "<img src=x onerror='window.ran = true'>"; },
                policy: () => trustedTypes.createPolicy("mine", { createHTML: text => text }),
            };
            window.done = [];
            for (const [name, attempt] of Object.entries(attempts)) {
                try { attempt(); window.done.push(name); } catch { /* as it should be */ }
            }
        }"""
    )
    await device.page.wait_for_timeout(100)
    assert await device.page.evaluate("window.ran === undefined")
    assert await device.page.evaluate("window.done") == []
    refused = [problem for problem in device.problems if "The action has been blocked" in problem]
    assert len(refused) >= 4, device.problems
    device.problems.clear()


async def test_the_token_reaches_no_server_in_any_address(stage: Stage, new_device: NewDevice) -> None:
    link, device = stage.dispatch(checklist(step("clean"))), await new_device()
    asked: list[tuple[str, str]] = []
    device.context.on("request", lambda request: asked.append((request.url, request.headers.get("referer", ""))))
    await device.page.goto(link.url)
    await device.page.locator("#app > *").first.wait_for()
    await device.page.wait_for_load_state("networkidle")
    assert len(asked) >= 2
    for address, referrer in asked:
        assert link.token not in address.partition("#")[0] + referrer
        assert link.run_id not in referrer
        assert not address.startswith("http") or urlsplit(address).netloc == urlsplit(stage.base_url).netloc


@pytest.mark.parametrize("options", [{}, DESKTOP], ids=["phone", "desktop"])
async def test_without_scripts_or_a_token_the_page_says_what_the_checklist_is_and_no_more(
    stage: Stage, new_device: NewDevice, options: dict[str, object]
) -> None:
    template = checklist(step("clean", label="The secret question"), name="Opening check")
    link = stage.dispatch(template, expires_in_hours=24)
    before, device = stage.run(link), await new_device(**options, java_script_enabled=False)
    await device.page.goto(link.url)
    text = await device.page.inner_text("body")
    for shown in ("Opening check", "Not started", "1 step", "Open until", "needs JavaScript"):
        assert shown in text
    card = await device.page.locator("#preview .card").bounding_box()
    assert card is not None and card["x"] > 0 and card["width"] <= 520
    page = (await new_device(**options)).page
    await page.goto(link.bare)
    await page.get_by_role("heading", name="Opening check").wait_for()
    await page.wait_for_load_state("networkidle")
    assert "The secret question" not in await page.content()
    assert stage.run(link) == before


@pytest.mark.parametrize("locale", ["en-GB", "ar-EG"])
async def test_a_first_load_is_at_most_80_kilobytes_compressed(
    stage: Stage, new_device: NewDevice, locale: str
) -> None:
    device, sizes = await new_device(locale=locale), list[float]()
    session = await device.context.new_cdp_session(device.page)
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    await session.send("Network.enable")
    await device.page.goto(stage.dispatch(EVERY_CONTROL).url)
    await device.page.get_by_role("article").first.wait_for()
    await device.page.wait_for_load_state("networkidle")
    assert len(sizes) >= 4
    assert sum(sizes) <= 80_000, sizes
