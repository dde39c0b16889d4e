"""One of several processes that share a limit: tries as fast as it can from the first line on stdin to the second, and
on until it is refused, so that nothing is left that could have been admitted. Prints `begun` after its first try, and
in the end how many tries were admitted, and how many there were.
"""

import asyncio
import json
import sys

from checklist_api.dashboard.sign_in_settings import RedisSettings
from checklist_api.metrics import Metrics
from checklist_api.rate_limit import Rate
from checklist_api.redis_rate_limit import RedisRateLimiter

_AT_ONCE = 4
# How exact the limit is must not depend on how busy the machine is; what happens without an answer is another test's.
_PATIENCE_S = 30.0


async def main(url: str, per_second: float, burst: int) -> None:
    metrics = Metrics()
    settings = RedisSettings(url=url)
    limiter = RedisRateLimiter(settings, namespace="exact", metrics=metrics, answer_within_s=_PATIENCE_S)
    rate = Rate(per_second, burst)
    while await limiter.wait_for("warm up", Rate(1e6, 1000)) or limiter.note:
        await asyncio.sleep(0.01)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    enough = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    admitted = tries = 0

    async def hammer() -> None:
        nonlocal admitted, tries
        while True:
            is_last = enough.done()
            wait_s = await limiter.wait_for("key:shared", rate)
            admitted += wait_s == 0
            tries += 1
            if tries == 1:
                print("begun", flush=True)
            if is_last and wait_s > 0:
                return

    await asyncio.gather(*(hammer() for _ in range(_AT_ONCE)))
    falls = metrics.registry.get_sample_value("checklists_rate_limits_fallbacks_total")
    print(json.dumps({"admitted": admitted, "tries": tries, "falls": falls}), flush=True)
    await limiter.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3])))
