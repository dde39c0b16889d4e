"""The states of the executor app, by name, and how a person comes into each of them.

A state is a coroutine that gets a `Scene` and returns when there is something to look at. Add one with `@state`; with
`whole=True` the whole page is photographed too, beyond what fits on the screen.
"""

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from playwright.async_api import FilePayload, Route

from checklist_crds.ids import new_id
from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.stage import Link
from checklist_dev.screenshots.scene import Scene, picture

Reach = Callable[[Scene], Awaitable[None]]
MODULES: Final = ("member_states",)
"""What is registered elsewhere."""
EXPIRES_AT_ONCE: Final = 0.5 / 3600
API: Final = "**/v1/**"
STORES: Final = """<meta name="install-apple" content="https://apps.apple.com/app/id123456789">
<meta name="install-google" content="https://play.google.com/store/apps/details?id=com.example.checklists">"""


@dataclass(frozen=True, slots=True)
class State:
    """`scripts`: whether the browser runs them."""

    name: str
    reach: Reach
    whole: bool = False
    scripts: bool = True


STATES: Final[dict[str, State]] = {}


def state(*, whole: bool = False, scripts: bool = True) -> Callable[[Reach], Reach]:
    def register(reach: Reach) -> Reach:
        name = reach.__name__.replace("_", "-")
        STATES[name] = State(name, reach, whole, scripts)
        return reach

    return register


def states() -> dict[str, State]:
    """Those of all modules."""
    for module in MODULES:
        importlib.import_module(f"checklist_dev.screenshots.{module}")
    return STATES


@state(scripts=False)
async def no_scripts(scene: Scene) -> None:
    await scene.show(scene.dispatch(expires_in_hours=48).url)


@state()
async def loading(scene: Scene) -> None:
    link = scene.dispatch()

    async def wait(route: Route) -> None:
        await asyncio.sleep(60)
        await route.abort()

    await scene.intercept(API, wait)
    await scene.page.goto(link.url)
    await scene.page.locator("#app > *").first.wait_for(state="attached")


@state()
async def preview(scene: Scene) -> None:
    await scene.show(scene.dispatch(expires_in_hours=48).bare)
    await scene.page.locator("#app h1").wait_for()


@state()
async def preview_with_apps(scene: Scene) -> None:
    link = scene.dispatch(expires_in_hours=48)

    async def with_stores(route: Route) -> None:
        response = await route.fetch()
        text = await response.text()
        await route.fulfill(response=response, body=text.replace("</title>", f"</title>\n{STORES}", 1))

    await scene.intercept(link.bare, with_stores)
    await scene.show(link.bare)
    await scene.page.locator("#app h1").wait_for()


@state()
async def identity(scene: Scene) -> None:
    await scene.show(scene.dispatch(checklist(step("clean"), identity="external")).url)
    await scene.page.locator("#app form").wait_for()


@state()
async def identity_wrong(scene: Scene) -> None:
    await identity(scene)
    await scene.page.locator("#app input").nth(1).fill("nobody@")
    await scene.page.locator("#app form button[type=submit]").click()


@state(whole=True)
async def checklist_new(scene: Scene) -> None:
    await scene.show_checklist(scene.dispatch(expires_in_hours=48))


@state(whole=True)
async def checklist_answered(scene: Scene) -> None:
    link = scene.dispatch()
    scene.answer(link)
    await scene.show_checklist(link)


@state()
async def checklist_offline(scene: Scene) -> None:
    link = scene.dispatch()
    await scene.show_checklist(link)
    await scene.device.context.set_offline(True)
    await _dirty(scene)
    await scene.page.wait_for_timeout(500)


@state(whole=True)
async def checklist_closing(scene: Scene) -> None:
    """Long labels, and less than a day left."""
    long = "Is everything that came with the delivery of this morning, the second one included, put away, labelled"
    words = [
        step("clean", label=f"{long} and in the list, as the procedure of March wants it?", required=True),
        step("word", "text", label="Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"),
    ]
    await scene.show_checklist(scene.dispatch(checklist(*words, name=f"{long}?"), expires_in_hours=0.2))


