"""What thousands of hostile receivers leave behind in the operator's memory, and their verdicts on its event loop.

The sender runs in a process of its own, the receivers in this one. `CHECKLISTS_HOSTILE_ROUNDS` makes more rounds of all
of them; 46 are more than ten thousand deliveries.
"""

import asyncio
import json
import os
import ssl
import sys
from contextlib import AsyncExitStack

from tests.delivery.authority import HOST, Authority
from tests.delivery.hostile import OK, PLAIN, Behave, late
from tests.delivery.hostile_tls import TLS
from tests.delivery.test_hostile_receivers import listening

from checklist_dev.repository import ROOT

ROUNDS = int(os.environ.get("CHECKLISTS_HOSTILE_ROUNDS", "4"))
MEBIBYTE = 1 << 20
NARROW = {"answers after 9.9 s", "answers after 10.1 s", "fails after 9.9 s", "dribbles its head, but in time"}
"""Their verdicts hang on what a busy machine takes; on a simulated clock they are judged."""


async def test_hostile_receivers_leave_nothing_in_memory(authority: Authority) -> None:
    async with AsyncExitStack() as stack:

        async def url_of(behave: Behave, context: ssl.SSLContext | None = None, scheme: str = "https") -> str:
            receiver = await stack.enter_async_context(listening(behave, context))
            return f"{scheme}://{HOST}:{receiver.port}/"

        context = authority.server_context()
        targets: list[tuple[str, str, str]] = []
        for name, hostile in PLAIN.items():
            if name not in NARROW:
                targets.append((name, await url_of(hostile.behave, scheme="http"), hostile.verdict))
                targets.append((f"{name} over TLS", await url_of(hostile.behave, context), hostile.verdict))
        for name, hostile in TLS.items():
            own = hostile.context and hostile.context(authority)
            targets.append((name, await url_of(hostile.behave, own), hostile.verdict))
        plan = {"pem": authority.pem, "healthy": await url_of(late(0.5, OK), context), "targets": targets}
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.delivery.memory_child"),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await child.communicate(json.dumps({**plan, "rounds": ROUNDS, "parallel": 64}).encode())
    assert child.returncode == 0
    seen = json.loads(output)
    print(f"{seen['sent']} deliveries: {seen['before'] / MEBIBYTE:.1f} -> {seen['after'] / MEBIBYTE:.1f} MiB")
    assert seen["wrong"] == {}
    assert seen["sent"] == len(targets) * ROUNDS >= 150 * ROUNDS
    assert seen["after"] - seen["before"] <= 20 * MEBIBYTE
