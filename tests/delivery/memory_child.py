"""The process whose memory is measured: the sender on the event loop of production, against receivers elsewhere.

Reads a plan from standard input and writes what it saw to standard output, both JSON:
`{"pem": ..., "healthy": url, "targets": [[name, url, verdict], ...], "rounds": n, "parallel": n}` and
`{"before": bytes, "after": bytes, "sent": n, "wrong": {name: outcome}}`. What `before` has is the memory of a
process that has sent as many deliveries at once to healthy receivers.
"""

import asyncio
import gc
import json
import random
import sys
from pathlib import Path

import uvloop
from tests.delivery.sending import INSECURE, Loopback, deliver

from checklist_crds.platform.memory import configure_malloc
from checklist_operator.transport.sender import Sender, tls_context

BODY = b"{" + b" " * 50_000 + b"}"


def resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def main(plan: dict) -> dict:
    context = tls_context()
    context.load_verify_locations(cadata=plan["pem"])
    wrong: dict[str, str] = {}
    async with Sender(INSECURE, resolver=Loopback(), ssl_context=context) as sender:

        async def all_of(targets: list[list[str]]) -> None:
            waiting = iter(targets)

            async def take() -> None:
                for name, url, verdict in waiting:
                    outcome = await deliver(sender, url, BODY)
                    if outcome.outcome_class != verdict:
                        wrong[name] = str(outcome)

            await asyncio.gather(*(take() for _ in range(plan["parallel"])))
            await asyncio.sleep(1)

        await all_of([["a healthy receiver", plan["healthy"], "success"]] * plan["parallel"] * 4)
        before = resident_bytes()
        order = random.Random(3)
        for _ in range(plan["rounds"]):  # no receiver twice within a moment: a reset may not have come to it yet
            await all_of(order.sample(plan["targets"], len(plan["targets"])))
        after = resident_bytes()
    return {"before": before, "after": after, "sent": len(plan["targets"]) * plan["rounds"], "wrong": wrong}


if __name__ == "__main__":
    configure_malloc()  # as the operator does
    json.dump(uvloop.run(main(json.load(sys.stdin))), sys.stdout)
