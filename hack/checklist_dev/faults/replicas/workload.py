"""Clients that work on the same few objects at the same time, each request at a random replica."""

import asyncio
import itertools
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import RUN
from checklist_dev.failures import Failure
from checklist_dev.faults.replicas.history import FinalState, History, Op
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.people import Person
from checklist_dev.perf.load.client import new_op

Json = dict[str, Any]

STEPS: Final = tuple(f"s-{number}" for number in range(6))
TEMPLATE: Final[Json] = {
    "name": "Round",
    "description": "0",
    "settings": {"allow_skip": True},
    "sections": [
        {
            "id": "g-all",
            "title": "All",
            "steps": [{"id": step, "type": "text", "label": f"Step {step}"} for step in STEPS],
        }
    ],
}
_WEIGHTS: Final = {
    "answer": 24,
    "answers_at_once": 5,
    "read_run": 26,
    "read_template": 10,
    "list_runs": 4,
    "read_usage": 2,
    "dispatch": 7,
    "dispatch_again": 4,
    "increment": 6,
    "rename": 2,
    "end": 5,
    "use_key": 4,
    "make_key": 0.4,
    "revoke_key": 0.3,
}
_TEMPLATES: Final = 3
_OPEN_RUNS: Final = 40
"""Few, so that clients conflict."""
_KEYS: Final = 6
_REFUSED_WITHIN_S: Final = 30.0
_COUNTED_WITHIN_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class _Dispatched:
    run_id: str
    executor: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: Json
    began: float
    ended: float


