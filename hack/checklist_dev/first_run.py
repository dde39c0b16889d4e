"""The first use of a service that has just started: a template, and a run dispatched to nobody in particular."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from checklist_dev.failures import Failure
from checklist_dev.repository import TEMPLATES

EXAMPLE = TEMPLATES / "restaurant-opening.json"
BUILT_IN: dict[str, Any] = {
    "name": "Kitchen opening",
    "description": "Before the first guest: cold store, surfaces, hand-wash basin.",
    "settings": {"allow_skip": True, "est_minutes": 3},
    "sections": [
        {
            "id": "g-kitchen",
            "title": "Kitchen",
            "steps": [
                {
                    "id": "s-fridge",
                    "type": "number",
                    "label": "Temperature of the cold store",
                    "required": True,
                    "config": {"unit": "°C", "min": -30, "max": 30, "decimals": 1},
                },
                {"id": "s-clean", "type": "boolean", "label": "All surfaces are clean", "required": True},
                {"id": "s-basin", "type": "boolean", "label": "Soap and towels at the hand-wash basin"},
            ],
        }
    ],
}


class Rest:
    """The few REST calls that the developer tools make. Raises Failure with the service's own message."""

    def __init__(self, base_url: str, api_key: str) -> None:
        self._client = httpx.Client(
            base_url=base_url, headers={"Authorization": f"Bearer {api_key}"}, timeout=30, trust_env=False
        )

    def takes_sign_in_links(self) -> bool:
        """Whether people sign in to the dashboard with local accounts."""
        response = self._client.get("/dashboard/api/sign-in")
        return response.status_code == httpx.codes.OK and response.json().get("local") is True

    def template_exists(self, template_id: str) -> bool:
        return self._client.get(f"/v1/templates/{template_id}").status_code == httpx.codes.OK

    def create_template(self, definition: Mapping[str, Any]) -> str:
        """Its id."""
        return str(self._post("/v1/templates", definition)["id"])

    def dispatch(self, template_id: str) -> dict[str, Any]:
        """`{run_id, link, expires_at, assigned_to}`"""
        return self._post("/v1/runs", {"template_id": template_id, "executor_ref": "make run"})

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            response = self._client.post(path, json=body)
        except httpx.HTTPError as error:
            raise Failure(f"POST {path}: {error or type(error).__name__}") from error
        if response.status_code != httpx.codes.CREATED:
            raise Failure(f"POST {path} answered {response.status_code}: {_message(response)}")
        answer: dict[str, Any] = response.json()
        return answer

    def close(self) -> None:
        self._client.close()


def _message(response: httpx.Response) -> str:
    try:
        body = response.json()
        return f"{body['error']}: {body['message']}"
    except (ValueError, KeyError, TypeError):
        return response.text[:200] or "no body"


def example_template(path: Path = EXAMPLE) -> dict[str, Any]:
    """An example of the repository, or the one built in here."""
    if not path.exists():
        return BUILT_IN
    definition: dict[str, Any] = json.loads(path.read_text())
    return definition
