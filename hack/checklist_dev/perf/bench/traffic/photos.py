"""Measures the effect of 100 uploads of 4 MB from eight clients on other requests and the API's memory."""

import asyncio
import io
import multiprocessing
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final

from PIL import Image

from checklist_dev.failures import Failure
from checklist_dev.perf.bench.answers import open_runs
from checklist_dev.perf.bench.report import Figure, Goal, percentile
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.bench.traffic.other_routes import REQUESTS_PER_S, OtherRoutes, p99
from checklist_dev.perf.load.client import Person, ServiceClient, new_op
from checklist_dev.perf.load.probes import give_way
from checklist_dev.perf.load.rig import Program

CLIENTS: Final = 8
PHOTO_BYTES: Final = 4_000_000
MOST_MEMORY_MIB: Final = 64.0
"""Limit of the memory that uploads add to the API: far less than the 32 MB in transfer."""
_ANSWER_WITHIN_S: Final = 60.0
STEP_ID: Final = "s-photos"
TEMPLATE: Final[dict[str, Any]] = {
    "name": "Photo round",
    "sections": [
        {
            "id": "g-1",
            "title": "Photos",
            "steps": [{"id": STEP_ID, "type": "photo", "label": "Show it", "config": {"min": 1, "max": 20}}],
        }
    ],
}


def make_photo(seed: int, *, at_least: int = PHOTO_BYTES, size: tuple[int, int] = (4000, 3000)) -> bytes:
    """A JPEG like a phone's: 12 megapixels with grain, about `at_least` bytes."""
    rng = random.Random(seed)
    grain = Image.frombytes("RGB", (1000, 750), rng.randbytes(1000 * 750 * 3))
    photo = grain.resize(size, Image.Resampling.BICUBIC)
    for quality in (60, 70, 80, 88, 93, 96, 98):
        buffer = io.BytesIO()
        photo.save(buffer, "JPEG", quality=quality)
        if buffer.tell() >= at_least:
            break
    return buffer.getvalue()


def upload_all(url: str, links: Sequence[tuple[str, str]], pictures: Sequence[bytes]) -> list[float]:
    """Seconds of each upload, with `CLIENTS` concurrent ones. `links`: run id and link for each photo.

    Run it in another process, since it delays other work. Raises Failure if one is refused.
    """
    return asyncio.run(_upload_all(url, links, pictures))


async def _upload_all(url: str, links: Sequence[tuple[str, str]], pictures: Sequence[bytes]) -> list[float]:
    work = iter(enumerate(links))
    waits: list[float] = []
    async with ServiceClient([url], "", answer_within_s=_ANSWER_WITHIN_S, honors_retry_after=True) as client:

        async def upload() -> None:
            for number, link in work:
                started = time.perf_counter()
                reply = await Person(client, *link).add_photo(STEP_ID, pictures[number % len(pictures)], op_id=new_op())
                if reply.status != 201:
                    raise Failure(f"an upload was refused with {reply.status}: {reply.body}")
                waits.append(time.perf_counter() - started)

        await asyncio.gather(*(upload() for _ in range(CLIENTS)))
    return waits


async def measure_uploads(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Call other routes at a steady pace, with and without uploads."""
    client, api, photos, others = stage.client, stage.api, sizes.photos, await OtherRoutes.of(stage)
    people = await open_runs(client, await client.create_template(TEMPLATE), [], photos // 20 + 1)
    pictures = await asyncio.to_thread(lambda: [make_photo(seed) for seed in range(4)])
    links = [(person.run_id, person.link) for person in people for _ in range(20)][: photos + 1]
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=give_way) as pool:
        # The first upload starts the service's worker, and the process here.
        await loop.run_in_executor(pool, upload_all, api.url, links[:1], pictures)
        before = await others.call_for(sizes.quiet_s)
        rss_before = api.rss_mib()
        peak = asyncio.create_task(_peak_of(api))
        started = time.perf_counter()
        uploads = loop.run_in_executor(pool, upload_all, api.url, links[1:], pictures)
        during = await others.call_until(uploads)
        seconds = time.perf_counter() - started
        peak.cancel()
        waits, highest = await uploads, max(rss_before, await peak)
        after = await others.call_for(sizes.quiet_s)
    calm = {route: before[route] + after[route] for route in during}
    size = sum(map(len, pictures)) / len(pictures) / 1e6
    return [
        Figure(
            "p99 of other requests during uploads over p99 without",
            p99([during]) / p99([calm]),
            "",
            Goal("<=", 2),
            f"without: {p99([calm]) * 1000:.1f} ms; {REQUESTS_PER_S:.0f} requests per second",
        ),
        Figure(
            "memory that uploads add to the API (RSS)",
            highest - rss_before,
            "MiB",
            Goal("<=", MOST_MEMORY_MIB),
            f"before: {rss_before:.0f} MiB; {CLIENTS} uploads of {size:.1f} MB at a time",
        ),
        Figure("photos accepted", photos / seconds, "/s", None, f"{photos} photos of 12 megapixels"),
        Figure("upload to acknowledgement, p50", percentile(waits, 50), "s"),
    ]


async def _peak_of(api: Program) -> float:
    """The highest memory until cancelled."""
    highest = 0.0
    try:
        while True:
            highest = max(highest, api.rss_mib())
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        return highest