@state()
async def checklist_menu(scene: Scene) -> None:
    await _menu(scene, scene.dispatch(expires_in_hours=48))


@state()
async def checklist_options(scene: Scene) -> None:
    """Many options, some of them found."""
    await scene.show_checklist(scene.dispatch())
    await scene.page.locator("#s-country-input").click()
    await scene.page.locator("dialog input[type=search]").fill("1")


@state()
async def checklist_problems(scene: Scene) -> None:
    """An answer out of its bounds, and a photo that the service did not take."""
    steps = [
        step("degrees", "number", label="Temperature of the cold store", config={"unit": "°C", "min": -30, "max": 30}),
        step("shelf", "photo", label="Photos of the shelves", config={"min": 1, "max": 3}),
    ]
    await scene.show_checklist(scene.dispatch(checklist(*steps)))
    await scene.page.locator("#s-degrees-input").fill("99")
    await scene.page.locator("#s-degrees-input").blur()
    broken: FilePayload = {"name": "1.jpg", "mimeType": "image/jpeg", "buffer": picture(1)[:900]}
    await scene.page.locator("input[type=file]:not([capture])").set_input_files([broken])
    await scene.page.locator(".thumb.is-refused").wait_for()


@state()
async def checklist_photo(scene: Scene) -> None:
    link = scene.dispatch()
    scene.answer(link)
    await scene.show_checklist(link)
    await scene.page.locator(".thumb").first.click()
    await scene.page.locator("dialog").wait_for()


@state()
async def answered_elsewhere(scene: Scene) -> None:
    """What was written without a network has met another answer."""
    link = scene.dispatch(checklist(step("clean", label="Is the floor clean?"), step("note", "text", label="Remarks")))
    await scene.show_checklist(link)
    await scene.device.context.set_offline(True)
    await scene.page.locator("#s-note-input").fill("From the cellar")
    await scene.page.keyboard.press("Tab")
    await scene.page.locator(".pill.is-offline").wait_for()
    scene.stage.execute(link, "PUT", "/answers/s-note", json={"value": "From the desk"})
    await scene.device.context.set_offline(False)
    await scene.page.locator(".notices .message").wait_for()


@state()
async def storage_full(scene: Scene) -> None:
    await scene.show_checklist(scene.dispatch(checklist(step("clean", label="Is the floor clean?"))))
    full = "() => { throw new DOMException('full', 'QuotaExceededError'); }"
    await scene.page.evaluate(f"() => {{ IDBObjectStore.prototype.put = {full} }}")
    await scene.page.locator(".choice").first.click()
    await scene.page.locator(".notices .message").wait_for()


@state()
async def nothing_kept(scene: Scene) -> None:
    """The browser allows no site data."""
    denied = "() => { throw new DOMException('denied', 'SecurityError'); }"
    await scene.page.add_init_script(f"IDBFactory.prototype.open = {denied}")
    await scene.show_checklist(scene.dispatch())
    await scene.page.locator(".notices .message").wait_for()


@state()
async def stop(scene: Scene) -> None:
    await checklist_menu(scene)
    await scene.page.locator("dialog .button.is-bad").click()
    await scene.page.locator("dialog textarea").fill("The gate is locked.")


@state(whole=True)
async def review_with_gaps(scene: Scene) -> None:
    link = scene.dispatch()
    scene.stage.execute(link, "PUT", "/answers/s-clean", json={"value": True})
    await _menu(scene, link)
    await scene.page.locator("dialog .dialog-body > .button:not(.is-bad)").click()
    await scene.page.locator("main.review button[type=submit]").click()
    await scene.page.locator(".summary").wait_for()


@state(whole=True)
async def review(scene: Scene) -> None:
    await _review(scene, await _complete(scene))


