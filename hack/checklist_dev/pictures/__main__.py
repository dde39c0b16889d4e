"""`python -m checklist_dev.pictures [NAME...]`: the pictures of README and docs/, or those named, as PNG files."""

import argparse
import asyncio
from collections.abc import Sequence

from playwright.async_api import Browser

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.browser.chromium import chromium
from checklist_dev.browser.device import DESKTOP, PHONE, Device
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage
from checklist_dev.failures import end_on_signals, run_tool, say
from checklist_dev.pictures.scene import Scene
from checklist_dev.pictures.states import OF_THE_DASHBOARD, ON_A_PHONE
from checklist_dev.repository import STATE

FOLDER = STATE / "screenshots" / "docs"
NAMES = (*ON_A_PHONE, *OF_THE_DASHBOARD)


async def take(stage: Stage, kube: KubeClient, browser: Browser, name: str) -> None:
    """Take one picture. Raises an error of Playwright if its state is not reached."""
    is_phone = name in ON_A_PHONE
    device = await Device.of(
        browser,
        **(PHONE if is_phone else {**DESKTOP, "is_mobile": False, "has_touch": False}),
        color_scheme=name.rpartition("-")[2],
        locale="en",
        reduced_motion="reduce",
    )
    try:
        office = await Office.opened(stage, kube)
        if not is_phone:
            person = await office.member("editor")
            await device.context.add_cookies([person.cookie(stage.base_url)])  # type: ignore[list-item]
        await (ON_A_PHONE if is_phone else OF_THE_DASHBOARD)[name](Scene(office, device))
        await device.page.wait_for_timeout(150)  # for the last images and the caret
        await device.page.screenshot(path=FOLDER / f"{name}.png", animations="disabled")
    finally:
        await device.close()


async def take_all(names: Sequence[str]) -> None:
    with Stage(STATE / "stage", report=say) as stage:
        connection = await KubeConnection.load(str(stage.service.cluster.kubeconfig))
        async with KubeClient(connection) as kube, chromium() as browser:
            for name in names:
                await take(stage, kube, browser, name)
                say(f"{FOLDER / name}.png")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(NAMES)}")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(f"no such picture: {', '.join(sorted(unknown))}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    end_on_signals()
    asyncio.run(take_all(arguments.names or NAMES))
    return 0


if __name__ == "__main__":
    run_tool(main)
