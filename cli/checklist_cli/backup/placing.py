"""Restores one object into a cluster, with its status.

The steps can be interrupted and repeated: existing objects are compared, and a status is written only if it is
untouched. Existing objects with other content are left as they are and reported.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import (
    KubeAlreadyExists,
    KubeConflict,
    KubeGone,
    KubeInvalid,
    KubeNotFound,
    KubeUnavailable,
)
from checklist_crds.secrets.sealing import KeyRing
from checklist_crds.values.json_text import JsonObject

from ..console.command import CommandFailed
from .objects import Wanted, difference, is_untouched, status_difference

_RETRY_DELAYS_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)

T = TypeVar("T")


class Placed(StrEnum):
    MADE = "made"
    COMPLETED = "completed"
    """It was present without its status."""
    PRESENT = "present"


class InTheWay(CommandFailed):
    """An object of the same name with other content is in the cluster."""


class Placing:
    """Methods raise KubeError, InTheWay and CommandFailed."""

    def __init__(self, client: KubeClient, ring: KeyRing | None) -> None:
        self._client = client
        self._ring = ring

    async def place(self, wanted: Wanted, *, expected_there: bool = False) -> Placed:
        """Create the object or verify the existing one. `expected_there`: look for it before creating it."""
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
                raise CommandFailed(f"{wanted}: {error.message[:200]}; create the namespace first") from None
        else:
            placed = Placed.PRESENT
        if body is None:
            raise CommandFailed(f"{wanted} appears and disappears: another client is changing this cluster")
        if (where := difference(wanted, body, self._ring)) is not None:
            if placed is Placed.MADE:
                raise _outdated_definitions(where, wanted)
            raise _in_the_way(where, wanted)
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
        """The object with its status, and whether the status was written now."""
        for _ in range(3):
            where = status_difference(wanted, body)
            if where is None:
                return body, False
            if not is_untouched(body):
                raise _in_the_way(where, wanted)
            # Conditional on the version created or read above, so that another writer's status is not overwritten.
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
                raise _outdated_definitions(where, wanted)
            return body, True
        raise CommandFailed(f"{wanted} changes while it is restored: another client is changing this cluster")

    async def _managers(self, wanted: Wanted, body: JsonObject) -> None:
        """Keep GitOps appliers as managers, so that fields they drop later are removed."""
        theirs = {(one.get("manager"), one.get("operation")) for one in body["metadata"].get("managedFields") or ()}
        missing = [one for one in wanted.managers if (one.get("manager"), one.get("operation")) not in theirs]
        if not missing:
            return
        # Without our own entry: a field with two owners would not be removed.
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


def _outdated_definitions(where: str, wanted: Wanted) -> CommandFailed:
    return CommandFailed(
        f"the cluster's definitions lack {where} of {wanted}: update them to those of the backup first "
        "(docs/install.md)"
    )


def _in_the_way(where: str, wanted: Wanted) -> InTheWay:
    return InTheWay(f"{wanted} exists with other content (at {where}); it was not changed")


async def patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """Retry the idempotent `attempt` while the cluster is unavailable, for up to 15.5 s. Raises KubeUnavailable."""
    for pause_s in _RETRY_DELAYS_S:
        try:
            return await attempt()
        except (KubeUnavailable, KubeGone):  # gone: a list expired while it was read
            await asyncio.sleep(pause_s)
    return await attempt()
