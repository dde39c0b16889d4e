"""With a provider, at a service below a path: to a member's checklist and back, and what is said while it is down.

The service is at localhost and the provider at 127.0.0.1: on another site.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, Request, expect
from tests.contract.conftest import Api, StartApi

from checklist_api.dashboard.access import COOKIE
from checklist_api.dashboard.oidc.pending import COOKIE as PENDING
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.chromium import chromium
from checklist_dev.browser.device import DESKTOP, Device
from checklist_dev.browser.prefix_proxy import PrefixProxy
from checklist_dev.local.people import make_member

from .real_provider import RealProvider

PREFIX = "/tools/checklists"
GRACE = "grace@example.com"
pytestmark = pytest.mark.usefixtures("web_app")


@asynccontextmanager
async def _served(start_api: StartApi, own: RealProvider) -> AsyncIterator[tuple[Api, str]]:
    """The API, and the address that browsers know it by."""
    async with PrefixProxy(PREFIX, host="localhost") as proxy:
        own.start(service=proxy.address)
        settings = {"CHECKLISTS_BASE_URL": proxy.address, "CHECKLISTS_OIDC_NAME": "the Provider", **own.settings}
        api = await start_api(**settings)
        proxy.service = api.base_url
        yield api, proxy.address


async def _sign_in_at_the_provider(page: Page, own: RealProvider, email: str) -> None:
    await expect(page).to_have_url(re.compile(re.escape(own.issuer)))
    await page.locator("input[name=login]").fill(email)
    await page.locator("input[name=password]").fill("whatever")
    await page.locator("button[type=submit]").click()
    await page.get_by_role("button", name="Continue").click()


async def test_a_member_signs_in_and_answers_below_a_path(start_api: StartApi, own: RealProvider) -> None:
    async with _served(start_api, own) as (api, base_url), chromium() as browser:
        member = await make_member(
            api.kube, organization=api.organization, namespace=api.namespace, role="viewer", email=GRACE
        )
        members_only = checklist(step("clean", label="Is the floor clean?"), identity="member")
        template = await api.http.post("/v1/templates", json=members_only)
        assert template.status_code == 201, template.text
        run = await api.account.dispatch(template.json()["id"])
        assert run["link"].startswith(f"{base_url}/r/")
        token = run["link"].partition("#")[2]
        device = await Device.of(browser, **DESKTOP, color_scheme="dark")
        page, sent = device.page, list[Request]()

        def note(request: Request) -> None:
            sent.append(request)

        device.context.on("request", note)
        # While the provider is down, a page with our style says so and leads back to try again.
        own.stop()
        await page.goto(f"{base_url}/dashboard/{api.organization}/settings/usage")
        await page.get_by_role("link", name="Sign in with the Provider").click()
        await expect(page.locator("body")).to_contain_text("is not responding")
        colour = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert colour not in {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}, "the style of the page did not come"
        for width in (1280, 390):
            await page.set_viewport_size({"width": width, "height": 800})
            assert await device.accessibility_findings() == []
            assert not await device.overflows()
        own.start(service=base_url)
        again = page.get_by_role("link").first
        assert await again.evaluate("link => link.href") == f"{base_url}/dashboard/sign-in"
        await page.wait_for_timeout(1_100)  # for a second after it was found down it is not asked again
        await again.click()

        await page.goto(run["link"])
        await expect(page.get_by_role("heading", name="Sign in to answer")).to_be_visible()
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("link", name="Sign in with the Provider").click()
        await _sign_in_at_the_provider(page, own, "grace@example.com")
        await expect(page).to_have_url(f"{base_url}/r/{run['run_id']}")
        name = "Is the floor clean?"
        floor = page.get_by_role("radiogroup", name=name).or_(page.get_by_role("group", name=name))
        async with page.expect_response(re.compile("/answers/s-clean")) as answered:
            await floor.get_by_text("Yes", exact=True).click()
        assert (await answered.value).ok
        stored = (await api.http.get(f"/v1/runs/{run['run_id']}")).json()
        assert stored["assigned_to"] == stored["answers"]["s-clean"]["by"] == member
        # The provider learns neither the run nor its token; the service is asked for nothing outside its path.
        for request in sent:
            if "/v1/executor/" not in request.url:
                assert token not in request.url.partition("#")[0] + (request.post_data or "")
            if request.url.startswith(own.issuer):
                assert run["run_id"] not in request.url
            elif request.url.startswith(base_url.removesuffix(PREFIX)):
                assert request.url.startswith(f"{base_url}/"), request.url
        # Only a browser tells whether cookies survive that way: a redirect that another site began.
        cookies = {cookie["name"]: cookie for cookie in await device.context.cookies(base_url)}
        kept = cookies[COOKIE]
        assert (kept["path"], kept["secure"], kept["httpOnly"], kept["sameSite"]) == ("/", True, True, "Lax")
        assert kept["expires"] == -1
        assert PENDING not in cookies
        assert await page.evaluate("document.cookie") == ""

        # In the dashboard one is signed in, too, and gets out at both places, back to the path.
        await page.goto(f"{base_url}/dashboard/")
        await page.get_by_role("button", name=re.compile("^Your account")).click()
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("button", name=re.compile("yes", re.IGNORECASE)).click()
        await expect(page).to_have_url(f"{base_url}/dashboard/sign-in")
        assert COOKIE not in {cookie["name"] for cookie in await device.context.cookies(base_url)}

        assert device.problems == []
        await device.close()
