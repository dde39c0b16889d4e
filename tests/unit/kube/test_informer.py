"""The local copy of one kind: in which order changes may arrive."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

from checklist_crds.kube.client import KubeClient, WatchEvent
from checklist_crds.kube.errors import KubeGone
from checklist_crds.kube.informer import Informer
from checklist_crds.resources.kinds import API_KEY, version_of
from checklist_crds.values.json_text import JsonObject


def an_object(version: int) -> JsonObject:
    return {"metadata": {"namespace": "n", "name": "k", "resourceVersion": str(version)}}


class _Server:
    """What is listed, and the events of the watch."""

    def __init__(self) -> None:
        self.listed: tuple[list[JsonObject], str] = ([an_object(10)], "10")
        self.events: asyncio.Queue[WatchEvent | KubeGone] = asyncio.Queue()

    def places(self, *_: Any) -> tuple[None]:
        return (None,)

    async def pages(self, *_: Any, **__: Any) -> AsyncIterator[tuple[list[JsonObject], str]]:
        yield self.listed

    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[WatchEvent]:
        while True:
            event = await self.events.get()
            if isinstance(event, KubeGone):
                raise event
            yield event


class _Copy:
    """The version that the handler saw last; None after a deletion."""

    def __init__(self, server: _Server) -> None:
        self.version: int | None = None
        self.informer = Informer(cast(KubeClient, server), API_KEY, self._apply)

    def _apply(self, change: str, body: JsonObject) -> None:
        self.version = None if change == "DELETE" else version_of(body)

    async def reaches(self, version: int | None) -> None:
        async with asyncio.timeout(5):
            while self.version != version:
                await asyncio.sleep(0.01)


async def test_an_older_answer_does_not_bring_a_deleted_object_back() -> None:
    server = _Server()
    copy = _Copy(server)
    following = asyncio.create_task(copy.informer.run())
    await copy.reaches(10)
    server.events.put_nowait(WatchEvent("DELETED", an_object(12)))
    await copy.reaches(None)
    copy.informer.observe(an_object(11))  # the answer to a write before the deletion
    assert copy.version is None
    copy.informer.observe(an_object(13))
    assert copy.version == 13, "it was made again"

    server.listed = [], "15"
    server.events.put_nowait(KubeGone("too old"))
    await copy.reaches(None)
    copy.informer.observe(an_object(14))
    assert copy.version is None
    server.events.put_nowait(WatchEvent("ADDED", an_object(16)))
    await copy.reaches(16)
    following.cancel()
