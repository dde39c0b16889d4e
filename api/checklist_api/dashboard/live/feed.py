"""Feeds the hub from the informers and indexes of the process. Viewers open no watch.

Changes of runs and deliveries come from their indexes, which know the list rows; all others from informers.
"""

from collections.abc import Callable
from typing import Final

from checklist_crds.ids import object_id
from checklist_crds.kube.informer import Handler, Informer
from checklist_crds.resources.kinds import Key, key_of
from checklist_crds.resources.replay import ReplayPhase
from checklist_crds.resources.template import TemplateMeta
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject

from ...auth.keys import KeyDirectory
from ...auth.members import MemberDirectory
from ...deliveries.replays import ReplayDirectory
from ...index.deliveries import DeliveryIndex
from ...index.delivery_history import Event
from ...index.runs import RowChange, RunIndex
from ...organizations.directory import OrganizationDirectory
from ...templates.catalogue import TemplateCatalogue
from .hub import LiveHub
from .live_changes import LiveChange, LiveKind

_UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError)
_Read = Callable[[JsonObject, str], LiveChange]
"""Parses an object; the second argument is the name of its organization."""


def feed(
    hub: LiveHub,
    *,
    organizations: OrganizationDirectory,
    runs: RunIndex,
    deliveries: DeliveryIndex,
    replays: ReplayDirectory,
    templates: TemplateCatalogue,
    keys: KeyDirectory,
    members: MemberDirectory,
    clock: Clock,
) -> None:
    """Register the handlers that add changes to `hub`."""

    def add_run(changed: RowChange) -> None:
        if not hub.is_watched(changed.organization):
            return
        status = changed.status_at(clock())
        more = (
            None if status is None else {"status": status, "progress": changed.progress(), "flagged": changed.flagged}
        )
        hub.add(changed.organization, LiveChange(LiveKind.RUN, changed.run_id, changed.namespace, status is None, more))

    def add_delivery(event: Event, status: str | None) -> None:
        if not hub.is_watched(event.organization):
            return
        more = {"run_id": event.run_id} if status is None else {"run_id": event.run_id, "status": status}
        change = LiveChange(LiveKind.DELIVERY, event.event_id, event.namespace, status is None, more)
        hub.add(event.organization, change)

    runs.add_listener(add_run)
    deliveries.add_listener(add_delivery)
    owned: tuple[tuple[Informer, _Read], ...] = (
        (replays.informer, _replay),
        (templates.informer, _template),
        (keys.informer, _key),
        (members.informer, _member),
    )
    for informer, read in owned:
        informer.add_handler(_handler(hub, organizations, read))


def _handler(hub: LiveHub, organizations: OrganizationDirectory, read: _Read) -> Handler:
    """Return a handler that caches the last change of each object, because a deletion may carry only the name.

    An object that names an organization from a namespace of another one is ignored: it is shown by no list.
    """
    known: dict[Key, tuple[str, LiveChange]] = {}

    def add(organization: str, change: LiveChange) -> None:
        if organizations.uses(organization, change.namespace):
            hub.add(organization, change)

    def handle(change: str, body: JsonObject) -> None:
        key = key_of(body)
        before = known.pop(key, None)
        after: tuple[str, LiveChange] | None = None
        if change != "DELETE":
            try:
                organization = str(body["spec"]["organizationRef"]["name"])
                after = organization, read(body, organization)
            except _UNREADABLE:
                after = None  # unreadable objects are shown by no list
        if after is not None:
            known[key] = after
            add(*after)
        if before is not None and (after is None or _subject(after) != _subject(before)):
            organization, was = before
            add(organization, LiveChange(was.kind, was.id, was.namespace, gone=True))

    return handle


def _subject(entry: tuple[str, LiveChange]) -> tuple[str, str]:
    return entry[0], entry[1].id


def _replay(body: JsonObject, _: str) -> LiveChange:
    namespace, name = key_of(body)
    phase = ReplayPhase((body.get("status") or {}).get("phase") or ReplayPhase.PENDING)
    return LiveChange(LiveKind.REPLAY, name, namespace, more={"status": phase.rest})


def _template(body: JsonObject, _: str) -> LiveChange:
    return LiveChange(LiveKind.TEMPLATE, TemplateMeta.of(body).id, key_of(body)[0])


def _key(body: JsonObject, _: str) -> LiveChange:
    namespace, name = key_of(body)
    return LiveChange(LiveKind.KEY, name, namespace)


def _member(body: JsonObject, organization: str) -> LiveChange:
    namespace, name = key_of(body)
    return LiveChange(LiveKind.MEMBER, object_id("u", name, organization), namespace)
