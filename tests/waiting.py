"""Waiting on a condition: the one way in which tests wait for something that another process or task does."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from checklist_dev.failures import Failure
from checklist_dev.local.kubectl import Kubectl

WITHIN_S: Final = 60.0
"""No promise of the service: a limit after which a test fails, long enough for a slow machine with neighbours."""


async def eventually(
    check: Callable[[], Awaitable[Any] | Any], *, within_s: float = WITHIN_S, every_s: float = 0.02
) -> Any:
    """Call `check` until its result is true, and return that result.

    Raises AssertionError with the last result after `within_s` seconds.
    """
    deadline = time.monotonic() + within_s
    while True:
        result = check()
        if isinstance(result, Awaitable):
            result = await result
        if result:
            return result
        assert time.monotonic() < deadline, f"not within {within_s:g} s, last: {result!r}"
        await asyncio.sleep(every_s)


def eventually_sync(check: Callable[[], Any], *, within_s: float = WITHIN_S, every_s: float = 0.02) -> Any:
    """As `eventually`, for tests without an event loop."""
    deadline = time.monotonic() + within_s
    while not (result := check()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s, last: {result!r}"
        time.sleep(every_s)
    return result


async def until_the_clock_passes(moment: datetime) -> None:
    """For what the service decides by the time of day, or tells apart by it."""
    await eventually(lambda: datetime.now(UTC) > moment, every_s=0.001)


async def until_the_next_second() -> None:
    """For creation times of Kubernetes, which are whole seconds."""
    await until_the_clock_passes(datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1))


async def until_no_difference(kubectl: Kubectl, *arguments: str, stdin: str | None = None) -> None:
    """Run `kubectl diff` until it shows nothing.

    It reads each object twice, so a status that a controller writes in between is shown as a difference.
    """
    shown = ""

    def same() -> bool:
        nonlocal shown
        try:
            shown = kubectl("diff", *arguments, stdin=stdin)
        except Failure as error:  # so kubectl reports a difference
            shown = str(error)
        return shown == ""

    try:
        await eventually(same, every_s=0.5)
    except AssertionError:
        raise AssertionError(shown) from None
