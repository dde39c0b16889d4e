"""The person with the link, for the tests of the executor API."""

from dataclasses import dataclass
from typing import Any

import httpx

from checklist_crds.ids import object_id
from checklist_crds.platform.object_store import StoredObject
from checklist_crds.resources.kinds import RUN

from .conftest import Api
from .pictures import drawing, picture

Json = dict[str, Any]
OPERATIONS: tuple[tuple[str, str, Json], ...] = (
    ("GET", "", {}),
    ("GET", "/changes", {}),
    ("GET", "/receipt", {}),
    ("POST", "/open", {}),
    ("PUT", "/identity", {"name": "Ada", "email": "ada@example.com"}),
    ("PUT", "/answers/s-a", {"value": True}),
    ("DELETE", "/answers/s-a", {}),
    ("POST", "/answers/s-a/photos", {}),
    ("DELETE", "/answers/s-a/photos", {}),
    ("PUT", "/signature", {}),
    ("DELETE", "/signature", {}),
    ("POST", "/steps/s-a/skip", {}),
    ("POST", "/submit", {}),
    ("POST", "/cancel", {}),
    ("POST", "/operations", {"operations": [{"type": "answer", "step_id": "s-a", "value": True, "op_id": "batched"}]}),
)
"""All that is done with a link: method, path below the run, body. The first three change nothing."""
WEBHOOK = {"url": "https://hooks.example.com/x", "secret": "a-secret-of-the-test", "events": ["*"]}


def step(name: str, kind: str = "boolean", **fields: Any) -> Json:
    return {"id": f"s-{name}", "type": kind, "label": name.title(), **fields}


def checklist(*steps: Json, identity: str = "none", **settings: Any) -> Json:
    return {
        "name": "Checklist",
        "sections": [{"id": "g-all", "title": "All", "steps": list(steps)}],
        "settings": settings,
        "execution": {"identity_required": identity},
    }


@dataclass(frozen=True)
class Person:
    """Calls the executor API of one run; every method gives the response as it is."""

    run_id: str
    api: Api
    token: str

    async def call(self, method: str, path: str = "", **arguments: Any) -> httpx.Response:
        headers = {"Authorization": f"Executor {self.token}"} | arguments.pop("headers", {})
        return await self.api.anonymous.request(
            method, f"/v1/executor/runs/{self.run_id}{path}", headers=headers, **arguments
        )

    async def look(self) -> Json:
        response = await self.call("GET")
        assert response.status_code == 200, response.text
        return dict(response.json())

    async def answer(self, name: str, value: Any = True, **members: Any) -> httpx.Response:
        return await self.call("PUT", f"/answers/s-{name}", json={"value": value, **members})

    async def clear(self, name: str, **arguments: Any) -> httpx.Response:
        return await self.call("DELETE", f"/answers/s-{name}", **arguments)

    async def skip(self, name: str, **members: Any) -> httpx.Response:
        return await self.call("POST", f"/steps/s-{name}/skip", json=members)

    async def submit(self, **members: Any) -> httpx.Response:
        return await self.call("POST", "/submit", json=members)

    async def cancel(self, **members: Any) -> httpx.Response:
        return await self.call("POST", "/cancel", json=members)

    async def batch(self, *operations: Json, **arguments: Any) -> httpx.Response:
        return await self.call("POST", "/operations", json={"operations": operations}, **arguments)

    async def results(self, *operations: Json) -> list[Json]:
        """Of a batch that is taken: one for each operation."""
        response = await self.batch(*operations)
        assert response.status_code == 200, response.text
        results: list[Json] = response.json()["results"]
        assert [each["op_id"] for each in results] == [operation["op_id"] for operation in operations]
        return results

    async def upload(self, name: str, image: bytes | Any, kind: str = "image/jpeg", **query: Any) -> httpx.Response:
        """Add a photo; `image` may be an async generator of chunks."""
        return await self.call(
            "POST", f"/answers/s-{name}/photos", params=query, content=image, headers={"Content-Type": kind}
        )

    async def take_back(self, name: str, **query: Any) -> httpx.Response:
        return await self.call("DELETE", f"/answers/s-{name}/photos", params=query)

    async def draw(self, image: bytes, **query: Any) -> httpx.Response:
        return await self.call("PUT", "/signature", params=query, content=image, headers={"Content-Type": "image/png"})

    async def fetch(self, url: str, method: str = "GET", **arguments: Any) -> httpx.Response:
        """What is at a photo's signed address, from this API wherever the address says it is."""
        path = url.removeprefix(self.api.services.settings.base_url)
        assert path.startswith("/v1/photos/"), url
        return await self.api.anonymous.request(method, path, **arguments)

    async def photo_objects(self) -> list[StoredObject]:
        """What the store keeps of the run."""
        organization = object_id("org", self.api.organization)
        return await self.api.services.photo_store.objects_of_run(organization, self.run_id)

    async def stored(self) -> Json:
        body = await self.api.kube.get(RUN, self.run_id, self.api.namespace)
        return dict(body.get("status") or {})

    async def events(self) -> list[str]:
        """The events that wait for delivery. (No operator runs here, so none leaves.)"""
        return [entry["event"] for entry in (await self.stored()).get("outbox", [])]


async def person_for(
    api: Api, *steps: Json, identity: str = "none", dispatch: Json | None = None, **settings: Any
) -> Person:
    """A run of a checklist with these steps, with a webhook for all events, and its person."""
    template = await api.account.create_template(**checklist(*steps, identity=identity, **settings))
    run = await api.account.dispatch(template["id"], **({"webhook": WEBHOOK} | (dispatch or {})))
    return Person(run["run_id"], api, api.token(run["run_id"]))


async def answered(api: Api, *more: Json, **texts: str) -> Person:
    """A completed run with an answer of each interesting kind; `more` steps have `texts`."""
    person = await person_for(
        api,
        step("clean", label="Is it clean?", config={"true_label": "Spotless", "false_label": "Dirty"}),
        step("temp", "number", label="Fridge", config={"unit": "°C", "decimal": 1}),
        step("mood", "choice", config={"options": [{"id": "o-good", "label": "Good, really"}]}),
        step("note", "text", config={"multiline": True}),
        step("where", geo=True),
        step("shelf", "photo"),
        step("later"),
        *more,
        identity="external",
        dispatch={"executor_ref": "=order 7"},
        allow_skip=True,
        signature_on_complete=True,
    )
    await person.call("PUT", "/identity", json={"name": "Zoë Ångström", "email": "zoe@example.com"})
    given = {"clean": False, "temp": -18.5, "mood": "o-good", "note": 'a "b"\n, c'}
    for name, value in (*given.items(), *texts.items()):
        assert (await person.answer(name, value)).status_code == 200
    assert (
        await person.answer("where", True, geo={"lat": -33.8568, "lng": 151.2153, "accuracy_m": 8.5})
    ).status_code == 200
    assert (await person.upload("shelf", picture(size=(800, 600)))).status_code == 201
    assert (await person.skip("later")).status_code == 200
    assert (await person.draw(drawing())).status_code == 200
    assert (await person.submit(signature={"name": "Zoë Å."})).status_code == 200
    return person


def paths(response: httpx.Response) -> list[str]:
    return [problem["path"] for problem in response.json()["details"]]


def error_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]


def without_request_id(response: httpx.Response) -> tuple[int, bytes]:
    """Status and body, to compare what two requests are answered."""
    return response.status_code, response.content.replace(response.headers["X-Request-Id"].encode(), b"")
