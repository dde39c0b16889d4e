"""Scripted executors: each takes a plan, dispatches a run, and works on it until everything is acknowledged."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from checklist_dev.failures import Failure
from checklist_dev.perf.load.client import Person, Reply, ServiceClient, new_op
from checklist_dev.perf.load.ledger import Act, RunRecord
from checklist_dev.perf.load.plan import Op, RunPlan

_READ_BACK: Final = 0.1
"""The share of acknowledged answers that are read back at once, through any API process."""


class Executors:
    """`url_for(behaviour)` returns the receiver of a run. Results are collected in `records`."""

    def __init__(
        self,
        client: ServiceClient,
        template_id: str,
        url_for: Callable[[str], str],
        *,
        rng: random.Random,
        photos: Sequence[bytes] = (),
    ) -> None:
        """`photos`: JPEG files, for plans with photos."""
        self.records: list[RunRecord] = []
        self.failures: list[str] = []
        self.acknowledged = 0
        """Acknowledged operations with an event."""
        self._client = client
        self._template_id = template_id
        self._url_for = url_for
        self._rng = rng
        self._photos = photos

    async def work(
        self, next_plan: Callable[[], RunPlan | None], pace: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Perform runs until there are no more plans; `pace` waits until the next may begin."""
        while True:
            if pace is not None:
                await pace()
            plan = next_plan()
            if plan is None:
                return
            try:
                await self.perform(plan)
            except Failure as failure:
                self.failures.append(str(failure))

    async def perform(self, plan: RunPlan) -> RunRecord:
        """Dispatch and answer one run. Raises Failure if something stays unanswered for minutes."""
        secret = f"secret-{self._rng.getrandbits(96):024x}"
        body: dict[str, Any] = {
            "template_id": self._template_id,
            "executor_ref": f"chaos {len(self.records)}",
            "webhook": {"url": self._url_for(plan.behaviour), "secret": secret, "events": ["*"]},
        }
        if plan.expires_in_s is not None:
            body["expires_in_hours"] = plan.expires_in_s / 3600
        reply = await self._client.dispatch(body)
        if reply.status != 201:
            raise Failure(f"a dispatch was refused with {reply.status}: {dict(reply.body)}")
        record = RunRecord(
            run_id=reply.body["run_id"],
            secret=secret,
            url=body["webhook"]["url"],
            plan=plan,
            expires=plan.expires_in_s is not None,
        )
        self.records.append(record)
        person = Person(self._client, record.run_id, reply.body["link"])
        for op in plan.ops:
            await asyncio.sleep(op.pause_s)
            act = await self._act(person, op)
            record.acts.append(act)
            if not act.done:
                if not (record.expires and act.error == "run_expired"):
                    record.complaints.append(f"{op.kind} {op.step_id} refused with {act.status} {act.error}")
                break
            self.acknowledged += op.kind != "clear"
            if op.kind == "answer" and self._rng.random() < _READ_BACK:
                await self._read_back(person, record, op)
        return record

    async def _act(self, person: Person, op: Op) -> Act:
        op_id = new_op()
        match op.kind:
            case "answer":
                reply = await person.answer(op.step_id, op.value, op_id=op_id)
            case "photo":
                reply = await person.add_photo(op.step_id, self._photo(), op_id=op_id)
            case "clear":
                reply = await person.clear(op.step_id, op_id=op_id)
            case "skip":
                reply = await person.skip(op.step_id, op_id=op_id)
            case "submit":
                reply = await person.submit(op_id=op_id)
            case "cancel":
                reply = await person.cancel(op_id=op_id, reason="had to leave")
            case _:
                reply = await self._client.insist("POST", f"/v1/runs/{person.run_id}/cancel", {})
        return Act(
            op=op,
            op_id=op_id,
            at=time.time(),
            done=reply.ok or _was_done_before(op, reply),
            status=reply.status,
            error=reply.error,
            tries=reply.tries,
        )

    def _photo(self) -> bytes:
        return self._rng.choice(self._photos)

    async def _read_back(self, person: Person, record: RunRecord, op: Op) -> None:
        view = await person.read()
        answer = (view.body.get("answers") or {}).get(op.step_id) or {}
        if view.ok and answer.get("value") != op.value:
            record.complaints.append(f"{op.step_id} was acknowledged as {op.value!r} and read as {answer}")


def _was_done_before(op: Op, reply: Reply) -> bool:
    """The owner's cancel has no op_id: a retry finds the run closed by the first try."""
    return op.kind == "owner_cancel" and reply.tries > 1 and reply.error == "run_closed"


async def read_views(client: ServiceClient, records: list[RunRecord]) -> Mapping[str, Mapping[str, Any]]:
    """GET /v1/runs/{run_id} of each run, 16 at a time."""
    views: dict[str, Mapping[str, Any]] = {}
    waiting = iter(records)

    async def read_some() -> None:
        for record in waiting:
            with contextlib.suppress(Failure):
                views[record.run_id] = (await client.insist("GET", f"/v1/runs/{record.run_id}")).body

    await asyncio.gather(*(read_some() for _ in range(16)))
    return views
