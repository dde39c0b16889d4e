"""A person at a browser, by HTTP: keeps cookies as a browser does, and says what it says of a page's requests."""

from dataclasses import dataclass, field
from http.cookies import Morsel, SimpleCookie
from typing import Any

import httpx

from checklist_api.dashboard.access import COOKIE, CSRF_HEADER

OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}


@dataclass
class PersonAt:
    """One browser at one service. `cookies`: what it sends; `set_cookies`: the last answer's, with attributes."""

    http: httpx.AsyncClient
    cookies: dict[str, str] = field(default_factory=dict)
    set_cookies: dict[str, "Morsel[str]"] = field(default_factory=dict)
    csrf: str = ""
    agent: str = "Browser/1.0"

    async def request(
        self, method: str, path: str, *, json: Any = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """`path` follows /dashboard/api."""
        url = path if path.startswith("/dashboard/") else f"/dashboard/api/{path}"
        sent = {"User-Agent": self.agent, **OWN_PAGE, CSRF_HEADER: self.csrf, **(headers or {})}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        response = await self.http.request(method, url, json=json, headers=sent)
        self._keep(response)
        return response

    async def get(self, path: str, **given: Any) -> httpx.Response:
        return await self.request("GET", path, **given)

    async def post(self, path: str, json: Any = None, **given: Any) -> httpx.Response:
        return await self.request("POST", path, json=json, **given)

    async def delete(self, path: str, **given: Any) -> httpx.Response:
        return await self.request("DELETE", path, **given)

    def assert_host_cookie(self, name: str) -> None:
        """The last answer set a cookie that no script and no other site gets."""
        cookie = self.set_cookies[name]
        assert name.startswith("__Host-")
        flags = (cookie["secure"], cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"])
        assert flags == (True, True, "Lax", "/", "")

    async def session(self) -> dict[str, Any]:
        """What the page learns when it is loaded; afterwards writes are possible."""
        response = await self.get("session")
        assert response.status_code == 200, response.text
        self.csrf = response.json()["csrf_token"]
        return dict(response.json())

    async def is_signed_in(self) -> bool:
        return (await self.get("session")).status_code == 200

    async def is_out(self) -> bool:
        return not await self.is_signed_in()

    @property
    def secret(self) -> str | None:
        return self.cookies.get(COOKIE)

    def _keep(self, response: httpx.Response) -> None:
        self.set_cookies = {}
        for header in response.headers.get_list("Set-Cookie"):
            for name, morsel in SimpleCookie(header).items():
                self.set_cookies[name] = morsel
                if morsel["max-age"] == "0" or not morsel.value:
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value
