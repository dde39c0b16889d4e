"""The provider that is not ours, as a process, and a person who signs in there with its own pages."""

import json
import re
import subprocess
from html import unescape
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import httpx
from joserfc.jwk import KeySet

from checklist_dev.system.ports import free_ports

from .person import PersonAt

SERVICE = "https://checklists.example"
"""CHECKLISTS_BASE_URL of the APIs in these tests."""
CLIENT = {
    "id": "checklists",
    "secret": "a secret of the tests: with & and %",
    "redirect_uri": f"{SERVICE}/dashboard/api/sign-in/oidc/callback",
    "post_logout_redirect_uri": f"{SERVICE}/dashboard/sign-in",
}
_FIELD = re.compile(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"')


def new_keys(algorithm: str = "RS256") -> dict[str, Any]:
    kind: tuple[str, Any] = {"RS256": ("RSA", 2048), "PS256": ("RSA", 2048), "ES256": ("EC", "P-256")}[algorithm]
    parameters: Any = {"alg": algorithm, "use": "sig"}
    return dict(KeySet.generate_key_set(*kind, parameters=parameters, count=1).as_dict(private=True))


class RealProvider:
    """One that can be stopped, and started again with other keys at the same address."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self.port = free_ports(1)[0]
        self.issuer = f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "CHECKLISTS_OIDC_ISSUER": self.issuer,
            "CHECKLISTS_OIDC_CLIENT_ID": CLIENT["id"],
            "CHECKLISTS_OIDC_CLIENT_SECRET": CLIENT["secret"],
        }

    def start(self, *, keys: dict[str, Any] | None = None, service: str = SERVICE) -> Self:
        """`service`: the base URL of the service that is its client."""
        client = {name: value.replace(SERVICE, service) for name, value in CLIENT.items()}
        given = {"port": self.port, "jwks": keys or new_keys(), "client": client}
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.strip() == "ready":
                return self
        assert self._process.stderr is not None
        raise AssertionError(self._process.stderr.read())

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


async def visit_provider(address: str, login: str, http: httpx.AsyncClient) -> str:
    """Sign in as `login` with the provider's own pages; the address at which the service is called back."""
    response = await http.get(address)
    for _ in range(12):
        if response.is_redirect:
            onward = urljoin(str(response.url), response.headers["Location"])
            if onward.startswith(SERVICE):
                return onward
            response = await http.get(onward)
            continue
        assert response.status_code == 200, response.text
        action = re.search(r'<form[^>]*action="([^"]+)"', response.text)
        assert action, response.text
        form = {name: unescape(value) for name, value in _FIELD.findall(response.text)}
        if form.get("prompt") == "login":
            form |= {"login": login, "password": "whatever"}
        response = await http.post(urljoin(str(response.url), unescape(action[1])), data=form)
    raise AssertionError("the provider asks and asks")


def below_service(address: str) -> str:
    """Path and query."""
    parts = urlsplit(address)
    assert f"{parts.scheme}://{parts.netloc}" == SERVICE
    return f"{parts.path}?{parts.query}"


async def begin(person: PersonAt, return_to: str | None = None) -> str:
    """The provider's address that the service sends the browser to."""
    query = f"?return_to={return_to}" if return_to else ""
    response = await person.get(f"sign-in/oidc{query}", headers={"Sec-Fetch-Site": "none"})
    assert response.status_code == 303, response.text
    return str(response.headers["Location"])


async def sign_in_at(person: PersonAt, login: str, return_to: str | None = None) -> httpx.Response:
    """The whole way; the answer of the callback."""
    address = await begin(person, return_to)
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        callback = await visit_provider(address, login, http)
    return await person.get(below_service(callback), headers={"Sec-Fetch-Site": "cross-site"})
