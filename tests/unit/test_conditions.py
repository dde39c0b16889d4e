"""What the cases of tests/vectors (test_vectors.py) leave out: where a photo step's number of photos comes from."""

from typing import Any

from tests.unit.tdl_strategies import GivenAnswer

from checklist_crds.conditions import is_answered
from checklist_crds.template_validation import parse_definition


def test_a_step_of_type_photo_asks_for_the_photos_of_its_config_and_else_for_those_of_its_photo_field() -> None:
    def answered_with_one(**step: Any) -> bool:
        steps = [{"id": "s-1", "type": "photo", "label": "Label", **step}]
        definition = parse_definition({"name": "N", "sections": [{"id": "g-1", "title": "T", "steps": steps}]})
        return is_answered(next(step for _, step in definition.steps()), GivenAnswer(None, ["one"]))

    assert answered_with_one(photo={"min": 2}, config={"min": 1})
    assert not answered_with_one(photo={"min": 1}, config={"min": 2})
    assert not answered_with_one(photo={"min": 2})
