"""An organization of a Stage with its own key and people signed in to its dashboard.

office = await Office.opened(stage, kube, name="Bright Kitchens", runs_per_month=100)
link = office.dispatch(checklist(step("clean")))
person = await office.member("viewer")
await device.context.add_cookies([person.cookie(stage.base_url)])
await device.page.goto(office.address("runs"))
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import API_KEY, ORGANIZATION
from checklist_crds.secrets import api_keys
from checklist_dev.browser.stage import Link, Stage
from checklist_dev.failures import Failure
from checklist_dev.local.bootstrap import NAMESPACE, api_key_object, organization_object
from checklist_dev.local.people import Person, make_member, sign_in

Json = dict[str, Any]
_SEEN_WITHIN_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Office:
    """`organization` is both the name of the object and the public id."""

    stage: Stage
    kube: KubeClient
    organization: str
    key: str

    @classmethod
    async def opened(
        cls, stage: Stage, kube: KubeClient, *, name: str = "Bright Kitchens", runs_per_month: int | None = None
    ) -> Self:
        """Create an organization. Its key is valid as soon as it is used."""
        organization, key = new_id("org"), api_keys.new_key()
        await kube.create(ORGANIZATION, organization_object(organization, name, runs_per_month))
        owner = await make_member(kube, organization=organization, namespace=NAMESPACE, role="admin", name="Olga Owner")
        await kube.create(API_KEY, api_key_object(key, organization, owner), NAMESPACE)
        return cls(stage, kube, organization, key)

    async def member(self, role: str = "admin", *, name: str = "Ada Example", subject: str | None = None) -> Person:
        """A signed-in person with `role`; `subject` makes it the same person in several organizations."""
        person = await sign_in(
            self.kube, organization=self.organization, namespace=NAMESPACE, role=role, name=name, subject=subject
        )
        await asyncio.to_thread(self._wait_until_seen, person)
        return person

    def _wait_until_seen(self, person: Person) -> None:
        """Wait until the API's watch has delivered the new member."""
        deadline = time.monotonic() + _SEEN_WITHIN_S
        while time.monotonic() < deadline:
            session = self.stage.anonymous.ask("GET", "/dashboard/api/session", headers=person.headers)
            if session.is_success and any(
                organization["member_id"] == person.member_id for organization in session.json()["organizations"]
            ):
                return
            time.sleep(0.02)
        raise Failure(f"the API did not see the new member within {_SEEN_WITHIN_S:.0f} s")

    def address(self, path: str = "") -> str:
        """The URL of a page of the organization."""
        return f"{self.stage.base_url}/dashboard/{self.organization}/{path}"

    def call(self, method: str, path: str, **arguments: Any) -> Json:
        """Call the REST API with the organization's key. Raises Failure if refused."""
        headers = {"Authorization": f"Bearer {self.key}"} | arguments.pop("headers", {})
        return self.stage.anonymous.call(method, path, headers=headers, **arguments)

    def make_template(self, template: Mapping[str, Any]) -> str:
        """Create a template; returns its id."""
        return str(self.call("POST", "/v1/templates", json=dict(template))["id"])

    def dispatch(
        self, template: Mapping[str, Any] | str, *, webhook: Mapping[str, Any] | None = None, **members: Any
    ) -> Link:
        """Dispatch a run of a new template, or of the one with that id.

        `webhook`: none by default; `office.webhook()` uses the stage's receiver.
        """
        template_id = template if isinstance(template, str) else self.make_template(template)
        given = {"webhook": dict(webhook)} if webhook else {}
        run = self.call("POST", "/v1/runs", json={"template_id": template_id, **given, **members})
        return Link(run["run_id"], run["link"])

    def webhook(self, path: str = "/hook", events: list[str] | None = None) -> Json:
        receiver = self.stage.receiver
        return {"url": f"{receiver.url}{path}", "secret": receiver.secret, "events": events or ["*"]}
