"""One right is taken away: what breaks?"""

import asyncio
import contextlib
import time

from tests.chart_rbac.audit_log import AuditLog, Right
from tests.chart_rbac.life import Life
from tests.chart_rbac.release import until_decided
from tests.chart_rbac.uses import Use

LEAST_S = 4.0


async def breaks(life: Life, audit: AuditLog, right: Right, use: Use, usual_s: float) -> str | None:
    """None when the scene fails (or the log tells) and the API server refused that very right; else what happened.

    `usual_s`: how long the scene takes with all rights; twice that and a little is waited for, after a refusal.
    """
    for program in life.programs.values():
        if not program.child.running:
            await asyncio.to_thread(program.child.start)
        await program.until_ready()
    life.receiver.answer = lambda _: 204
    await asyncio.to_thread(life.release.take_away, right)
    try:
        await until_decided(life.release, right, allowed=False)
        mark = audit.mark()
        if use.at_start:
            await life.programs[right.account].restart()
        scene = asyncio.create_task(_play(life, use))
        began = time.monotonic()
        refused = False
        while not scene.done():
            refused = refused or _is_refused(audit, mark, right)
            if refused and time.monotonic() - began > LEAST_S + 2 * usual_s:
                break
            await asyncio.sleep(0.1)
        if scene.done():
            failed = scene.exception() is not None
        else:
            failed = True
            scene.cancel()
            with contextlib.suppress(BaseException):
                await scene
        refused = refused or _is_refused(audit, mark, right)
        failed = failed or bool(use.told and use.told in life.programs[right.account].child.output())
    finally:
        await asyncio.to_thread(life.release.give_back, right)
        await until_decided(life.release, right, allowed=True)
    if use.at_start or right.resource == "leases":
        await life.programs[right.account].restart()
    if failed and refused:
        return None
    return f"{right}: {use.scene.__name__} {'fails' if failed else 'goes well'}, {'' if refused else 'not '}refused"


async def _play(life: Life, use: Use) -> None:
    if use.at_start:
        for program in life.programs.values():
            await program.until_ready()
    await use.scene(life)


def _is_refused(audit: AuditLog, mark: int, right: Right) -> bool:
    return any(access.right == right and not access.allowed for access in audit.since(mark))
