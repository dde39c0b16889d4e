"""A page that follows changes: reads server-sent events as a browser does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
from tests.waiting import WITHIN_S

from checklist_dev.local.people import Person

from .conftest import Api


@dataclass
class Said:
    """One event: its name, its data, and the id at which the stream stands after it."""

    name: str
    data: str
    id: str

    @property
    def changes(self) -> list[dict[str, Any]]:
        return list(orjson.loads(self.data)) if self.name == "changes" else []


@dataclass
class LiveViewer:
    """An open stream. `last_id` is what a browser would come back with."""

    response: aiohttp.ClientResponse
    last_id: str = ""
    seen: list[Said] = field(default_factory=list)

    async def next(self) -> Said:
        """The next event. Raises EOFError when the stream has ended."""
        name, data = "", []
        while True:
            line = await self.response.content.readline()
            if not line:
                raise EOFError
            text = line.decode().rstrip("\n")
            if text:
                field_name, _, value = text.partition(": ")
                if field_name == "event":
                    name = value
                elif field_name.rstrip(":") == "data":
                    data.append(value)
                elif field_name == "id":
                    self.last_id = value
            elif name:
                self.seen.append(Said(name, "\n".join(data), self.last_id))
                return self.seen[-1]

    async def until(self, name: str, *, within_s: float = WITHIN_S) -> Said:
        async with asyncio.timeout(WITHIN_S):
            while (said := await self.next()).name != name:
                pass
            return said

    async def change_of(self, kind: str) -> dict[str, Any]:
        async with asyncio.timeout(WITHIN_S):
            while True:
                for change in (await self.next()).changes:
                    if change["kind"] == kind:
                        return change

    async def all_until(self, kind: str, object_id: str) -> list[dict[str, Any]]:
        """All changes, up to the one of that object."""
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(WITHIN_S):
            while (kind, object_id) not in {(change["kind"], change["id"]) for change in found}:
                found += (await self.next()).changes
        return found

    async def end(self) -> str:
        """Why the stream ended; empty when it did without a word."""
        async with asyncio.timeout(WITHIN_S):
            try:
                while True:
                    await self.next()
            except (EOFError, aiohttp.ClientError):
                return self.seen[-1].data if self.seen and self.seen[-1].name == "end" else ""


@asynccontextmanager
async def watching(
    api: Api, person: Person, *, last_event_id: str = "", query: dict[str, str] | None = None
) -> AsyncIterator[LiveViewer]:
    headers = person.headers | ({"Last-Event-ID": last_event_id} if last_event_id else {})
    url = f"{api.base_url}/dashboard/api/{person.organization_id}/events"
    timeout = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(trust_env=False, timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as http,
        http.get(url, headers=headers, params=query or {}) as response,
    ):
        yield LiveViewer(response)
