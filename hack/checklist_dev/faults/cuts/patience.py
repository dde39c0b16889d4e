"""Calls of the laboratory itself, on a machine that may be too busy to answer them at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from checklist_crds.kube.errors import KubeUnavailable

TRIES: Final = 30
_PAUSE_S: Final = 0.5

T = TypeVar("T")


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """What `call` gives, tried again while the cluster does not answer. It must be harmless to do it twice.

    Raises KubeUnavailable in the end.
    """
    for _ in range(TRIES - 1):
        try:
            return await call()
        except KubeUnavailable:
            await asyncio.sleep(_PAUSE_S)
    return await call()
