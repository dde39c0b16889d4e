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
import socket
import subprocess
import sys
from pathlib import Path

import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult

from checklist_crds.memory import give_memory_back
from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.sender import Sender, tls_context

BODY = b"{" + b" " * 50_000 + b"}"


class Loopback(AbstractResolver):
    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


def resident_bytes() -> int:
    gc.collect()
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * 4096
    import os

    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())])) * 1024


async def main(plan: dict) -> dict:
    context = tls_context()
    context.load_verify_locations(cadata=plan["pem"])
    wrong: dict[str, str] = {}
    async with Sender(AddressPolicy(allow_insecure=True), resolver=Loopback(), ssl_context=context) as sender:

        async def deliver(name: str, url: str, verdict: str) -> None:
            outcome = await sender.send(url, BODY, b"sixteen or more characters", "r-1")
            if outcome.outcome_class != verdict:
                wrong[name] = str(outcome)

        async def all_of(targets: list[list[str]]) -> None:
            waiting = iter(targets)

            async def take() -> None:
                for target in waiting:
                    await deliver(*target)

            await asyncio.gather(*(take() for _ in range(plan["parallel"])))
            await asyncio.sleep(1)

        await all_of([["a healthy receiver", plan["healthy"], "success"]] * plan["parallel"] * 4)
        before = resident_bytes()
        order = random.Random(3)
        for _ in range(plan["rounds"]):  # nobody twice within a moment: who resets may not have come to it yet
            await all_of(order.sample(plan["targets"], len(plan["targets"])))
        after = resident_bytes()
    return {"before": before, "after": after, "sent": len(plan["targets"]) * plan["rounds"], "wrong": wrong}


if __name__ == "__main__":
    give_memory_back()  # as the operator does
    json.dump(uvloop.run(main(json.load(sys.stdin))), sys.stdout)
