"""Open runs and answers, which create the events of the latency and delivery figures."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checklist_dev.failures import Failure
from checklist_dev.perf.load.client import Person, ServiceClient, new_op

Json = dict[str, Any]
SECRET = "a secret of the benchmark"  # noqa: S105 - not a real secret
USUAL_STEPS: Final = 40
"""Steps of a benchmark run: real checklists have 20 to 60."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One answer to give: each step of each run once, so that (run, step) identifies its event."""

    person: Person
    step_id: str
    value: Any

    @property
    def key(self) -> tuple[str, str]:
        return self.person.run_id, self.step_id

    async def give(self) -> None:
        """Give the answer and wait for the acknowledgement. Raises Failure if refused."""
        reply = await self.person.answer(self.step_id, self.value, op_id=new_op())
        if not reply.ok:
            raise Failure(f"an answer was refused with {reply.status}: {reply.body}")


async def open_runs(client: ServiceClient, template_id: str, urls: Sequence[str], count: int) -> list[Person]:
    """Dispatch `count` runs with the webhook `urls` in turn, or without; 16 dispatches at a time."""
    room = asyncio.Semaphore(16)

    async def open_run(number: int) -> Person:
        async with room:
            wanted: Json = {"template_id": template_id}
            if urls:
                wanted["webhook"] = {"url": urls[number % len(urls)], "secret": SECRET, "events": ["*"]}
            reply = await client.dispatch(wanted)
            if reply.status != 201:
                raise Failure(f"a dispatch was refused with {reply.status}: {reply.body}")
            return Person(client, reply.body["run_id"], reply.body["link"])

    return await asyncio.gather(*(open_run(number) for number in range(count)))


def template_of(steps: int) -> Json:
    """A checklist of text steps, twenty per section."""
    made = [{"id": f"s-{number}", "type": "text", "label": f"What do you see at point {number}?", "required": True}
            for number in range(steps)]  # fmt: skip
    sections = [
        {"id": f"g-{first}", "title": f"Part {first // 20 + 1}", "steps": made[first : first + 20]}
        for first in range(0, steps, 20)
    ]
    return {"name": f"{steps} points", "sections": sections}


def text_for(number: int) -> str:
    """The answer to step `number`."""
    return f"Nothing unusual at point {number}, all as it was the week before."


def answers_to(people: Sequence[Person], steps: int = USUAL_STEPS) -> Iterator[Planned]:
    """Answers ordered by step, so that consecutive ones belong to different runs."""
    for number in range(steps):
        for person in people:
            yield Planned(person, f"s-{number}", text_for(number))


def runs_needed(answers: int) -> int:
    return -(-answers // USUAL_STEPS)
