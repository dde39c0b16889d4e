"""Ends streams whose session, account, role, membership or organization has gone.

Each stream revalidates at every heartbeat, and at once on a watch event that may concern it. Sessions without a watch
(Redis) are polled together at a shorter interval.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Final

from checklist_crds.errors import ServiceError
from checklist_crds.kube.informer import Handler, Informer
from checklist_crds.values.json_text import JsonObject

from ..sessions.store import object_name
from .hub import LiveHub, Viewer

_POLL_INTERVAL_S: Final = 0.6


def revalidate_on_change(
    hub: LiveHub, *, members: Informer, organizations: Informer, accounts: Informer, sessions: Informer | None
) -> None:
    """Revalidate streams on watch events that concern them.

    `sessions`: None if sessions have no watch.
    """

    def member(_: str, body: JsonObject) -> None:
        # A deletion may carry only the name. There are few viewers, and members rarely change.
        organization = ((body.get("spec") or {}).get("organizationRef") or {}).get("name")
        _revalidate(hub.viewers(organization))

    generations: dict[str, int | None] = {}

    def organization(change: str, body: JsonObject) -> None:
        # Status changes (counted runs) do not affect access.
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


async def revalidate_by_polling(hub: LiveHub, all_exist: Callable[[Collection[str]], Awaitable[bool]]) -> None:
    """Revalidate all streams when any session has ended, by polling every 0.6 seconds until cancelled."""
    while True:
        await asyncio.sleep(_POLL_INTERVAL_S)
        try:
            changed = not await all_exist({viewer.session for viewer in hub.viewers()})
        except ServiceError:
            changed = True
        if changed:
            _revalidate(hub.viewers())


def _revalidate(viewers: Iterable[Viewer]) -> None:
    for viewer in viewers:
        viewer.revalidate()
