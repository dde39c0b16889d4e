"""What happens to the events of one run, as receivers answer them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.runs.commands import AnswerStep, Cancel, Command, Submit
from checklist_dev.faults.cuts.post import RESET

DELIVERED, FAILED = DeliveryPhase.DELIVERED, DeliveryPhase.FAILED


@dataclass(frozen=True, slots=True)
class Scenario:
    """`answer(seq, number, nth)` is the status for the nth transmission of event `seq` as attempt `number`."""

    name: str
    commands: tuple[Command, ...]
    answer: Callable[[int, int, int], int]
    ends: Mapping[int, DeliveryPhase]
    """How each event ends, by its seq."""
    secret_ref: bool = False
    replayed: bool = False
    """When everything has ended, somebody asks for a replay of the first event."""

    crowded: bool = False
    """So many retries are due that none is claimed by itself."""

    @property
    def final(self) -> bool:
        """Whether the run itself is over, so that it is to be settled in the end."""
        return isinstance(self.commands[-1], Cancel | Submit)


def _answer(step: int) -> AnswerStep:
    return AnswerStep(step_id=f"s-{step}", value=step)


CANCEL: Final = (Cancel(reason="enough"),)

SCENARIOS: Final = (
    Scenario("delivered at once", CANCEL, lambda seq, number, nth: 204, {1: DELIVERED}),
    Scenario(
        "delivered at the second attempt",
        CANCEL,
        lambda seq, number, nth: 500 if number == 1 else 200,
        {1: DELIVERED},
    ),
    Scenario("never delivered", CANCEL, lambda seq, number, nth: 410, {1: FAILED}),
    Scenario(
        "delivered at the fifth attempt",
        CANCEL,
        lambda seq, number, nth: 200 if number == 5 else RESET,
        {1: DELIVERED},
    ),
    Scenario(
        "two events of an open run",
        (_answer(0), _answer(1)),
        lambda seq, number, nth: 200,
        {1: DELIVERED, 2: DELIVERED},
    ),
    Scenario(
        "two events, the first of which is handed over",
        (_answer(0), _answer(1)),
        lambda seq, number, nth: 500 if (seq, number) == (1, 1) else 200,
        {1: DELIVERED, 2: DELIVERED},
    ),
    Scenario(
        "a run that is over while both of its events are retried",
        (_answer(0), Submit()),
        lambda seq, number, nth: 503 if number == 1 else 200,
        {1: DELIVERED, 2: DELIVERED},
    ),
    Scenario(
        "a receiver that takes each event once and then has a bad moment",
        CANCEL,
        lambda seq, number, nth: 500 if nth in (2, 3) else 200,
        {1: DELIVERED},
    ),
    Scenario(
        "an open run, and a receiver that takes each event once and then has a bad moment",
        (_answer(0),),
        lambda seq, number, nth: 500 if nth in (2, 3) else 200,
        {1: DELIVERED},
    ),
    Scenario(
        "never delivered, and replayed",
        CANCEL,
        lambda seq, number, nth: 500,
        {1: DELIVERED},
        replayed=True,
    ),
    Scenario(
        "signed with a Secret, delivered at the second attempt",
        CANCEL,
        lambda seq, number, nth: 500 if number == 1 else 200,
        {1: DELIVERED},
        secret_ref=True,
    ),
    Scenario(
        "delivered at the fifth attempt, in a crowd",
        CANCEL,
        lambda seq, number, nth: 200 if number == 5 else RESET,
        {1: DELIVERED},
        crowded=True,
    ),
    Scenario(
        "a run that is over while both of its events are retried, in a crowd",
        (_answer(0), Submit()),
        lambda seq, number, nth: 503 if number == 1 else 200,
        {1: DELIVERED, 2: DELIVERED},
        crowded=True,
    ),
    Scenario(
        "never delivered, and replayed, in a crowd",
        CANCEL,
        lambda seq, number, nth: 500,
        {1: DELIVERED},
        replayed=True,
        crowded=True,
    ),
)
