"""A signed-in member: calls of the dashboard's API, and its stream of changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import httpx
import orjson
from tests.waiting import WITHIN_S, eventually

from checklist_dev.local.people import Person, sign_in

from .conftest import Account, Api


@dataclass(frozen=True)
class Desk:
    """`await desk.get("/keys")` is GET /dashboard/api/{org_id}/keys with cookie and CSRF token."""

    person: Person
    http: httpx.AsyncClient
    headers: dict[str, str]

    @property
    def member_id(self) -> str:
        return self.person.member_id

    def path(self, path: str) -> str:
        return f"/dashboard/api/{self.person.organization_id}{path}"

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        sent = {"json": body} if body is not None else {}
        return await self.http.request(method, self.path(path), headers={**self.headers, **headers}, **sent)

    async def get(self, path: str) -> httpx.Response:
        return await self.call("GET", path)

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.call("POST", path, body, **headers)

    async def patch(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return await self.call("PATCH", path, body, **headers)

    async def delete(self, path: str, **headers: str) -> httpx.Response:
        return await self.call("DELETE", path, **headers)

    async def read(self, path: str) -> Any:
        response = await self.get(path)
        assert response.status_code == 200, response.text
        return response.json()


async def at_desk(api: Api, role: str = "admin", *, account: Account | None = None, **more: Any) -> Desk:
    """A member with `role` in the organization of `account` (of the API's own one, without), who is signed in.

    The member is made in the cluster, and the API reads members from a watch: returns when the API has seen it.
    """
    owner = account or api.account
    person = await sign_in(
        api.kube,
        organization=owner.organization,
        namespace=owner.namespace,
        role=role,
        installation_namespace=api.account.namespace,
        **more,
    )

    async def token_once_seen() -> str:
        response = await api.anonymous.get("/dashboard/api/session", headers=person.headers)
        session = response.json() if response.status_code == 200 else {"organizations": []}
        is_seen = person.member_id in {organization["member_id"] for organization in session["organizations"]}
        return str(session["csrf_token"]) if is_seen else ""

    return Desk(person, api.anonymous, person.csrf_headers(await eventually(token_once_seen)))


async def member_of(api: Api, role: str = "admin", *, account: Account | None = None, **more: Any) -> Person:
    return (await at_desk(api, role, account=account, **more)).person


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
