"""A synchronous client of the REST API for developer tools."""

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from checklist_dev.failures import Failure

Json = dict[str, Any]


class Rest:
    """Sends `api_key` with each request that has no `Authorization` of its own."""

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(base_url=base_url, headers=headers, timeout=30, trust_env=False)

    def ask(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Any response. Raises Failure if there is none."""
        try:
            return self._client.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise Failure(f"{method} {path}: {error or type(error).__name__}") from error

    def call(self, method: str, path: str, **arguments: Any) -> Json:
        """The body of the response. Raises Failure with the service's message for an error."""
        response = self.ask(method, path, **arguments)
        if response.is_error:
            where = re.sub("[0-9a-f-]{36}", "...", path)
            raise Failure(f"{method} {where} answered {response.status_code}: {_message(response)}")
        found: Json = response.json() if response.content else {}
        return found

    def create_template(self, definition: Mapping[str, Any]) -> str:
        """Create a template; returns its id."""
        return str(self.call("POST", "/v1/templates", json=dict(definition))["id"])

    def dispatch(self, template_id: str, **members: Any) -> Json:
        """Dispatch a run; returns `{run_id, link, expires_at, assigned_to}`. `members`: fields of `POST /v1/runs`."""
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