class Workload:
    """Runs the clients and records their history."""

    def __init__(self, session: aiohttp.ClientSession, urls: Sequence[str], api_key: str, *, seed: int) -> None:
        self.history = History()
        self._session = session
        self._urls = list(urls)
        self._owner = {"Authorization": f"Bearer {api_key}"}
        self._rng = random.Random(seed)
        self._values = itertools.count()
        self._templates: list[str] = []
        self._runs: list[_Dispatched] = []
        self._keys: list[tuple[str, str]] = []
        self._revoked: dict[str, str] = {}
        self._dispatches: list[tuple[str, Json]] = []
        self._desk: tuple[str, Mapping[str, str]] | None = None

    async def prepare(self, person: Person) -> None:
        """Create templates, and a session of an admin who creates keys. Raises Failure."""
        for _ in range(_TEMPLATES):
            made = await self._ask(0, "POST", "/v1/templates", TEMPLATE, self._owner)
            if made.status != 201:
                raise Failure(f"the template was refused with {made.status}: {made.body}")
            self._templates.append(str(made.body["id"]))
        session = await self._ask(0, "GET", "/dashboard/api/session", None, person.headers)
        headers = person.csrf_headers(str(session.body["csrf_token"]))
        self._desk = f"/dashboard/api/{person.organization_id}/keys", headers

    async def run(self, operations: int, *, clients: int, for_s: float) -> None:
        """Run until `operations` requests have been answered, or the time is up."""
        deadline = time.monotonic() + for_s
        acts = [getattr(self, f"_{name}") for name in _WEIGHTS]
        weights = list(_WEIGHTS.values())

        async def work() -> None:
            while len(self.history.ops) < operations and time.monotonic() < deadline:
                await self._rng.choices(acts, weights)[0]()

        await asyncio.gather(*(work() for _ in range(clients)))

    async def finish(self, kube: KubeClient, organization: str, limit: int) -> FinalState:
        """Read everything again from every replica. Raises Failure, KubeError."""
        for template in self._templates:
            for replica in range(len(self._urls)):
                await self._note_template(template, replica)
        runs = sorted({op.read for op in self.history.of("dispatch") if op.ok})
        waiting = iter(runs)

        async def read_some() -> None:
            for run in waiting:
                await self._note_run(run)

        await asyncio.gather(*(read_some() for _ in range(16)))
        kept, _ = await kube.list_all(RUN, NAMESPACE, label_selector=f"{ORGANIZATION_LABEL}={organization}")
        names = frozenset(str(body["metadata"]["name"]) for body in kept)
        listed = [await self._listed(replica, len(names)) for replica in range(len(self._urls))]
        used = await self._used(len(names))
        statuses = {name: await self._refused_everywhere(key) for name, key in self._revoked.items()}
        return FinalState(names, used, limit, tuple(listed), statuses)

    async def _dispatch(self) -> None:
        key = new_op()
        body = {"template_id": self._rng.choice(self._templates), "executor_ref": key}
        self._dispatches.append((key, body))
        replicas = self._some(2 if self._rng.random() < 0.3 else 1)
        made = await asyncio.gather(*(self._dispatch_at(replica, key, body) for replica in replicas))
        for run in made:
            if run is not None and run.run_id not in {known.run_id for known in self._runs}:
                self._runs.append(run)
                self._runs = self._runs[-_OPEN_RUNS:]
                break
        if made[0] is not None and self._rng.random() < 0.3:
            await self._list_runs(replicas[0], made[0].run_id)

    async def _dispatch_again(self) -> None:
        if self._dispatches:
            key, body = self._rng.choice(self._dispatches[-200:])
            await self._dispatch_at(self._any(), key, body)

    async def _dispatch_at(self, replica: int, key: str, body: Json) -> _Dispatched | None:
        """Dispatch, and repeat with the same key until the result is known."""
        headers = {**self._owner, "Idempotency-Key": key}
        while True:
            answer = await self._ask(replica, "POST", "/v1/runs", body, headers)
            if answer.body.get("error") != "idempotency_in_progress":
                break
            await asyncio.sleep(0.01)
        run_id = str(answer.body.get("run_id", ""))
        self._note("dispatch", key, replica, answer, read=run_id or None)
        if not run_id:
            return None
        secret = str(answer.body["link"]).partition("#")[2]
        return _Dispatched(run_id, {"Authorization": f"Executor {secret}"})

    async def _answer(self) -> None:
        run = self._open_run()
        if run is not None:
            await self._answer_at(self._any(), run, self._rng.choice(STEPS), again=self._rng.random() < 0.1)

    async def _answers_at_once(self) -> None:
        """Answer different steps of one run at different replicas: none may undo another."""
        run = self._open_run()
        if run is not None:
            places = zip(self._some(3), self._rng.sample(STEPS, 3), strict=False)
            await asyncio.gather(*(self._answer_at(replica, run, step) for replica, step in places))
            await self._note_run(run.run_id)

    async def _answer_at(self, replica: int, run: _Dispatched, step: str, *, again: bool = False) -> None:
        value = f"value {next(self._values)}"
        path, body = f"/v1/executor/runs/{run.run_id}/answers/{step}", {"op_id": new_op(), "value": value}
        answer = await self._ask(replica, "PUT", path, body, run.executor)
        self._note("answer", run.run_id, replica, answer, wrote=(step, value))
        if again and answer.status == 200:
            # The same op_id changes nothing, and the response says so.
            replica = self._any()
            repeated = await self._ask(replica, "PUT", path, body, run.executor)
            said = repeated.body.get("replayed")
            self._note("repeat", run.run_id, replica, repeated, wrote=(step, value), read=said)

    async def _end(self) -> None:
        """Submit as the executor, cancel as the owner, or both concurrently."""
        run = self._open_run()
        if run is None or len(self._runs) < _OPEN_RUNS // 2:
            return
        chosen = self._rng.choice([(True, False), (False, True), (True, True)])
        tries = []
        if chosen[0]:
            path = f"/v1/executor/runs/{run.run_id}/submit"
            tries.append(self._end_at(self._any(), run, "completed", path, {"op_id": new_op()}, run.executor))
        if chosen[1]:
            tries.append(self._end_at(self._any(), run, "cancelled", f"/v1/runs/{run.run_id}/cancel", {}, self._owner))
        await asyncio.gather(*tries)
        if run in self._runs:
            self._runs.remove(run)
        await self._answer_at(self._any(), run, self._rng.choice(STEPS))
        await self._note_run(run.run_id)

    async def _end_at(  # noqa: PLR0917 - the parts of a request
        self, replica: int, run: _Dispatched, status: str, path: str, body: Json, headers: Mapping[str, str]
    ) -> None:
        self._note("end", run.run_id, replica, await self._ask(replica, "POST", path, body, headers), wrote=status)

    async def _read_run(self) -> None:
        run = self._open_run()
        if run is not None:
            await self._note_run(run.run_id)

    async def _note_run(self, run_id: str) -> None:
        replica = self._any()
        answer = await self._ask(replica, "GET", f"/v1/runs/{run_id}", None, self._owner)
        given = {step: one.get("value") for step, one in (answer.body.get("answers") or {}).items()}
        self._note("read", run_id, replica, answer, read={"status": answer.body.get("status"), "answers": given})

    async def _list_runs(self, replica: int | None = None, own: str | None = None) -> None:
        """`own`: a run just created at this replica."""
        replica = self._any() if replica is None else replica
        answer = await self._ask(replica, "GET", "/v1/runs?per_page=100", None, self._owner)
        found = [run["run_id"] for run in answer.body.get("data", ())]
        self._note("list", "runs", replica, answer, wrote=own, read=found)

    async def _read_usage(self) -> None:
        replica = self._any()
        self._note("usage", "usage", replica, await self._ask(replica, "GET", "/v1/usage", None, self._owner))

    async def _increment(self) -> None:
        """Increment with If-Match, and retry on conflicts."""
        template = self._rng.choice(self._templates)
        for _ in range(20):
            seen = await self._note_template(template, self._any())
            if not seen:
                return
            patch, headers = {"description": str(seen["number"] + 1)}, {**self._owner, "If-Match": f'"{seen["v"]}"'}
            if await self._patch("increment", template, patch, headers, (seen["v"], seen["number"] + 1)) != 412:
                return

    async def _rename(self) -> None:
        template, name = self._rng.choice(self._templates), f"Round {next(self._values)}"
        await self._patch("rename", template, {"name": name}, self._owner, name)

    async def _patch(self, kind: str, template: str, patch: Json, headers: Mapping[str, str], wrote: Any) -> int:
        replica = self._any()
        answer = await self._ask(replica, "PATCH", f"/v1/templates/{template}", patch, headers)
        self._note(kind, template, replica, answer, wrote=wrote, read=_template_of(answer.body))
        return answer.status

    async def _read_template(self) -> None:
        await self._note_template(self._rng.choice(self._templates), self._any())

    async def _note_template(self, template: str, replica: int) -> Json:
        answer = await self._ask(replica, "GET", f"/v1/templates/{template}", None, self._owner)
        seen = _template_of(answer.body)
        self._note("template", template, replica, answer, read=seen)
        return seen

    async def _make_key(self) -> None:
        if self._desk is None or len(self._keys) >= _KEYS:
            return
        path, headers = self._desk
        replica = self._any()
        answer = await self._ask(replica, "POST", path, {"name": "consistency"}, headers)
        self._note("key", str(answer.body.get("id")), replica, answer)
        if answer.status == 201:
            name, key = str(answer.body["id"]), str(answer.body["key"])
            await asyncio.gather(*(self._use_at(replica, name, key) for replica in range(len(self._urls))))
            self._keys.append((name, key))

    async def _use_key(self) -> None:
        if self._keys:
            await self._use_at(self._any(), *self._rng.choice(self._keys))

    async def _use_at(self, replica: int, name: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        answer = await self._ask(replica, "GET", "/v1/templates?per_page=1", None, headers)
        self._note("use", name, replica, answer)

    async def _revoke_key(self) -> None:
        if self._desk is None or not self._keys:
            return
        name, key = self._keys.pop(self._rng.randrange(len(self._keys)))
        path, headers = self._desk
        replica = self._any()
        answer = await self._ask(replica, "POST", f"{path}/{name}/revoke", None, headers)
        self._note("revoke", name, replica, answer)
        self._revoked[name] = key
        await self._use_at(self._any(), name, key)

    async def _refused_everywhere(self, key: str) -> tuple[int, ...]:
        """The statuses of all replicas, once all refuse the key or time is up."""
        headers = {"Authorization": f"Bearer {key}"}
        deadline = time.monotonic() + _REFUSED_WITHIN_S
        while True:
            answers = [
                await self._ask(replica, "GET", "/v1/templates?per_page=1", None, headers)
                for replica in range(len(self._urls))
            ]
            statuses = tuple(answer.status for answer in answers)
            if set(statuses) == {401} or time.monotonic() > deadline:
                return statuses
            await asyncio.sleep(0.05)

    async def _listed(self, replica: int, expected: int) -> frozenset[str]:
        """All runs that a replica lists, once there are `expected` ones or time is up."""
        deadline = time.monotonic() + _REFUSED_WITHIN_S
        while True:
            found: set[str] = set()
            for page in itertools.count(1):
                answer = await self._ask(replica, "GET", f"/v1/runs?per_page=100&page={page}", None, self._owner)
                if not answer.body.get("data"):
                    break
                found.update(run["run_id"] for run in answer.body["data"])
            if len(found) == expected or time.monotonic() > deadline:
                return frozenset(found)
            await asyncio.sleep(0.1)

    async def _used(self, expected: int) -> int:
        """The used quota, once it is `expected` or time is up: the operator resolves dispatches without an answer
        half a minute later."""
        deadline = time.monotonic() + _COUNTED_WITHIN_S
        while True:
            answer = await self._ask(self._any(), "GET", "/v1/usage", None, self._owner)
            used = int(answer.body.get("used", -1))
            if used == expected or time.monotonic() > deadline:
                return used
            await asyncio.sleep(0.5)

    def _open_run(self) -> _Dispatched | None:
        return self._rng.choice(self._runs) if self._runs else None

    def _any(self) -> int:
        return self._rng.randrange(len(self._urls))

    def _some(self, count: int) -> list[int]:
        return self._rng.sample(range(len(self._urls)), min(count, len(self._urls)))

    def _note(
        self, kind: str, subject: str, replica: int, answer: _Answer, *, wrote: Any = None, read: Any = None
    ) -> None:
        self.history.ops.append(
            Op(kind, subject, replica, answer.began, answer.ended, answer.status, wrote=wrote, read=read)
        )

    async def _ask(
        self, replica: int, method: str, path: str, body: Json | None, headers: Mapping[str, str]
    ) -> _Answer:
        began = time.perf_counter()
        try:
            async with self._session.request(
                method, self._urls[replica] + path, json=body, headers=dict(headers)
            ) as response:
                found = await response.json(content_type=None)
                return _Answer(response.status, found or {}, began, time.perf_counter())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return _Answer(0, {}, began, time.perf_counter())


def _template_of(body: Json) -> Json:
    if "v" not in body:
        return {}
    return {"v": int(body["v"]), "number": int(body["description"]), "name": body["name"]}
