"""Connects the watches of the process to its hub. No watch is opened for viewers.

Runs and deliveries are told by their indexes, which know what lists show of them; the others by their informers.
"""

from collections.abc import Callable
from typing import Final

from checklist_crds.ids import object_id
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.informer import Handler, Informer, Key, key_of
from checklist_crds.resources.replay import ReplayPhase
from checklist_crds.resources.template import TemplateMeta
from checklist_crds.times import Clock

from ...auth.keys import KeyDirectory
from ...auth.members import MemberDirectory
from ...deliveries.replays import ReplayDirectory
from ...index.deliveries import DeliveryIndex
from ...index.delivery_history import Event
from ...index.runs import RunIndex, RunNews
from ...templates.catalogue import TemplateCatalogue
from .changes import LiveChange, LiveKind
from .hub import LiveHub

_UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError)
_Read = Callable[[JsonObject, str], LiveChange]
"""From an object and the name of its organization."""


def feed(
    hub: LiveHub,
    *,
    runs: RunIndex,
    deliveries: DeliveryIndex,
    replays: ReplayDirectory,
    templates: TemplateCatalogue,
    keys: KeyDirectory,
    members: MemberDirectory,
    clock: Clock,
) -> None:
    """From now on the hub hears of everything that they hear of."""

    def tell_of_run(news: RunNews) -> None:
        if not hub.is_watched(news.organization):
            return
        status = news.status_at(clock())
        more = None if status is None else {"status": status, "progress": news.progress()}
        hub.add(news.organization, LiveChange(LiveKind.RUN, news.run_id, news.namespace, status is None, more))

    def tell_of_delivery(event: Event, status: str | None) -> None:
        if not hub.is_watched(event.organization):
            return
        more = {"run_id": event.run_id} if status is None else {"run_id": event.run_id, "status": status}
        change = LiveChange(LiveKind.DELIVERY, event.event_id, event.namespace, status is None, more)
        hub.add(event.organization, change)

    runs.tell_news(tell_of_run)
    deliveries.tell_news(tell_of_delivery)
    owned: tuple[tuple[Informer, _Read], ...] = (
        (replays.informer, _replay),
        (templates.informer, _template),
        (keys.informer, _key),
        (members.informer, _member),
    )
    for informer, read in owned:
        informer.add_handler(_teller(hub, read))


def _teller(hub: LiveHub, read: _Read) -> Handler:
    """A handler that remembers what each object was, since of one that is gone often only the name is told."""
    known: dict[Key, tuple[str, LiveChange]] = {}

    def tell(change: str, body: JsonObject) -> None:
        key = key_of(body)
        before = known.pop(key, None)
        after: tuple[str, LiveChange] | None = None
        if change != "DELETE":
            try:
                organization = str(body["spec"]["organizationRef"]["name"])
                after = organization, read(body, organization)
            except _UNREADABLE:
                after = None  # whoever shows such objects tells of it
        if after is not None:
            known[key] = after
            hub.add(*after)
        if before is not None and (after is None or _subject(after) != _subject(before)):
            organization, was = before
            hub.add(organization, LiveChange(was.kind, was.id, was.namespace, gone=True))

    return tell


def _subject(told: tuple[str, LiveChange]) -> tuple[str, str]:
    return told[0], told[1].id


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
