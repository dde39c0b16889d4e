"""States of runs in progress: answers and skipped steps.

Unusual ones, too: a queue that is replayed late can arrive in any order.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from checklist_crds.resources.template_definition import Definition, Step, StepType
from checklist_crds.step_types.choice import option_ids
from checklist_crds.step_types.number import rating_bounds

from .checklists import GIVEN

HERE: Final = {"lat": 52.5, "lng": 13.4, "accuracy_m": 8}


@dataclass(frozen=True)
class Given:
    """An answer as seen by the core."""

    value: Any = None
    photos: list[str] = field(default_factory=list)
    geo: dict[str, float] | None = None


@dataclass(frozen=True)
class State:
    """A checklist, by name, with answers and skipped steps."""

    checklist: str
    answers: dict[str, Given]
    skipped: list[str] = field(default_factory=list)


def states() -> Iterator[State]:
    """All states of the checklists made for the vectors."""
    for kind, values in GIVEN.items():
        yield from _of_source(kind, values)
    yield from _nesting()
    yield from _chain()
    yield from _evidence()
    yield from _skips()
    yield State("nothing", {})
    yield State("nothing", {"s-read": Given("read")}, ["s-more"])
    yield from _every_type()


def random_states(name: str, definition: Definition, count: int) -> Iterator[State]:
    """Reproducible random states of a real checklist."""
    chance = random.Random(name)
    for _ in range(count):
        zeal = chance.random()
        answers: dict[str, Given] = {}
        skipped = []
        for _, step in definition.steps():
            if chance.random() < zeal:
                photos = ["photo"] * int(chance.random() * 4)
                answers[step.id] = Given(_value(step, chance), photos, HERE if chance.random() < 0.5 else None)
            if chance.random() < 0.1:
                skipped.append(step.id)
        yield State(name, answers, skipped)


def _of_source(kind: str, values: tuple[Any, ...]) -> Iterator[State]:
    name, source = f"source {kind}", "s-source"
    yield State(name, {})
    yield State(name, {}, [source])
    yield State(name, {source: Given(None, ["photo"])})
    for value in values:
        photos = ["photo"] if kind == "photo" else []
        yield State(name, {source: Given(value, photos)})
    yield State(name, {source: Given(values[0], ["photo"])}, [source])


def _nesting() -> Iterator[State]:
    for opened, people, kind in itertools.product((None, True, False), (None, 9, 10), (None, "o-a", "o-b", "o-A")):
        given = {"s-open": opened, "s-people": people, "s-kind": kind}
        yield State("nesting", {name: Given(value) for name, value in given.items() if value is not None})
    yield State("nesting", {"s-open": Given(True), "s-people": Given(12)}, ["s-people"])


def _chain() -> Iterator[State]:
    full = {"s-first": True, "s-second": False, "s-third": "a leak", "s-fourth": 3, "s-none-of-it": "no"}
    for count in range(len(full) + 1):
        yield State("chain", {name: Given(full[name]) for name in list(full)[:count]})
    for name in full:
        yield State("chain", {other: Given(value) for other, value in full.items()}, [name])
        yield State("chain", {other: Given(value) for other, value in full.items() if other != name})
    # Toggled back: answers of steps that no longer apply are kept and ignored.
    toggled = full | {"s-first": False}
    yield State("chain", {name: Given(value) for name, value in toggled.items()})
    yield State("chain", {name: Given(value) for name, value in toggled.items()}, list(full))
    yield State("chain", {"s-unknown": Given(True)}, ["s-unknown-too"])


def _evidence() -> Iterator[State]:
    for ok, photos in itertools.product((True, False), range(4)):
        evidence = ["photo"] * photos
        yield State("evidence", {"s-fridge-ok": Given(ok, evidence), "s-damage": Given("cracked", evidence)})
    for photos, place in itertools.product(range(5), (None, HERE)):
        names = ("s-photos", "s-photos-from-photo", "s-photos-from-zero", "s-photo-and-place", "s-read")
        yield State("evidence", {name: Given(None, ["photo"] * photos, place) for name in names})
    for value, place in itertools.product((None, 0, 5), (None, HERE)):
        yield State("evidence", {name: Given(value, [], place) for name in ("s-place", "s-place-if-you-like")})


def _skips() -> Iterator[State]:
    names = ("s-required", "s-optional", "s-not-noted", "s-photo")
    for skipped in itertools.chain.from_iterable(itertools.combinations(names, count) for count in range(5)):
        yield State("skips", {"s-required": Given(True), "s-noted": Given("kept")}, list(skipped))
    yield State("skips", {"s-optional": Given(False), "s-not-noted": Given("kept")})
    yield State("no skips", {}, ["s-required", "s-optional"])


def _every_type() -> Iterator[State]:
    answers = {f"s-{kind.replace('_', '-')}": Given(values[0], ["photo"]) for kind, values in GIVEN.items()}
    yield State("every type", {})
    yield State("every type", answers)
    for name in answers:
        yield State("every type", {other: answer for other, answer in answers.items() if other != name})
        yield State("every type", answers | {name: Given(None)}, [])


def _value(step: Step, chance: random.Random) -> Any:
    def pick(values: list[Any]) -> Any:
        return values[int(chance.random() * len(values))]

    match step.type:
        case StepType.RATING:
            low, high = rating_bounds(step)
            return pick(list(range(low, high + 1)))
        case StepType.CHOICE:
            return pick(option_ids(step))
        case StepType.MULTI_CHOICE:
            return [option for option in option_ids(step) if chance.random() < 0.5]
        case StepType.NUMBER:
            config = step.config
            return pick([config.min or 0, config.max or 100, round(chance.random() * 50, config.decimal or 0)])
        case StepType.INSTRUCTION:
            return None
        case _:
            return pick(list(GIVEN[step.type.value]))
