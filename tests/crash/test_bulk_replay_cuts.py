"""The crash rule of bulk replay by enumeration: the operator dies before and after each of its calls of the Kubernetes
API, and whenever the receiver has got something; another one goes on. Nothing is lost, nothing is sent again that was
on record, and the counts are the same.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.operator_lab import SEALING_KEYS, SERVER_KEY, Delivered, Lab, Receiver
from tests.cluster.replay_lab import bulk, counts, made_failed
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.delivery import REPLAY_ANNOTATION
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import DELIVERY_REPLAY, RUN, WEBHOOK_DELIVERY
from checklist_crds.secrets.sealing import KeyRing, ServerKeys
from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.controlplane import ControlPlane
from checklist_operator.attempts import delivery_state
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.settings import Settings
from checklist_operator.term import Term

AT_ONCE = 6
EVERY = 1 if os.environ.get("CHECKLISTS_ALL_CUTS") else 2
"""Each second point is enough for `make test`: several things are under way at a time, so their order varies."""


class Course:
    """Counts the points that an operator passes; at the `cut`th it is dead."""

    def __init__(self, cut: int | None = None) -> None:
        self._cut = cut
        self.passed = 0
        self.dead = asyncio.Event()

    def arrive(self) -> None:
        """A point that the operator does not see."""
        if self.passed == self._cut:
            self.dead.set()
        if not self.dead.is_set():
            self.passed += 1

    async def point(self) -> None:
        self.arrive()
        if self.dead.is_set():
            await asyncio.Event().wait()


class CuttingClient(KubeClient):
    """The connections of `shared`; each call is two points."""

    def __init__(self, shared: KubeClient, course: Course) -> None:
        self.__dict__.update(shared.__dict__)
        self._course = course

    async def _call(self, *arguments: Any, **named: Any) -> JsonObject:
        await self._course.point()
        answer = await super()._call(*arguments, **named)
        await self._course.point()
        return answer


class AlwaysLeading:
    def is_certain(self) -> bool:
        return True

    async def confirm(self) -> None:
        return None


@dataclass
class Case:
    """One bulk replay of three events: two that had failed, of which one fails again, and one of a final run."""

    lab: Lab
    receiver: Receiver
    name: str
    run: str
    fails: str
    events: list[str]

    @classmethod
    async def plant(cls, lab: Lab, receiver: Receiver, number: int) -> "Case":
        run = await lab.dispatch(receiver.url)
        await lab.cancel(run)
        (entry,) = (await lab.run(run)).status.outbox
        record = {"seq": entry.seq, "event": entry.event.value, "eventId": entry.event_id, "phase": "Delivered"}
        answered = {"attempts": 1, "startedAt": "2026-11-21T12:00:00.000Z", "durationMs": 4, "httpStatus": 200}
        status = {"outbox": None, "deliveries": [record | answered], "settled": True}
        await lab.client.patch_status(RUN, run, status, lab.namespace)
        failed = await made_failed(lab, run, receiver.url, 2)
        events = [*failed, entry.event_id]
        name = await bulk(lab, f"cut-{number}", filter={"runRef": {"name": run}, "eventIds": events})
        return cls(lab, receiver, name, run, failed[0], events)

    @asynccontextmanager
    async def operator(self, settings: Settings, course: Course) -> AsyncIterator[None]:
        """A term that is shown what the watches would bring at its start, as far as it is of this case."""
        client = CuttingClient(self.lab.client, course)
        both = {"seals": self.lab.seals, "clock": utc_now}
        term = Term(settings, client, Metrics(), **both, take_signals=lambda: None, lead=AlwaysLeading())
        timers = asyncio.create_task(term._timers.run())
        try:
            for body in await self.lab.deliveries(self.run):
                if (body.get("status") or {}).get("settled"):
                    term.replay_requests.observe(None, {"metadata": body["metadata"]})
                else:
                    term.observe(WEBHOOK_DELIVERY, None, body)
            term.observe(DELIVERY_REPLAY, None, await self.replay())
            yield
        finally:
            timers.cancel()
            await asyncio.gather(term.stop(gracefully=False), timers, return_exceptions=True)

    async def replay(self) -> JsonObject:
        return await self.lab.client.get(DELIVERY_REPLAY, self.name, self.lab.namespace)

    async def is_over(self) -> bool:
        if not (await self.replay())["status"].get("settled"):
            return False
        return not any(_annotated(body) for body in await self.lab.deliveries(self.run))

    async def recorded(self) -> set[str]:
        """Events whose replay is on record."""
        return {
            body["spec"]["eventId"]
            for body in await self.lab.deliveries(self.run)
            if "lastReplay" in (body.get("status") or {})
        }

    def sent(self) -> Counter[str]:
        return Counter(event["event_id"] for event in self.receiver.events(self.run))

    async def judge(self, recorded: set[str], at_death: Counter[str]) -> None:
        """What must hold at the end; `recorded` and `at_death` are of the moment when the operator died."""
        assert counts((await self.replay())["status"]) == (3, 3, 2, 1, 0)
        sent = self.sent()
        assert set(sent) == set(self.events), "something was lost"
        for event, times in sent.items():
            assert times <= 2, "sent more than once more"
            if event in recorded:
                assert times == at_death[event], "sent again though it was on record"
        for body in await self.lab.deliveries(self.run):
            status, event = body["status"], body["spec"]["eventId"]
            assert status["settled"] is True
            assert not {"replay", "claim", "nextAttemptAt"} & set(status)
            assert status["phase"] == ("Failed" if event == self.fails else "Delivered")
            assert [one.get("manual", False) for one in status["attempts"]] == [False, True]
            assert status["attempts"][0]["number"] == status["attempts"][1]["number"] == status["attempt"]
        phases = {one.event_id: one.phase for one in (await self.lab.run(self.run)).status.delivery_records}
        assert [phases.get(event) for event in self.events[1:]] == [DeliveryPhase.DELIVERED] * 2


def _annotated(body: JsonObject) -> bool:
    return REPLAY_ANNOTATION in (body["metadata"].get("annotations") or {})


@pytest.fixture
def settings(tmp_path: Path, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    # A claim of the dead one is waited for by an operator of another name; half a minute for each case is too long.
    monkeypatch.setattr(delivery_state, "CLAIM_S", 0.5)
    return Settings(
        namespace=namespace,
        watch_namespaces=(namespace,),
        operator_id="first",
        sealing=KeyRing.parse(SEALING_KEYS),
        server_key=ServerKeys(SERVER_KEY),
        photo_store=(tmp_path / "photos").as_uri(),
        allow_insecure_targets=True,
    )


async def test_a_killed_replay_is_continued(control_plane: ControlPlane, namespace: str, settings: Settings) -> None:
    receiver = Receiver()
    await receiver.start()
    courses: dict[str, Course] = {}
    fails: set[str] = set()

    def answer(one: Delivered) -> int:
        courses[one.envelope["run_id"]].arrive()
        return 500 if one.envelope["event_id"] in fails else 200

    receiver.answer = answer
    places = asyncio.Semaphore(AT_ONCE)

    async def play(number: int, cut: int | None) -> int:
        """How many points there were."""
        async with places:
            case = await Case.plant(lab, receiver, number)
            fails.add(case.fails)
            course = courses[case.run] = Course(cut)
            async with case.operator(settings, course):
                over = asyncio.create_task(eventually(case.is_over))
                died = asyncio.create_task(course.dead.wait())
                await asyncio.wait((over, died), return_when=asyncio.FIRST_COMPLETED)
                for task in (over, died):
                    task.cancel()
                await asyncio.gather(over, died, return_exceptions=True)
            recorded, at_death = await case.recorded(), case.sent()
            if course.dead.is_set():
                courses[case.run] = Course()
                successor = "first" if number % 2 else "second"
                async with case.operator(settings.model_copy(update={"operator_id": successor}), courses[case.run]):
                    await eventually(case.is_over)
            await case.judge(recorded, at_death)
            return course.passed

    async with KubeClient(await KubeConnection.load(str(control_plane.kubeconfig))) as client:
        lab = Lab(client, namespace)
        await lab.prepare()
        points = await play(0, None)
        assert points > 60
        await asyncio.gather(*(play(1 + cut, cut) for cut in range(0, points, EVERY)))
    await receiver.stop()
