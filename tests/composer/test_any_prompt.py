"""Whatever the prompt is: a template that create accepts unchanged, always the same one, or NothingToCompose.

CHECKLISTS_PROMPT_EXAMPLES=2500 tries 10,000 (default: 150 for each of the four forms).
"""

import gc
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checklist_composer.composing import NothingToCompose, compose
from checklist_crds.templates.validation import definition_problems, parse_definition
from checklist_dev.evaluation.cases import load_cases
from checklist_dev.evaluation.hostile_prompts import HOSTILE, LONGEST, SHORTEST
from checklist_dev.evaluation.prompts import any_prompts, mutated, random_prompt

EXAMPLES = int(os.environ.get("CHECKLISTS_PROMPT_EXAMPLES", "150"))
LARGEST_BODY = 256 * 1024
"""What create reads at most (contract section 2)."""

many = settings(
    max_examples=4 * EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
written = [case.prompt for case in load_cases()]
any_text = st.text(st.characters(exclude_categories=()), min_size=SHORTEST, max_size=300)
sources = st.integers(0, 2**32).map(random.Random)
pasted_lines = st.lists(
    st.tuples(st.sampled_from(("", "- ", "1. ", "  * ", "# ", "[ ] ", "a) ", "\t")), st.text(max_size=20)).map("".join),
    min_size=3,
    max_size=80,
).map(lambda lines: "\n".join(lines)[:LONGEST])


def composed(prompt: str, locale: str | None = None) -> str:
    """The template as create would be sent it; empty when there is nothing to compose."""
    try:
        composition = compose(prompt, locale=locale)
    except NothingToCompose:
        return ""
    assert composition.locale in ("en", "de", "es", "fr")
    document = json.dumps(composition.definition.to_tdl())
    assert len(document.encode()) <= LARGEST_BODY
    read = json.loads(document)
    assert definition_problems(read, strict=True) == []
    assert parse_definition(read) == composition.definition
    assert all(section.steps for section in composition.definition.sections)
    parts = [(source.start or 0, source.end or 0) for source in composition.sources] + [*composition.unused]
    assert all(0 <= start <= end <= len(prompt) for start, end in parts)
    return document


@many
@given(
    any_text | sources.map(random_prompt) | pasted_lines | sources.map(lambda source: mutated(source, written)),
    st.sampled_from((None, "en", "de", "es", "fr")),
)
def test_any_prompt_gives_a_template_that_create_accepts(prompt: str, locale: str | None) -> None:
    assert composed(prompt, locale) == composed(prompt, locale)


@pytest.mark.parametrize("prompt", ["\x00" * 9, " \n\t \u200b\ufeff", "''''", "-\n-\n-\n", "\U0001f600" * 9])
def test_a_prompt_without_a_word_names_nothing(prompt: str) -> None:
    with pytest.raises(NothingToCompose):
        compose(prompt)


def test_hostile_prompts_are_taken_and_neither_order_nor_threads_change_what_is_composed() -> None:
    prompts = [*written[::6], *any_prompts(seed=7, count=len(HOSTILE) + 40, written=written)]
    alone = [composed(prompt) for prompt in prompts]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(composed, reversed(prompts)))[::-1] == alone
    assert gc.isenabled(), "it rests while something is composed"


def test_another_process_with_other_hashes_composes_the_same() -> None:
    prompts = [prompt for prompt in written[::12] if composed(prompt)]
    assert len(prompts) > 10
    code = """import json, sys; from checklist_composer.composing import compose
print(json.dumps([compose(prompt).definition.to_tdl() for prompt in json.load(sys.stdin)]))"""
    environment = os.environ | {"PYTHONHASHSEED": "4242"}
    process = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(prompts),
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(process.stdout) == [compose(prompt).definition.to_tdl() for prompt in prompts]
