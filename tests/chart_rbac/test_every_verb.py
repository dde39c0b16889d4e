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
from tests.chart_rbac.audit_log import Access
from tests.chart_rbac.conftest import Installation
from tests.chart_rbac.life import living
from tests.chart_rbac.missing import breaks
from tests.chart_rbac.scenes import Scene
from tests.chart_rbac.uses import uses

TAKEN_AWAY = 6
USUAL_S = 4.0


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
