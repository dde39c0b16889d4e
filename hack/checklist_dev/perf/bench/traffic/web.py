"""Measures the executor app on a phone: bytes of the first load, time to the first control, time to "kept"."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from playwright.async_api import Browser

from checklist_dev.browser.checklists import EVERY_CONTROL, longest
from checklist_dev.browser.chromium import chromium
from checklist_dev.browser.device import Device
from checklist_dev.failures import Failure
from checklist_dev.perf.bench.report import Figure, Goal, of_rounds, percentile
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.client import ServiceClient

SLOWDOWN: Final = 4
_CONTROL: Final = "article.step input"
# The time when the first control is usable: present and drawn.
_WATCH_FOR_CONTROL: Final = f"""() => {{
    const look = () => {{
        if (window.firstControlAt === undefined && document.querySelector({_CONTROL!r}) !== null) {{
            requestAnimationFrame(() => setTimeout(() => {{ window.firstControlAt ??= performance.now(); }}));
        }}
    }};
    new MutationObserver(look).observe(document, {{ childList: true, subtree: true }});
}}"""
_FIRST_CONTROL: Final = """() => new Promise(resolve => {
    const look = () => window.firstControlAt === undefined ? setTimeout(look, 20) : resolve(window.firstControlAt);
    look();
})"""
# Milliseconds from a tap on the first choice of a card until "kept" is drawn in it.
_TAP: Final = """number => new Promise((resolve, reject) => {
    const card = [...document.querySelectorAll("article.step")].filter(
        (one) => one.querySelector("input[type=radio]") !== null)[number];
    card.scrollIntoView({ block: "center" });
    requestAnimationFrame(() => requestAnimationFrame(() => {
        const choice = card.querySelector("input[type=radio]");
        const started = performance.now();
        const seen = () => card.querySelector(".step-state.is-good") !== null;
        const observer = new MutationObserver(() => {
            if (!seen()) return;
            observer.disconnect();
            requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
        });
        observer.observe(card, { childList: true, subtree: true, attributes: true, characterData: true });
        setTimeout(() => reject(new Error("never shown as kept")), 10000);
        choice.click();
    }));
})"""


# Milliseconds from a tap on "next" until the next question is drawn, one step at a time.
_NEXT: Final = """() => new Promise(resolve => {
    const question = () => document.querySelector("article.step h3")?.id;
    const before = question();
    const started = performance.now();
    const observer = new MutationObserver(() => {
        if (question() === before) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
    });
    observer.observe(document.body, { childList: true, subtree: true });
    document.querySelector(".move-row .button-wide").click();
})"""
# Milliseconds from a key in the search of all steps until the found ones are drawn.
_SEARCH: Final = """query => new Promise(resolve => {
    const field = document.querySelector("dialog input[type=search]");
    const started = performance.now();
    field.value = query;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
})"""


async def measure_web(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Raises Failure if there is no browser, or the app does not start."""
    client, rounds = stage.client, sizes.loads
    async with chromium() as browser:
        template_id = await client.create_template(EVERY_CONTROL)
        loads = [await _first_load(browser, await _link(client, template_id)) for _ in range(rounds)]
        long_id = await client.create_template(longest(500))
        waits = await _taps(browser, await _link(client, long_id), sizes.taps)
        single = longest(500)
        single["settings"]["layout"] = "one_at_a_time"
        moves, keys = await _moves(browser, await _link(client, await client.create_template(single)), sizes.taps)
    return [
        of_rounds("first load of the executor app, compressed", [size for size, _ in loads], "KB", goal=Goal("<=", 80)),
        of_rounds(
            f"first load to the first usable control, processor slowed down {SLOWDOWN} x",
            [ms for _, ms in loads],
            "ms",
            goal=Goal("<=", 1000),
        ),
        Figure(
            "500 steps: tap to kept on screen, p95",
            percentile(waits, 95),
            "ms",
            Goal("<=", 50),
            f"p50 {percentile(waits, 50):.0f} ms over {len(waits)} taps; two frames are 33 ms",
        ),
        Figure(
            "500 steps, one at a time: tap to the next question, p95",
            percentile(moves, 95),
            "ms",
            Goal("<=", 50),
            f"p50 {percentile(moves, 50):.0f} ms over {len(moves)} taps",
        ),
        Figure(
            "500 steps: key in the search to the steps found, p95",
            percentile(keys, 95),
            "ms",
            Goal("<=", 100),
            f"p50 {percentile(keys, 50):.0f} ms over {len(keys)} keys",
        ),
    ]


async def _link(client: ServiceClient, template_id: str) -> str:
    reply = await client.dispatch({"template_id": template_id})
    if not reply.ok:
        raise Failure(f"a dispatch was refused with {reply.status}: {reply.body}")
    return str(reply.body["link"])


async def _first_load(browser: Browser, link: str) -> tuple[float, float]:
    """A phone's first visit: kilobytes on the wire in all responses, milliseconds to the first control."""
    device = await Device.of(browser)
    try:
        session = await device.context.new_cdp_session(device.page)
        sizes: list[float] = []
        session.on("Network.loadingFinished", _collect(sizes))
        await session.send("Network.enable")
        await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
        await device.page.add_init_script(f"({_WATCH_FOR_CONTROL})()")
        await device.page.goto(link)
        at = float(await asyncio.wait_for(device.page.evaluate(_FIRST_CONTROL), 30))
        await device.page.wait_for_load_state("networkidle")
        return sum(sizes) / 1000, at
    finally:
        await device.close()


def _collect(sizes: list[float]) -> Callable[[dict[str, Any]], None]:
    return lambda event: sizes.append(float(event["encodedDataLength"]))


async def _taps(browser: Browser, link: str, taps: int) -> list[float]:
    """Milliseconds of each tap, spread over the checklist, after a warm-up tap."""
    device = await Device.of(browser)
    try:
        await device.page.goto(link)
        await device.page.locator(_CONTROL).first.wait_for(timeout=30_000)
        await device.page.wait_for_load_state("networkidle")
        numbers = [number * 240 // (taps + 1) for number in range(taps + 1)]
        cards = device.page.locator("article.step:has(input[type=radio])")  # lower ones are rendered later
        await cards.nth(numbers[-1]).wait_for(state="attached", timeout=30_000)
        waits = [float(await device.page.evaluate(_TAP, number)) for number in numbers]
        return waits[1:]
    finally:
        await device.close()


async def _moves(browser: Browser, link: str, taps: int) -> tuple[list[float], list[float]]:
    """Milliseconds of taps on "next", and of keys in the search, each after one to warm up."""
    device = await Device.of(browser, reduced_motion="reduce")
    try:
        page = device.page
        await page.goto(link)
        await page.locator(_CONTROL).first.wait_for(timeout=30_000)
        await page.wait_for_load_state("networkidle")
        moves = [float(await page.evaluate(_NEXT)) for _ in range(taps + 1)]
        await page.locator(".meter-open").click()
        await page.locator("dialog input[type=search]").wait_for()
        queries = ["item 49"[: number % 7 + 1] for number in range(taps + 1)]
        keys = [float(await page.evaluate(_SEARCH, query)) for query in queries]
        return moves[1:], keys[1:]
    finally:
        await device.close()
