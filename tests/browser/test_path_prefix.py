"""The app behind a proxy that puts a path in front of everything, as an ingress for several services does."""

from collections.abc import AsyncIterator

import pytest_asyncio

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.prefix_proxy import PrefixProxy
from checklist_dev.browser.stage import Stage

from .conftest import NewDevice


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(stage: Stage) -> AsyncIterator[PrefixProxy]:
    async with PrefixProxy() as proxy:
        proxy.service = stage.base_url
        yield proxy


async def test_a_checklist_is_answered_and_opened_without_network_under_a_path_prefix(
    stage: Stage, proxy: PrefixProxy, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("clean", label="Is the floor clean?"), step("tidy", label="Is it tidy?")))
    address = link.url.replace(stage.base_url, proxy.address)
    device = await new_device()
    strays: list[str] = []
    device.context.on(
        "request", lambda request: strays.append(request.url) if proxy.prefix not in request.url else None
    )

    await device.page.goto(address)
    floor = device.page.get_by_role("group", name="Is the floor clean?").or_(
        device.page.get_by_role("radiogroup", name="Is the floor clean?")
    )
    async with device.page.expect_response(
        lambda answer: answer.url.endswith("/answers/s-clean") or "s-clean?" in answer.url
    ):
        await floor.get_by_text("Yes", exact=True).click()
    assert stage.run(link)["answers"]["s-clean"]["value"] is True

    scope = await device.page.evaluate("navigator.serviceWorker.ready.then(worker => new URL(worker.scope).pathname)")
    assert scope == f"{proxy.prefix}/r/"
    await device.page.reload()
    await floor.wait_for()
    await device.context.set_offline(True)
    await device.page.reload()
    await floor.wait_for()
    assert await floor.get_by_role("radio", name="Yes").is_checked()
    assert [address for address in strays if address.startswith("http")] == []
