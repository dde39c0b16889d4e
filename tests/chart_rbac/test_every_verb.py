"""API and operator live their whole life as the chart's ServiceAccounts: nothing is refused, nothing is granted in
vain, and whatever is taken away is missed.

Taking all rights away, one after the other, takes about a quarter of an hour: CHECKLISTS_EVERY_RIGHT=1 does it (and
CHECKLISTS_EVERY_RIGHT=events those that the word is in). Without it the same few are taken away each time, and the
table in `uses.py` stands for all of them.
"""

import asyncio
import hashlib
import os
import time
from dataclasses import dataclass

import pytest
from tests.chart_rbac import scenes
from tests.chart_rbac.audit_log import Access, AuditLog, Right
from tests.chart_rbac.conftest import Installation
from tests.chart_rbac.life import Life, living
from tests.chart_rbac.release import until_decided
from tests.chart_rbac.scenes import Scene
from tests.chart_rbac.uses import Use, uses

TAKEN_AWAY = 6
USUAL_S = LEAST_S = 4.0


@dataclass(frozen=True)
class Lived:
    """All that was asked for, and how long each scene took."""

    accesses: frozenset[Access]
    seconds: dict[Scene, float]


@pytest.fixture(scope="module")
def lived(installation: Installation) -> Lived:
    """The whole life, once."""

    async def live() -> dict[Scene, float]:
        seconds = {}
        for program in installation.programs.values():
            await program.until_ready()
        async with living(installation.release, installation.programs) as life:
            for scene in scenes.ALL:
                began = time.monotonic()
                await scene(life)
                seconds[scene] = time.monotonic() - began
        return seconds

    seconds = asyncio.run(live())
    return Lived(frozenset(installation.audit.since(0)), seconds)


def test_nothing_that_is_done_with_an_installation_is_refused(lived: Lived) -> None:
    assert {access for access in lived.accesses if not access.allowed} == set()


@pytest.mark.parametrize("account", ["api", "operator", "bootstrap"])
def test_every_verb_of_the_chart_s_roles_is_used(installation: Installation, lived: Lived, account: str) -> None:
    used = {access.right for access in lived.accesses if access.right.account == account}
    assert used == installation.release.rights(account)


def test_it_is_said_of_every_right_what_it_is_for(installation: Installation) -> None:
    said = {right for right, _ in uses()}
    assert said == installation.release.rights("api") | installation.release.rights("operator")


def test_whatever_right_is_taken_away_something_fails_without_it(installation: Installation, lived: Lived) -> None:
    """The API server refuses that very request, and what a person waits for does not come."""
    chosen = list(uses())
    wanted = os.environ.get("CHECKLISTS_EVERY_RIGHT")
    if wanted not in (None, "", "0", "1"):
        chosen = [(right, use) for right, use in chosen if wanted in str(right)]
    elif wanted != "1":
        quick = [(right, use) for right, use in chosen if not use.at_start]
        chosen = sorted(quick, key=lambda one: hashlib.sha256(repr(one[0]).encode()).hexdigest())[:TAKEN_AWAY]

    async def take_away() -> list[str]:
        told = []
        async with living(installation.release, installation.programs) as life:
            for right, use in chosen:
                answer = await breaks(life, installation.audit, right, use, lived.seconds.get(use.scene, USUAL_S))
                if answer is not None:
                    told.append(answer)
        return told

    told = asyncio.run(take_away())
    assert not told, "\n".join(told)


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
        while not scene.done() and not (refused and time.monotonic() - began > LEAST_S + 2 * usual_s):
            await asyncio.sleep(0.1)
            refused = refused or _is_refused(audit, mark, right)
        if not scene.done():
            scene.cancel()
        outcome = (await asyncio.gather(scene, return_exceptions=True))[0]
        failed = isinstance(outcome, BaseException)
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
