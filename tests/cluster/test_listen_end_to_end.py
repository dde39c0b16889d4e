"""`checklist-dispatch listen` as the receiver of the real operator, and `verify` on what it kept."""

import asyncio
import os
import sys
from pathlib import Path

from tests.cluster.operator_lab import WEBHOOK_SECRET, Lab, OperatorProcess

from checklist_cli.program import main
from checklist_crds.run_types import DeliveryPhase


async def test_the_operator_retries_until_listen_takes_the_event_and_verify_agrees_with_every_attempt(
    lab: Lab, operator: OperatorProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "captures"
    listen = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "checklist_cli", "listen", "--port", "0", "--format", "line",
        "--answer", "500,drop,200", "--save", str(folder), "--count", "3",
        env={**os.environ, "CHECKLISTS_WEBHOOK_SECRET": WEBHOOK_SECRET}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert listen.stdout is not None
    url = (await asyncio.wait_for(listen.stdout.readline(), 30)).decode().strip().removeprefix("listening: ")
    run = await lab.dispatch(url)
    await lab.submit(run)
    settled = await lab.until_settled(run)
    assert await asyncio.wait_for(listen.wait(), 30) == 0
    (record,) = settled.status.deliveries
    assert (record.phase, record.attempts, record.http_status) == (DeliveryPhase.DELIVERED, 3, 200)
    printed = (await listen.stdout.read()).decode().splitlines()
    about = f"verified: run.completed {record.event_id} attempt"
    assert [line.partition(" ")[2] for line in printed] == [
        f"500 {about} 1 of {run}",
        f"drop {about} 2 of {run}",
        f"200 {about} 3 of {run}",
    ]
    captures = sorted(folder.iterdir())
    assert len(captures) == 3
    for capture in captures:
        assert await asyncio.to_thread(main, ["verify", str(capture), "--secret", WEBHOOK_SECRET]) == 0
        assert await asyncio.to_thread(main, ["verify", str(capture), "--secret", WEBHOOK_SECRET + "!"]) == 1
