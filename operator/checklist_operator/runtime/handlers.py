"""Kopf's handlers: forward watch events to the controllers.

Only `on.event` is used. Kopf's other handlers (on.create, timers, daemons, finalizers) keep their state in the objects
and would write to each of them; here Kopf writes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import aiohttp
import kopf

from checklist_crds.kube.client import KubeConnection
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_crds.resources.kinds import (
    API_KEY,
    DELIVERY_REPLAY,
    MEMBER,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    WEBHOOK_DELIVERY,
    Key,
    Kind,
    key_of,
    version_of,
)
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.watch_lines import WatchResponse

WATCHED: Final = (ORGANIZATION, TEMPLATE, MEMBER, API_KEY, RUN, WEBHOOK_DELIVERY, DELIVERY_REPLAY)
SELECTED: Final = dict.fromkeys((RUN, WEBHOOK_DELIVERY, DELIVERY_REPLAY), "status.settled!=true")
"""Settled objects are not watched. An object that becomes settled is reported as DELETED, in its previous state."""

Observe = Callable[[Kind, str | None, JsonObject], None]
"""Called with the kind, the event type (None in the initial list, else ADDED, MODIFIED or DELETED) and the object."""

_AGAIN_AFTER_S: Final = 1.0
_RECONNECT_S: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_MOST_RECENT: Final = 4096
_RECENT_S: Final = 60.0


class _Forever:
    """Endless backoff: an outage of the API server must not end Kopf."""

    def __iter__(self) -> Any:
        yield from _RECONNECT_S
        while True:
            yield _RECONNECT_S[-1]


class _NoDiffBase(kopf.DiffBaseStorage):
    """Stores no "last handled configuration": `on.event` needs none, and building one copies every object."""

    def build(self, **_: Any) -> Any:
        return {}

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None


class _NoProgress(kopf.ProgressStorage):
    """Stores no progress of handlers in annotations or status."""

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None

    def purge(self, **_: Any) -> None:
        return None

    def touch(self, **_: Any) -> None:
        return None

    def clear(self, *, essence: Any) -> Any:
        return essence


class _Successors:
    """Finds late events of an object that was replaced by another one of the same name: Kopf keeps the order of the
    events of each object, but the old one's deletion may come after the new one's creation."""

    def __init__(self) -> None:
        self._recent: TTLCache[tuple[Kind, Key], tuple[str, int]] = TTLCache(_MOST_RECENT, ttl_s=_RECENT_S)

    def is_late(self, kind: Kind, body: JsonObject) -> bool:
        name, uid, version = (kind, key_of(body)), body["metadata"]["uid"], version_of(body)
        known = self._recent.get(name)
        if known is not None and known[0] != uid and version < known[1]:
            return True
        self._recent.put(name, (uid, version))
        return False


def kopf_settings() -> kopf.OperatorSettings:
    """Configures Kopf to watch only: no writes, no batching delay, no rediscovery, no exit."""
    settings = kopf.OperatorSettings()
    settings.persistence.diffbase_storage = _NoDiffBase()
    settings.persistence.progress_storage = _NoProgress()
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.scanning.disabled = True
    settings.process.ultimate_exiting_timeout = None
    settings.watching.initial_streaming = True
    settings.watching.reconnect_backoff = 0.05
    settings.watching.connect_timeout = 5.0
    settings.networking.connect_timeout = 5.0
    settings.networking.request_timeout = 15.0
    settings.networking.error_backoffs = _Forever()
    # An idle worker costs memory, and after the initial list there is one for each object.
    settings.queueing.idle_timeout = 0.05
    settings.queueing.exit_timeout = 0.2
    settings.execution.default_backoff = 2.0  # for failed logins
    for kind, selector in SELECTED.items():
        settings.watching.field_selectors[kind.group, kind.version, kind.plural] = selector
    return settings


def kopf_registry(observe: Observe) -> kopf.OperatorRegistry:
    """Registers a login handler, and an `on.event` handler for each kind."""
    registry = kopf.OperatorRegistry()
    kinds: Mapping[str, Kind] = {kind.plural: kind for kind in WATCHED}
    successors = _Successors()

    async def forward(event: Mapping[str, Any], resource: Any, **_: Any) -> None:
        kind, body = kinds[resource.plural], event["object"]
        if not successors.is_late(kind, body):
            observe(kind, event["type"], body)

    for kind in WATCHED:
        kopf.on.event(kind.group, kind.version, kind.plural, id=kind.plural, registry=registry)(forward)
    kopf.on.login(registry=registry, id="login")(_login())
    return registry


def _login() -> Callable[..., Awaitable[kopf.AiohttpSession]]:
    """Loads the operator's credentials: kubeconfig (tokens, client certificates) or service account.

    They are loaded again at each login, because Kopf asks for new ones when they stop working.
    """
    last = float("-inf")

    async def log_in(**_: Any) -> kopf.AiohttpSession:
        nonlocal last
        clock = asyncio.get_running_loop().time
        if clock() - last < _AGAIN_AFTER_S:
            await asyncio.sleep(_AGAIN_AFTER_S)  # no tight loop with wrong credentials
        last = clock()
        connection = await KubeConnection.load()
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=connection.tls or True),
            headers={**connection.headers(), "User-Agent": "checklist-dispatch-operator"},
            trust_env=False,
            read_bufsize=2**20,
            response_class=WatchResponse,
        )
        return kopf.AiohttpSession(server=connection.server, aiohttp_session=session)

    return log_in
