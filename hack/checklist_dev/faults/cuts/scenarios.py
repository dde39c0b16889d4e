"""The scenarios: events of one run, and the answers of receivers."""

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
    """The final phase of each event, by seq."""
    secret_ref: bool = False
    replayed: bool = False
    """A replay of the first event is requested after everything has ended."""
    overloaded: bool = False
    """So many retries are due that none is claimed separately."""

    @property
    def final(self) -> bool:
        """Whether the run itself ends, and must be settled."""
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
        "a receiver that accepts each event once and then fails",
        CANCEL,
        lambda seq, number, nth: 500 if nth in (2, 3) else 200,
        {1: DELIVERED},
    ),
    Scenario(
        "an open run, and a receiver that accepts each event once and then fails",
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
        "delivered at the fifth attempt, under overload",
        CANCEL,
        lambda seq, number, nth: 200 if number == 5 else RESET,
        {1: DELIVERED},
        overloaded=True,
    ),
    Scenario(
        "a run that is over while both of its events are retried, under overload",
        (_answer(0), Submit()),
        lambda seq, number, nth: 503 if number == 1 else 200,
        {1: DELIVERED, 2: DELIVERED},
        overloaded=True,
    ),
    Scenario(
        "never delivered, and replayed, under overload",
        CANCEL,
        lambda seq, number, nth: 500,
        {1: DELIVERED},
        replayed=True,
        overloaded=True,
    ),
)
