"""A member who is signed in, as a browser on our own page calls the dashboard's API."""

from dataclasses import dataclass
from typing import Any

import httpx
from tests.waiting import eventually

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
