"""Streams end when what let them in is gone: the session, the account, the role, the membership, the organization.

Each stream looks at every beat. So that none goes on for longer than a moment, whatever the watches bring that may
matter makes it look at once. For sessions that no watch tells of (Redis) one question is asked for all, more often.
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


def doubt_when_told(
    hub: LiveHub, *, members: Informer, organizations: Informer, accounts: Informer, sessions: Informer | None
) -> None:
    """From now on viewers look whether they may go on when one of these watches brings something of them.

    `sessions`: None where no watch tells of them.
    """

    def member(_: str, body: JsonObject) -> None:
        # Of one that is gone only the name may be told; viewers are few, and members hardly ever change.
        organization = ((body.get("spec") or {}).get("organizationRef") or {}).get("name")
        _doubt(hub.viewers(organization))

    generations: dict[str, int | None] = {}

    def organization(change: str, body: JsonObject) -> None:
        # Its status counts every run that is dispatched, and says nothing of who may look.
        name, generation = body["metadata"]["name"], body["metadata"].get("generation")
        before = generations.pop(name, None)
        if change != "DELETE":
            generations[name] = generation
        if change == "DELETE" or generation is None or generation != before:
            _doubt(hub.viewers(name))

    def account(_: str, body: JsonObject) -> None:
        _doubt(viewer for viewer in hub.viewers() if viewer.subject == body["metadata"]["name"])

    def session(change: str, body: JsonObject) -> None:
        if change == "DELETE":
            _doubt(viewer for viewer in hub.viewers() if object_name(viewer.session) == body["metadata"]["name"])

    told: tuple[tuple[Informer | None, Handler], ...] = (
        (members, member),
        (organizations, organization),
        (accounts, account),
        (sessions, session),
    )
    for informer, handler in told:
        if informer is not None:
            informer.also_tell(handler)


async def doubt_when_gone(hub: LiveHub, are_there: Callable[[Collection[str]], Awaitable[bool]]) -> None:
    """For sessions whose end nobody tells: asks for all of them at once, again and again. Until cancelled."""
    while True:
        await asyncio.sleep(_ASKED_EVERY_S)
        try:
            doubt = not await are_there({viewer.session for viewer in hub.viewers()})
        except ServiceError:
            doubt = True
        if doubt:
            _doubt(hub.viewers())


def _doubt(viewers: Iterable[Viewer]) -> None:
    for viewer in viewers:
        viewer.doubt()
