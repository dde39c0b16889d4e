"""Answers and photos without network: kept on the device at once, sent when there is a way, and never lost."""

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.device import Device
from checklist_dev.browser.stage import Link, Stage

from .checklist_screen import ChecklistScreen, answers, looks_right, noise, opened, until_in_page
from .conftest import NewDevice

THREE = checklist(step("clean"), step("note", "text"), step("shelf", "photo", config={"min": 1, "max": 3}))
CONTROLLED = "navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller !== null)"


async def installed(device: Device, link: Link) -> ChecklistScreen:
    """The link is open, and the service worker could start the page without network."""
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.page.get_by_role("article").first).to_be_visible()
    await until_in_page(screen.page, CONTROLLED)
    return screen


async def test_answers_without_network_survive_the_tab_and_are_sent(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(THREE)
    device = await new_device()
    screen = await installed(device, link)
    await device.context.set_offline(True)
    await screen.choose("Clean", "No")
    await screen.write("Note", "no mice")
    await screen.photo("Shelf", noise(40, 40))
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 3 waiting")
    await looks_right(device)
    await device.page.close()
    assert answers(stage, link) == {}
    await device.context.set_offline(False)
    device.page = await device.context.new_page()
    await device.page.goto(link.bare)
    await expect(device.page.locator(".pill")).to_have_text("Saved")
    assert answers(stage, link) == {"clean": False, "note": "no mice", "shelf": None}
    assert len(stage.run(link)["answers"]["s-shelf"]["photos"]) == 1


async def test_a_hundred_answers_without_network_go_in_two_requests_at_most_and_a_photo_in_its_own(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(*(step(f"question-{number}") for number in range(100)), step("shelf", "photo")))
    device, sent = await new_device(), list[str]()
    screen = await installed(device, link)
    await device.context.set_offline(True)
    for number in range(100):
        # By its control, wherever it is on the page: to scroll there takes longer than all of the rest.
        await screen.card(f"Question {number}").get_by_role("radio", name="No").dispatch_event("click")
    await screen.photo("Shelf", noise(40, 40))
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 101 waiting")
    device.context.on("request", lambda request: sent.append(request.url) if request.method != "GET" else None)
    await device.context.set_offline(False)
    await expect(screen.page.locator(".pill")).to_have_text("Saved")
    ends = sorted(url.partition("?")[0].rpartition("/")[2] for url in sent)
    assert ends in (["operations", "photos"], ["operations", "operations", "photos"])
    assert answers(stage, link) == {f"question-{number}": False for number in range(100)} | {"shelf": None}


async def test_a_service_killed_during_an_upload_gets_the_photo_once(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device()
    link, screen = await opened(stage, device, THREE)
    network = await device.context.new_cdp_session(device.page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 200_000}
    await network.send("Network.enable")
    await network.send("Network.emulateNetworkConditions", slow)
    await screen.photo("Shelf", noise(700, 500))
    await expect(screen.card("Shelf").get_by_text("Sending…")).to_be_visible()
    stage.kill_api()
    try:
        await screen.choose("Clean", "Yes")
        await expect(screen.page.locator(".pill")).to_have_text("Offline: 2 waiting")
        await network.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    finally:
        await stage.start_api()
    await screen.page.locator(".pill").click()
    await expect(screen.page.locator(".pill")).to_have_text("Saved", timeout=30_000)
    assert len(stage.run(link)["answers"]["s-shelf"]["photos"]) == 1
    assert answers(stage, link)["clean"] is True


async def test_a_full_device_says_so_and_shows_nothing_as_kept_that_is_not(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(THREE)
    device = await new_device()
    # Before anything is kept: the browser measures the room that is left only now and then.
    storage = await device.context.new_cdp_session(device.page)
    await storage.send("Storage.overrideQuotaForOrigin", {"origin": stage.base_url, "quotaSize": 4_000_000})
    screen = await installed(device, link)
    await device.context.set_offline(True)
    await screen.photo("Shelf", noise(1_600, 1_100))
    await expect(screen.page.get_by_text("This device is full")).to_be_visible()
    await expect(screen.card("Shelf").locator(".error")).to_be_visible()
    await expect(screen.page.locator(".pill")).to_have_text("Offline")
    await looks_right(device)
    await storage.send("Storage.overrideQuotaForOrigin", {"origin": stage.base_url})
    await screen.photo("Shelf", noise(40, 40))
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    await device.context.set_offline(False)
    await expect(screen.page.locator(".pill")).to_have_text("Saved")
    assert len(stage.run(link)["answers"]["s-shelf"]["photos"]) == 1


async def test_the_installed_app_keeps_its_files_and_the_last_checklist(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(THREE)
    device = await new_device()
    screen = await installed(device, link)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    session = await device.context.new_cdp_session(device.page)
    manifest = await session.send("Page.getAppManifest")
    assert (manifest["errors"], manifest["url"]) == ([], f"{stage.base_url}/r/app.webmanifest")
    found = (await session.send("Page.getInstallabilityErrors"))["installabilityErrors"]
    # Playwright's devices are incognito windows, from which nothing can be installed.
    assert [error["errorId"] for error in found if error["errorId"] != "in-incognito"] == []
    cached: list[str] = await screen.page.evaluate(
        """async () => {
            const open = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
            return (await Promise.all(open.map((cache) => cache.keys()))).flat().map((request) => request.url);
        }"""
    )
    assert f"{stage.base_url}/r/index.html" in cached
    assert all(address.startswith(f"{stage.base_url}/r/") for address in cached)
    assert not [address for address in cached if link.run_id in address or link.token in address]
    await device.context.set_offline(True)
    await device.page.goto(f"{stage.base_url}/r/index.html")
    await expect(screen.card("Clean")).to_be_visible()
    assert device.page.url == link.bare
