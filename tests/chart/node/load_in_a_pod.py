"""Runs in a pod of the image, against the Service: `load_in_a_pod.py URL KEY TEMPLATE`, until /tmp/stop is there.

Four callers dispatch runs and read them back, one request after the other, each over a connection of its own that is
kept: below the rate that one key has. Prints what became of every request; nothing is sent twice.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import aiohttp

CALLERS = 4
STOP = Path("/tmp/stop")


async def call(url: str, key: str, template: str, seen: dict[str, list[str]]) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    timeout = aiohttp.ClientTimeout(total=20)
    async with aiohttp.ClientSession(url, headers=headers, timeout=timeout) as session:
        while not STOP.exists():
            await asyncio.sleep(0.1)
            try:
                async with session.post("/v1/runs", json={"template_id": template}) as answer:
                    body = await answer.json()
                if answer.status != 201:
                    seen["failures"].append(f"POST {answer.status} {body}")
                    continue
                run = body["run_id"]
                seen["runs"].append(run)
                async with session.get(f"/v1/runs/{run}") as answer:
                    if answer.status != 200:
                        seen["failures"].append(f"GET {answer.status} {await answer.text()}")
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                seen["failures"].append(f"{time.strftime('%X')} {error!r}")


async def main() -> None:
    url, key, template = sys.argv[1:]
    STOP.unlink(missing_ok=True)
    seen: dict[str, list[str]] = {"runs": [], "failures": []}
    await asyncio.gather(*(call(url, key, template, seen) for _ in range(CALLERS)))
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main())
