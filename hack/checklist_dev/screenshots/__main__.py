"""`python -m checklist_dev.screenshots [STATE...]`: PNG files of all states (or those named), on phone and desktop, in
light and dark."""

import argparse
import asyncio
import shutil
import time
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

from playwright.async_api import Browser, Page
from playwright.async_api import Error as BrowserError

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.browser.chromium import chromium
from checklist_dev.browser.device import DESKTOP, PHONE, Device
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage
from checklist_dev.failures import Failure, end_on_signals, run_tool, say
from checklist_dev.repository import STATE as RUN_FOLDER
from checklist_dev.screenshots.dashboard_states import Desk, DeskState, desk_states
from checklist_dev.screenshots.scene import Scene
from checklist_dev.screenshots.states import State, states

ALL: dict[str, State | DeskState] = {**states(), **desk_states()}
FOLDER = RUN_FOLDER / "screenshots"
DEVICES = {"phone": PHONE, "desktop": {**DESKTOP, "is_mobile": False, "has_touch": False}}
SCHEMES = ("light", "dark")


async def photograph(
    stage: Stage,
    kube: KubeClient,
    browser: Browser,
    state: State | DeskState,
    *,
    folder: Path,
    device: str,
    scheme: str,
    language: str,
) -> list[Path]:
    """The files that were written. Raises Failure when the state did not come about."""
    somebody = await Device.of(
        browser,
        **DEVICES[device],
        color_scheme=scheme,
        locale=language,
        java_script_enabled=isinstance(state, DeskState) or state.scripts,
        reduced_motion="reduce",
        permissions=["geolocation"],
        geolocation={"latitude": 52.5163, "longitude": 13.3777, "accuracy": 8},
    )
    try:
        if isinstance(state, DeskState):
            await state.reach(await _desk(stage, kube, state, somebody))
        else:
            await state.reach(Scene(stage, kube, somebody))
        await somebody.page.wait_for_timeout(150)  # the last images and the caret
        suffix = "" if language == "en" else f"-{language}"
        name = f"{state.name}-{device}-{scheme}{suffix}"
        return await _pictures(somebody.page, folder / name, whole=state.whole)
    except BrowserError as error:
        raise Failure(f"{state.name} on the {device} did not come about: {str(error).splitlines()[0]}") from None
    finally:
        await somebody.close()


async def _desk(stage: Stage, kube: KubeClient, state: DeskState, device: Device) -> Desk:
    office = await Office.opened(stage, kube, **state.office)
    person = await office.member(state.role)
    await device.context.add_cookies([person.cookie(stage.base_url)])  # type: ignore[list-item]
    return Desk(office, person, device)


async def _pictures(page: Page, path: Path, *, whole: bool) -> list[Path]:
    paths = [path.with_name(f"{path.name}.png")]
    await page.screenshot(path=paths[0], animations="disabled")
    if whole:
        paths.append(path.with_name(f"{path.name}-whole.png"))
        await page.screenshot(path=paths[1], full_page=True, animations="disabled")
    return paths


async def photograph_all(
    states: Sequence[State | DeskState], folder: Path, devices: Iterable[str], schemes: Iterable[str], language: str
) -> int:
    """How many states could not be photographed; each is told."""
    failed = 0
    with Stage(RUN_FOLDER / "stage", report=say) as stage:
        connection = await KubeConnection.load(str(stage.service.cluster.kubeconfig))
        async with KubeClient(connection) as kube, chromium() as browser:
            for state, device, scheme in product(states, devices, schemes):
                try:
                    paths = await photograph(
                        stage, kube, browser, state, folder=folder, device=device, scheme=scheme, language=language
                    )
                except Failure as failure:
                    failed += 1
                    say(f"error: {failure}")
                else:
                    print("\n".join(map(str, paths)), flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.screenshots", description=__doc__)
    parser.add_argument("states", nargs="*", metavar="STATE", help=f"of: {', '.join(ALL)}")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write (.run/screenshots)")
    parser.add_argument("--device", choices=DEVICES, help="only on this one")
    parser.add_argument("--scheme", choices=SCHEMES, help="only this one")
    parser.add_argument("--language", default="en", help="of the browser (en)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.states if name not in ALL]
    if unknown:
        raise Failure(f"there is no state {unknown[0]}; there are {', '.join(ALL)}")
    states = [ALL[name] for name in arguments.states or ALL]
    if not arguments.states and arguments.folder == FOLDER:
        shutil.rmtree(FOLDER, ignore_errors=True)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    end_on_signals()
    started = time.monotonic()
    devices = [arguments.device] if arguments.device else list(DEVICES)
    schemes = [arguments.scheme] if arguments.scheme else list(SCHEMES)
    failed = asyncio.run(photograph_all(states, arguments.folder, devices, schemes, arguments.language))
    say(f"in {arguments.folder} after {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    run_tool(main)
