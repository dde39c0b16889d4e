"""The REST API for developer tools that do one thing after the other."""

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from checklist_dev.failures import Failure

Json = dict[str, Any]


class Rest:
    """`api_key` is sent with each request, unless the request has an `Authorization` of its own."""

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(base_url=base_url, headers=headers, timeout=30, trust_env=False)

    def ask(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Whatever it is answered with. Raises Failure when nobody answers."""
        try:
            return self._client.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise Failure(f"{method} {path}: {error or type(error).__name__}") from error

    def call(self, method: str, path: str, **arguments: Any) -> Json:
        """The body of the answer. Raises Failure with the service's own message when it is a refusal."""
        response = self.ask(method, path, **arguments)
        if response.is_error:
            where = re.sub("[0-9a-f-]{36}", "...", path)
            raise Failure(f"{method} {where} answered {response.status_code}: {_message(response)}")
        found: Json = response.json() if response.content else {}
        return found

    def create_template(self, definition: Mapping[str, Any]) -> str:
        """Its id."""
        return str(self.call("POST", "/v1/templates", json=dict(definition))["id"])

    def dispatch(self, template_id: str, **members: Any) -> Json:
        """`{run_id, link, expires_at, assigned_to}`; `members` as `POST /v1/runs` takes them."""
        return self.call("POST", "/v1/runs", json={"template_id": template_id, **members})

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _message(response: httpx.Response) -> str:
    try:
        body = response.json()
        return f"{body['error']}: {body['message']}; {str(body.get('details', ''))[:300]}".removesuffix("; ")
    except (ValueError, KeyError, TypeError):
        return response.text[:200] or "no body"
