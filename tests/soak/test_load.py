"""The people of `make soak`: each of their runs comes to an end, and even few of them take photos and fail."""

import random

from checklist_dev.load.checklist import STEPS
from checklist_dev.soak.load import PHOTO_STEP, TEMPLATE, Pace, plan_of

ENDS = {"submit", "cancel", "owner_cancel"}


def test_every_run_ends() -> None:
    rng = random.Random(5)
    for number in range(3000):
        plan = plan_of(rng, Pace(), number)
        ends = bool(plan.ops) and plan.ops[-1].kind in ENDS
        assert ends or plan.expires_in_s is not None


def test_photos_and_dead_receivers_are_among_few_runs_of_any_seed() -> None:
    for seed in range(50):
        plans = [plan_of(random.Random(seed * 100 + number), Pace(), number) for number in range(60)]
        assert any(op.kind == "photo" and op.step_id == PHOTO_STEP for plan in plans for op in plan.ops)
        assert sum(plan.behaviour == "dead" for plan in plans) >= 3


def test_a_photo_comes_before_the_end() -> None:
    plans = [plan_of(random.Random(number), Pace(photo_share=1.0), number) for number in range(200)]
    with_photo = [plan for plan in plans if any(op.kind == "photo" for op in plan.ops)]
    assert len(with_photo) > 100
    assert all(plan.ops[-2].kind == "photo" and plan.ops[-1].kind in ENDS for plan in with_photo)


def test_the_template_is_that_of_the_other_loads_and_a_photo() -> None:
    steps = [step["id"] for section in TEMPLATE["sections"] for step in section["steps"]]
    assert steps == [*(step["id"] for step in STEPS), PHOTO_STEP]
