"""docs/generating.md says what is so: its reasons, its first example, its bounds."""

import json
import re
from pathlib import Path

from checklist_api.generation.language_model.allowance import AT_ONCE, AT_ONCE_OF_ONE
from checklist_api.generation.language_model.client import MAX_ANSWER_BYTES
from checklist_api.generation.language_model.failures import Reason
from checklist_api.generation.language_model.provider import MAX_CORRECTIONS
from checklist_api.generation.models import PROMPT_LENGTHS
from checklist_cli.commands import generate as generate_command
from checklist_composer.composing import compose
from checklist_composer.locales import LOCALES
from checklist_crds.resources.template_definition import StepType

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "generating.md").read_text(encoding="utf-8")


def test_every_reason_is_explained_and_no_other() -> None:
    assert set(re.findall(r"^\| `(model_\w+)` \|", GUIDE, re.MULTILINE)) == {reason.value for reason in Reason}


def test_the_bounds_that_it_names_are_those_of_the_code() -> None:
    assert PROMPT_LENGTHS == (4, 4_000)
    assert "4 to 4,000 characters" in GUIDE
    assert f"more than {MAX_ANSWER_BYTES // 1024} KiB" in GUIDE
    assert (AT_ONCE, AT_ONCE_OF_ONE, MAX_CORRECTIONS) == (16, 4, 2)
    assert "sixteen prompts are with the model, or four of this organization" in GUIDE
    assert "at most twice" in GUIDE
    assert all(f"`{locale}`" in GUIDE for locale in LOCALES)
    assert (generate_command.LOCALES, generate_command._LENGTHS) == (LOCALES, PROMPT_LENGTHS)


def test_the_first_example_gives_what_it_asks_for() -> None:
    found = re.search(r"-d '(\{\"prompt\": .*?\})'", GUIDE)
    assert found is not None
    template = compose(json.loads(found[1])["prompt"]).definition
    steps = [step for _, step in template.steps()]
    text = " ".join(step.label.casefold() for step in steps)
    assert all(word in text for word in ("tyres", "lights", "mirrors", "pressure", "damage"))
    (pressure,) = (step for step in steps if step.type is StepType.NUMBER)
    assert (pressure.config.min, pressure.config.max, pressure.config.unit) == (None, None, "bar")
    assert pressure.hint is not None and "2.2 to 2.6" in pressure.hint, "a limit is for the reader, and refuses nothing"
    (photos,) = (step for step in steps if step.type is StepType.PHOTO)
    assert photos.config.min == 2
    assert photos.condition is not None
    assert template.settings.signature_on_complete or any(step.type is StepType.SIGNATURE for step in steps)
