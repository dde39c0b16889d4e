"""Brings one object into a cluster: made, with its status, or found to be there as it should be.

It may be stopped between any two of its steps and be done again: what is there is compared, and its status is written
where nobody has written one. What is there and is something else is left as it is, and told.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeInvalid, KubeNotFound, KubeUnavailable
from checklist_crds.secrets.sealing import KeyRing

from ..console.command import CommandFailed
from .objects import Wanted, difference, is_untouched, status_difference

_CLUSTER_MAY_PAUSE_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)

T = TypeVar("T")


class Placed(StrEnum):
    MADE = "made"
    COMPLETED = "completed"
    """It was there without its status."""
    PRESENT = "present"


class InTheWay(CommandFailed):
    """An object of the same name, and of other content, is in the cluster."""


class Placing:
    """Methods raise KubeError, InTheWay and CommandFailed."""

    def __init__(self, client: KubeClient, ring: KeyRing | None) -> None:
        self._client = client
        self._ring = ring

    async def place(self, wanted: Wanted, *, expected_there: bool = False) -> Placed:
        """`expected_there` spares an attempt to make it; it is made all the same when it is not there."""
        placed = Placed.MADE
        body: JsonObject | None = None
        if expected_there:
            body = await self._found(wanted)
        if body is None:
            try:
                body = await patiently(lambda: self._client.create(wanted.kind, wanted.body, wanted.namespace))
            except KubeAlreadyExists:
                body = await self._found(wanted)
                placed = Placed.PRESENT
            except KubeInvalid as error:
                raise CommandFailed(f"{wanted} is refused by the cluster: {error.message[:500]}") from None
            except KubeNotFound as error:
                raise CommandFailed(f"{wanted}: {error.message[:200]}; make the namespace first") from None
        else:
            placed = Placed.PRESENT
        if body is None:
            raise CommandFailed(f"{wanted} appears and disappears: somebody else works on this cluster")
        if (where := difference(wanted, body, self._ring)) is not None:
            if placed is Placed.MADE:
                raise CommandFailed(
                    f"the cluster's definitions have no room for {where} of {wanted}: bring them to those of the "
                    "backup first (docs/install.md)"
                )
            raise InTheWay(f"{wanted} is there with other content (at {where}); nothing of it was changed")
        body, completed = await self._status(wanted, body)
        if completed and placed is Placed.PRESENT:
            placed = Placed.COMPLETED
        await self._managers(wanted, body)
        return placed

    async def _found(self, wanted: Wanted) -> JsonObject | None:
        try:
            return await patiently(lambda: self._client.get(wanted.kind, wanted.name, wanted.namespace))
        except KubeNotFound:
            return None

    async def _status(self, wanted: Wanted, body: JsonObject) -> tuple[JsonObject, bool]:
        """The object with its status, and whether that was written now."""
        for _ in range(3):
            where = status_difference(wanted, body)
            if where is None:
                return body, False
            if not is_untouched(body):
                raise InTheWay(f"{wanted} is there with other content (at {where}); nothing of it was changed")
            # Conditional on what was just made or read: nobody's own status is written over.
            write = partial(self._client.replace, wanted.kind, {**body, "status": wanted.status}, subresource="status")
            try:
                body = await patiently(write)
            except KubeConflict:
                body = await self._found(wanted) or body
                continue
            except KubeInvalid as error:
                raise CommandFailed(
                    f"the status of {wanted} is refused by the cluster: {error.message[:500]}"
                ) from None
            if (where := status_difference(wanted, body)) is not None:
                raise CommandFailed(
                    f"the cluster's definitions have no room for {where} of {wanted}: bring them to those of the "
                    "backup first (docs/install.md)"
                )
            return body, True
        raise CommandFailed(f"{wanted} changes while it is restored: somebody else works on this cluster")

    async def _managers(self, wanted: Wanted, body: JsonObject) -> None:
        """Who applies the object (GitOps) goes on being its manager: what they take out of it later is to go."""
        theirs = {(one.get("manager"), one.get("operation")) for one in body["metadata"].get("managedFields") or ()}
        missing = [one for one in wanted.managers if (one.get("manager"), one.get("operation")) not in theirs]
        if not missing:
            return
        # Without our own entry: what two own, the one cannot take away.
        entries = [
            *missing,
            *(
                one
                for one in body["metadata"].get("managedFields") or ()
                if one.get("operation") == "Apply" or one.get("subresource")
            ),
        ]
        await patiently(
            lambda: self._client.patch(
                wanted.kind, wanted.name, {"metadata": {"managedFields": entries}}, wanted.namespace
            )
        )


async def patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """`attempt` again while the cluster takes a pause; all that is attempted here may be done twice. Raises
    KubeUnavailable when that lasts."""
    for pause_s in _CLUSTER_MAY_PAUSE_S:
        try:
            return await attempt()
        except KubeUnavailable:
            await asyncio.sleep(pause_s)
    return await attempt()
