"""The app behind a proxy that puts a path in front of everything, as an ingress for several services does."""

from collections.abc import AsyncIterator

import aiohttp
import pytest_asyncio
from aiohttp import web

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Stage

from .conftest import NewDevice

PREFIX = "/tools/checklists"


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(stage: Stage) -> AsyncIterator[str]:
    """The address of a proxy that takes PREFIX away, and knows nothing outside it."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def forward(request: web.Request) -> web.StreamResponse:
            headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
            url = stage.base_url + request.path_qs.removeprefix(PREFIX)
            async with session.request(
                request.method, url, headers=headers, data=await request.read(), allow_redirects=False
            ) as answer:
                kept = {name: value for name, value in answer.headers.items() if name.lower() != "transfer-encoding"}
                return web.Response(status=answer.status, body=await answer.read(), headers=kept)

        app = web.Application()
        app.router.add_route("*", f"{PREFIX}/{{path:.*}}", forward)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}{PREFIX}"
        await runner.cleanup()


async def test_a_checklist_is_answered_and_opened_without_network_under_a_path_prefix(
    stage: Stage, proxy: str, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("clean", label="Is the floor clean?"), step("tidy", label="Is it tidy?")))
    address = link.url.replace(stage.base_url, proxy)
    device = await new_device()
    strays: list[str] = []
    device.context.on("request", lambda request: strays.append(request.url) if PREFIX not in request.url else None)

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
    assert scope == f"{PREFIX}/r/"
    await device.page.reload()
    await floor.wait_for()
    await device.context.set_offline(True)
    await device.page.reload()
    await floor.wait_for()
    assert await floor.get_by_role("radio", name="Yes").is_checked()
    assert [address for address in strays if address.startswith("http")] == []
