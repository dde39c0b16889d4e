"""The whole way in real Chromium: from the dashboard to a provider on another site, back, and out again.

Only a browser tells whether cookies survive that way: `__Host-`, `SameSite=Lax`, a redirect that another site began.
"""

import base64
import os
import re
from pathlib import Path

from playwright.async_api import expect
from tests.serving import serving

from checklist_api.dashboard.access import COOKIE
from checklist_api.dashboard.oidc_pending import COOKIE as PENDING
from checklist_api.services import Services
from checklist_api.settings import Settings
from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.kinds import ORGANIZATION
from checklist_crds.resource_types import ORGANIZATION_LABEL
from checklist_dev.browser.chromium import chromium
from checklist_dev.browser.device import DESKTOP, Device
from checklist_dev.controlplane import ControlPlane
from checklist_dev.people import make_member
from checklist_dev.ports import free_ports

from .real_provider import RealProvider


async def test_a_person_gets_to_the_page_they_wanted_and_out_again(
    web_app: Path, control_plane: ControlPlane, kube: KubeClient, namespace: str, own: RealProvider
) -> None:
    port = free_ports(1)[0]
    base_url = f"http://localhost:{port}"  # another site than 127.0.0.1, where the provider is
    own.start(service=base_url)
    organization = new_id("org")
    labels = {ORGANIZATION_LABEL: organization}
    body = {
        "apiVersion": ORGANIZATION.api_version,
        "kind": ORGANIZATION.kind,
        "metadata": {"name": organization, "labels": labels},
        "spec": {"displayName": "Example Ltd"},
    }
    await kube.create(ORGANIZATION, body)
    await make_member(kube, organization=organization, namespace=namespace, role="admin", email="grace@example.com")
    settings = Settings.from_environment(
        {
            "CHECKLISTS_NAMESPACE": namespace,
            "CHECKLISTS_SERVER_KEY": base64.b64encode(os.urandom(32)).decode(),
            "CHECKLISTS_SEALING_KEYS": "k1:" + base64.b64encode(os.urandom(32)).decode(),
            "CHECKLISTS_BASE_URL": base_url,
            "CHECKLISTS_OIDC_NAME": "the Provider",
            **own.settings,
        }
    )
    services = Services.build(settings, await KubeConnection.load(str(control_plane.kubeconfig)))
    async with serving(services, port=port), chromium() as browser:
        device = await Device.of(browser, **DESKTOP)
        page, wanted = device.page, f"{base_url}/dashboard/{organization}/settings/members"
        await page.goto(wanted)
        await page.get_by_role("link", name="Sign in with the Provider").click()
        await expect(page).to_have_url(re.compile(re.escape(own.issuer)))
        await page.locator("input[name=login]").fill("grace@example.com")
        await page.locator("input[name=password]").fill("whatever")
        await page.locator("button[type=submit]").click()
        await page.get_by_role("button", name="Continue").click()
        await expect(page).to_have_url(wanted)
        await expect(page.get_by_text("grace@example.com").first).to_be_visible()
        cookies = {cookie["name"]: cookie for cookie in await device.context.cookies(base_url)}
        assert PENDING not in cookies
        kept = cookies[COOKIE]
        assert (kept["secure"], kept["httpOnly"], kept["sameSite"], kept["expires"]) == (True, True, "Lax", -1)
        assert await page.evaluate("document.cookie") == ""
        onward = await page.evaluate(
            """async () => {
              const session = await (await fetch("/dashboard/api/session")).json();
              const headers = { "X-CSRF-Token": session.csrf_token };
              const answer = await fetch("/dashboard/api/session", { method: "DELETE", headers });
              return (await answer.json()).continue_at;
            }"""
        )
        await page.goto(onward)
        await page.get_by_role("button", name=re.compile("yes", re.IGNORECASE)).click()
        await expect(page).to_have_url(f"{base_url}/dashboard/sign-in")
        await expect(page.get_by_role("link", name="Sign in with the Provider")).to_be_visible()
        assert COOKIE not in {cookie["name"] for cookie in await device.context.cookies(base_url)}
        await device.close()
