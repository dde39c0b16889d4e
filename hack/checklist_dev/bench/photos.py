"""What 100 uploads of 4 MB from eight clients do to everybody else, and to the API's memory."""

import asyncio
import io
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from PIL import Image

from checklist_dev.bench.report import Figure, Goal, percentile
from checklist_dev.failures import Failure
from checklist_dev.load.client import Person, ServiceClient, new_op
from checklist_dev.load.rig import Program

CLIENTS: Final = 8
PROBES_PER_S: Final = 50.0
PHOTO_BYTES: Final = 4_000_000
MOST_MEMORY_MIB: Final = 64.0
"""What uploads may add to the API's own memory: far less than the 32 MB that are under way at a time."""
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


def make_photo(seed: int, *, at_least: int = PHOTO_BYTES) -> bytes:
    """A JPEG as a telephone makes it: 12 megapixels with grain, of about `at_least` bytes."""
    rng = random.Random(seed)
    grain = Image.frombytes("RGB", (1000, 750), rng.randbytes(1000 * 750 * 3))
    photo = grain.resize((4000, 3000), Image.Resampling.BICUBIC)
    for quality in (60, 70, 80, 88, 93, 96, 98):
        buffer = io.BytesIO()
        photo.save(buffer, "JPEG", quality=quality)
        if buffer.tell() >= at_least:
            break
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Uploader:
    """Uploads through the executor's route, as bare as the clients of the other parts."""

    session: aiohttp.ClientSession
    url: str

    async def upload(self, person: Person, photo: bytes) -> float:
        """Seconds until it was acknowledged; a 429 or 503 is waited out as it says. Raises Failure for a refusal."""
        op_id, started = new_op(), time.perf_counter()
        path = f"{self.url}/v1/executor/runs/{person.run_id}/answers/{STEP_ID}/photos"
        while True:
            async with self.session.post(
                path, params={"op_id": op_id}, data=photo, headers={**person.headers, "Content-Type": "image/jpeg"}
            ) as response:
                told = await response.text()
            if response.status not in {429, 503}:
                break
            await asyncio.sleep(float(response.headers.get("Retry-After", "1")))
        if response.status != 201:
            raise Failure(f"an upload was refused with {response.status}: {told[:300]}")
        return time.perf_counter() - started


async def measure_uploads(
    client: ServiceClient, api: Program, probe: Callable[[], Awaitable[Any]], *, photos: int, quiet_s: float
) -> list[Figure]:
    """`probe` is one request of another kind; it is sent at a steady pace with and without uploads."""
    template_id = await client.create_template(TEMPLATE)
    people = []
    for _ in range(photos // 20 + 1):
        reply = await client.dispatch({"template_id": template_id})
        people.append(Person(client, reply.body["run_id"], reply.body["link"]))
    pictures = await asyncio.to_thread(lambda: [make_photo(seed) for seed in range(4)])
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False) as session:
        uploader = Uploader(session, api.url)
        await uploader.upload(people[0], pictures[0])  # the first one starts the worker
        before = await _paced(probe, asyncio.create_task(asyncio.sleep(quiet_s)))
        rss_before = api.rss_mib()
        peak = asyncio.create_task(_peak_of(api))
        started = time.perf_counter()
        uploads = asyncio.create_task(_upload_all(uploader, people, pictures, photos))
        during = await _paced(probe, uploads)
        seconds = time.perf_counter() - started
        peak.cancel()
        waits = await uploads
        highest = max(rss_before, *(await asyncio.gather(peak)))
        after = await _paced(probe, asyncio.create_task(asyncio.sleep(quiet_s)))
    calm = percentile(before + after, 99)
    size = sum(map(len, pictures)) / len(pictures) / 1e6
    return [
        Figure(
            "p99 of other requests during uploads over p99 without",
            percentile(during, 99) / calm,
            "",
            Goal("<=", 2),
            f"without: {calm * 1000:.1f} ms; {PROBES_PER_S:.0f} probes per second",
        ),
        Figure(
            "memory that uploads add to the API (RSS)",
            highest - rss_before,
            "MiB",
            Goal("<=", MOST_MEMORY_MIB),
            f"before: {rss_before:.0f} MiB; {CLIENTS} uploads of {size:.1f} MB at a time",
        ),
        Figure("photos taken in", photos / seconds, "/s", None, f"{photos} photos of 12 megapixels"),
        Figure("upload to acknowledgement, p50", percentile(waits, 50), "s"),
    ]


async def _upload_all(uploader: Uploader, people: list[Person], pictures: list[bytes], photos: int) -> list[float]:
    # The run of the first upload has one already.
    places = [person for person in people for _ in range(20)][1 : photos + 1]
    work = iter(enumerate(places))
    waits: list[float] = []

    async def client() -> None:
        for number, person in work:
            waits.append(await uploader.upload(person, pictures[number % len(pictures)]))

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return waits


async def _paced(probe: Callable[[], Awaitable[Any]], until: asyncio.Task[Any]) -> list[float]:
    """Seconds of each probe, from the moment at which it was due, sent in an open loop until the task is done."""
    loop = asyncio.get_running_loop()
    seconds: list[float] = []
    under_way: set[asyncio.Task[None]] = set()

    async def one(due: float) -> None:
        await probe()
        seconds.append(loop.time() - due)

    due = loop.time()
    while not until.done():
        due += 1 / PROBES_PER_S
        await asyncio.sleep(max(0.0, due - loop.time()))
        task = asyncio.create_task(one(due))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    await asyncio.gather(*under_way)
    return seconds


async def _peak_of(api: Program) -> float:
    """The highest memory seen until cancelled."""
    highest = 0.0
    try:
        while True:
            highest = max(highest, api.rss_mib())
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        return highest
