"""The composer's face: text in, template out, always the same."""

import os
import subprocess
import sys

import pytest

from checklist_composer.composing import NothingToCompose, compose
from checklist_crds.template_validation import definition_problems

_PROMPT = "Check the doors and the fridge (below 5 °C), condition: good or worn. If it is worn, take 2 photos."


def test_a_template_is_one_that_create_accepts_unchanged() -> None:
    document = compose(_PROMPT).definition.to_tdl()
    assert definition_problems(document, strict=True) == []
    assert "id" not in document


def test_the_same_prompt_gives_the_same_template_in_every_process() -> None:
    program = f"from checklist_composer.composing import compose; print(compose({_PROMPT!r}).definition.to_tdl())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{compose(_PROMPT).definition.to_tdl()}\n"}


@pytest.mark.parametrize("prompt", ["....", "!?!?", "    ", "\x00\x01\x02\x03", "😀😀😀😀", "----\n====", "''''"])
def test_a_text_that_names_nothing_composes_nothing(prompt: str) -> None:
    with pytest.raises(NothingToCompose):
        compose(prompt)


def test_a_job_that_is_only_named_comes_from_the_library_in_the_language_that_is_asked_for() -> None:
    english, german = compose("forklift pre-use"), compose("forklift pre-use", locale="de")
    assert english.domains == german.domains == ("forklift-pre-use",)
    assert (english.locale, german.locale) == ("en", "de")
    assert english.definition.name != german.definition.name


def test_the_writers_own_words_are_never_translated() -> None:
    composition = compose("Check the doors, the windows and the lights of the hall", locale="de")
    assert composition.locale == "en"
    assert next(step.label for _, step in composition.definition.steps()) == "Check the doors"


def test_a_locale_that_nobody_knows_is_no_reason_to_fail() -> None:
    assert compose(_PROMPT, locale="xx").locale == "en"


def test_details_of_a_wish_are_put_into_the_list_of_the_job() -> None:
    composition = compose("forklift pre-use checklist with the driver's signature and at least 3 photos of the forks")
    assert composition.domains == ("forklift-pre-use",)
    assert composition.definition.settings.signature_on_complete
    forks = [step for _, step in composition.definition.steps() if "fork" in step.label.casefold()]
    assert any((step.photo and step.photo.min == 3) or step.config.min == 3 for step in forks)


def test_markup_stays_text() -> None:
    composition = compose("<b>Check</b> the <script>alert(1)</script> door")
    assert any("script" in step.label for _, step in composition.definition.steps())


def test_nothing_claims_that_a_rule_of_law_is_met() -> None:
    text = str(compose("restaurant opening checklist").definition.to_tdl()).casefold()
    assert not any(word in text for word in ("haccp", "osha", "iso ", "compliant", "certified"))