@state()
async def next_gap(scene: Scene) -> None:
    """Where the bar at the bottom leads while something required is left."""
    link = scene.dispatch()
    scene.stage.execute(link, "PUT", "/answers/s-clean", json={"value": True})
    await scene.show_checklist(link)
    await scene.page.locator(".next-bar button").click()
    await scene.page.wait_for_timeout(300)


@state()
async def submit_offline(scene: Scene) -> None:
    await _review(scene, await _complete(scene))
    await scene.page.locator("#signature").fill("Ada Lovelace")
    await scene.device.context.set_offline(True)
    await scene.page.locator("main.review form button[type=submit]").click()
    await scene.page.wait_for_timeout(500)


@state(whole=True)
async def done(scene: Scene) -> None:
    link = await _complete(scene)
    scene.stage.execute(link, "POST", "/submit", json={"signature": {"name": "Ada Lovelace"}})
    await scene.show(link.url)
    await scene.page.locator("#app h1").wait_for()


@state()
async def cancelled(scene: Scene) -> None:
    link = scene.dispatch()
    scene.stage.execute(link, "POST", "/cancel", json={"reason": "The store is locked."})
    await scene.show(link.url)
    await scene.page.locator("#app h1").wait_for()


@state()
async def cancelled_meanwhile(scene: Scene) -> None:
    """What did not arrive before the owner took the checklist back."""
    link = scene.dispatch()
    await scene.show_checklist(link)
    await scene.device.context.set_offline(True)
    await _dirty(scene)
    scene.stage.cancel(link)
    await scene.device.context.set_offline(False)
    await scene.page.locator("#app main.screen h1").wait_for(timeout=30_000)


@state()
async def expired(scene: Scene) -> None:
    link = scene.dispatch(expires_in_hours=EXPIRES_AT_ONCE)
    await asyncio.sleep(1)
    await scene.show(link.url)
    await scene.page.locator("#app h1").wait_for()


@state()
async def not_found(scene: Scene) -> None:
    await scene.show(f"{scene.stage.base_url}/r/{new_id('r')}#{'A' * 43}")
    await scene.page.locator("#app h1").wait_for()


@state()
async def offline_first(scene: Scene) -> None:
    """The app is there from another checklist; this one was never opened."""
    await scene.show_checklist(scene.dispatch())
    await scene.page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    await scene.page.reload()
    link = scene.dispatch()
    await scene.device.context.set_offline(True)
    await scene.show(link.url)
    await scene.page.locator("#app h1").wait_for()


@state()
async def unreachable(scene: Scene) -> None:
    async def refuse(route: Route) -> None:
        await route.fulfill(status=503, headers={"Retry-After": "20"}, json={"error": "service_unavailable"})

    await scene.intercept(API, refuse)
    await scene.show(scene.dispatch().url)
    await scene.page.locator("#app main.screen h1").wait_for(timeout=30_000)


@state()
async def sign_in(scene: Scene) -> None:
    await scene.show(scene.dispatch({**EVERY_CONTROL, "execution": {"identity_required": "member"}}).url)
    await scene.page.locator("#app main.screen h1").wait_for()


async def _menu(scene: Scene, link: Link) -> None:
    await scene.show_checklist(link)
    await scene.page.locator(".status-row > .button-icon").click()
    await scene.page.locator("dialog").wait_for()


async def _complete(scene: Scene) -> Link:
    link = scene.dispatch()
    scene.answer(link)
    return link


async def _review(scene: Scene, link: Link) -> None:
    await scene.show_checklist(link)
    await _open_review(scene)


async def _open_review(scene: Scene) -> None:
    await scene.page.locator(".next-bar button").click()
    await scene.page.locator("main.review").wait_for()


async def _dirty(scene: Scene) -> None:
    """Answers the first question, and what it leads to."""
    await scene.page.get_by_text("Dirty", exact=True).click()
    await scene.page.get_by_role("textbox", name="What is dirty?").fill("A puddle below the left shelf")
    await scene.page.keyboard.press("Tab")
