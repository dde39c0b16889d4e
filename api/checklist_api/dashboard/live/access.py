"""Ends streams whose session, account, role, membership or organization is gone.

Each stream revalidates at every heartbeat, and at once when a watch brings a change that may concern it. Sessions
without a watch (Redis) are polled together, more often.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Final

from checklist_crds.errors import ServiceError
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.informer import Handler, Informer

from ..sessions.store import object_name
from .hub import LiveHub, Viewer

_ASKED_EVERY_S: Final = 0.6


def revalidate_on_change(
    hub: LiveHub, *, members: Informer, organizations: Informer, accounts: Informer, sessions: Informer | None
) -> None:
    """Revalidates streams when one of these watches brings a change that concerns them.

    `sessions`: None where there is no watch of them.
    """

    def member(_: str, body: JsonObject) -> None:
        # Of a deleted one only the name may be known; viewers are few, and members hardly ever change.
        organization = ((body.get("spec") or {}).get("organizationRef") or {}).get("name")
        _revalidate(hub.viewers(organization))

    generations: dict[str, int | None] = {}

    def organization(change: str, body: JsonObject) -> None:
        # Its status counts every run that is dispatched, and says nothing of who may look.
        name, generation = body["metadata"]["name"], body["metadata"].get("generation")
        before = generations.pop(name, None)
        if change != "DELETE":
            generations[name] = generation
        if change == "DELETE" or generation is None or generation != before:
            _revalidate(hub.viewers(name))

    def account(_: str, body: JsonObject) -> None:
        _revalidate(viewer for viewer in hub.viewers() if viewer.subject == body["metadata"]["name"])

    def session(change: str, body: JsonObject) -> None:
        if change == "DELETE":
            _revalidate(viewer for viewer in hub.viewers() if object_name(viewer.session) == body["metadata"]["name"])

    handlers: tuple[tuple[Informer | None, Handler], ...] = (
        (members, member),
        (organizations, organization),
        (accounts, account),
        (sessions, session),
    )
    for informer, handler in handlers:
        if informer is not None:
            informer.add_handler(handler)


async def revalidate_by_polling(hub: LiveHub, are_there: Callable[[Collection[str]], Awaitable[bool]]) -> None:
    """For sessions without a watch: asks for all of them at once, every 0.6 seconds, until cancelled."""
    while True:
        await asyncio.sleep(_ASKED_EVERY_S)
        try:
            changed = not await are_there({viewer.session for viewer in hub.viewers()})
        except ServiceError:
            changed = True
        if changed:
            _revalidate(hub.viewers())


def _revalidate(viewers: Iterable[Viewer]) -> None:
    for viewer in viewers:
        viewer.revalidate()
