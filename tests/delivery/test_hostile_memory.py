"""What thousands of hostile receivers leave behind in the operator's memory, and their verdicts on its event loop.

The sender runs in a process of its own, the receivers in this one. `CHECKLISTS_HOSTILE_ROUNDS` makes more rounds of all
of them; 46 are more than ten thousand deliveries.
"""

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from tests.delivery.authority import HOST, Authority
from tests.delivery.hostile import OK, PLAIN, late
from tests.delivery.hostile_tls import HANDSHAKES, SESSIONS
from tests.delivery.test_hostile_receivers import listening

ROUNDS = int(os.environ.get("CHECKLISTS_HOSTILE_ROUNDS", "4"))
MEBIBYTE = 1 << 20
NARROW = {"answers after 9.9 s", "answers after 10.1 s", "fails after 9.9 s", "dribbles its head, but in time"}
"""Their verdicts hang on what a busy machine takes; on a simulated clock they are judged."""


async def test_hostile_receivers_leave_nothing_in_memory(authority: Authority) -> None:
    targets: list[tuple[str, str, str]] = []
    async with AsyncExitStack() as stack:
        for name, hostile in PLAIN.items():
            if name not in NARROW:
                plain = await stack.enter_async_context(listening(hostile.behave))
                over_tls = await stack.enter_async_context(listening(hostile.behave, authority.server_context()))
                targets.append((name, f"http://{HOST}:{plain.port}/", hostile.verdict))
                targets.append((f"{name} over TLS", f"https://{HOST}:{over_tls.port}/", hostile.verdict))
        healthy = await stack.enter_async_context(listening(late(0.5, OK), authority.server_context()))
        for name, session in SESSIONS.items():
            spoiled = await stack.enter_async_context(listening(session.behave, session.context(authority)))
            targets.append((name, f"https://{HOST}:{spoiled.port}/", session.verdict))
        for name, hostile in HANDSHAKES.items():
            raw = await stack.enter_async_context(listening(hostile.behave))
            targets.append((name, f"https://{HOST}:{raw.port}/", hostile.verdict))
        plan = {
            "pem": authority.pem,
            "healthy": f"https://{HOST}:{healthy.port}/",
            "targets": targets,
            "rounds": ROUNDS,
            "parallel": 64,
        }
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("memory_child.py")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await child.communicate(json.dumps(plan).encode())
    assert child.returncode == 0
    seen = json.loads(output)
    print(f"{seen['sent']} deliveries: {seen['before'] / MEBIBYTE:.1f} -> {seen['after'] / MEBIBYTE:.1f} MiB")
    assert seen["wrong"] == {}
    assert seen["sent"] == len(targets) * ROUNDS >= 200 * ROUNDS
    assert seen["after"] - seen["before"] <= 20 * MEBIBYTE
