"""Whatever the prompt is: a template that create accepts unchanged, always the same one, or NothingToCompose.

CHECKLISTS_PROMPT_EXAMPLES=2500 tries 10,000 (default: 250 for each of the four properties).
"""

import hashlib
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
from checklist_crds.template_validation import definition_problems, parse_definition
from checklist_dev.evaluation.cases import load_cases
from checklist_dev.evaluation.hostile_prompts import HOSTILE, LONGEST, SHORTEST
from checklist_dev.evaluation.prompts import GAPS, NUMBERS, SIGNS, STRANGE, UNITS, WORDS, any_prompts, mutated
from checklist_dev.repository import ROOT

EXAMPLES = int(os.environ.get("CHECKLISTS_PROMPT_EXAMPLES", "250"))
LARGEST_BODY = 256 * 1024
"""What create reads at most (contract section 2)."""

many = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
locales = st.sampled_from((None, "en", "de", "es", "fr"))
written = [case.prompt for case in load_cases()]


def of_length(text: str) -> str:
    return text[:LONGEST] if len(text) >= SHORTEST else text + "door"


any_text = st.text(st.characters(exclude_categories=()), min_size=SHORTEST, max_size=300)
part = st.tuples(
    st.sampled_from((*WORDS, *WORDS, *NUMBERS, *UNITS, *SIGNS, *STRANGE)),
    st.sampled_from(GAPS),
    st.sampled_from((1, 1, 60)),
).map(lambda parts: (parts[0] + parts[1]) * parts[2])
some_words = st.lists(part, min_size=1, max_size=60).map("".join).map(of_length)
pasted_lines = st.lists(
    st.tuples(st.sampled_from(("", "- ", "1. ", "  * ", "# ", "[ ] ", "a) ", "\t")), st.text(max_size=20)).map("".join),
    min_size=3,
    max_size=80,
).map(lambda lines: of_length("\n".join(lines)))


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
    assert next(composition.definition.steps(), None) is not None
    assert all(section.steps for section in composition.definition.sections)
    return document


@many
@given(any_text, locales)
def test_any_text_gives_a_template_that_create_accepts(prompt: str, locale: str | None) -> None:
    assert composed(prompt, locale) == composed(prompt, locale)


@many
@given(some_words, locales)
def test_any_words_give_a_template_that_create_accepts(prompt: str, locale: str | None) -> None:
    assert composed(prompt, locale) == composed(prompt, locale)


@many
@given(pasted_lines)
def test_any_pasted_lines_give_a_template_that_create_accepts(prompt: str) -> None:
    composed(prompt)


@many
@given(st.integers(0, 2**32))
def test_a_changed_prompt_of_somebody_gives_a_template_that_create_accepts(seed: int) -> None:
    composed(mutated(random.Random(seed), written))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_prompt_gives_a_template_that_create_accepts(name: str) -> None:
    first = composed(HOSTILE[name])
    assert composed(HOSTILE[name]) == first


@pytest.mark.parametrize(
    "prompt",
    [
        "i\tunless must",
        "2)if must\n- u",
        "e If work\n",
        "e0à10Si 1,8,a",
        "\nsi\n..",
        "i\n.\n>\n\n`\nİ\n-",
        "\U0001f600" * 4,
    ],
)
def test_a_prompt_that_broke_the_composer_once_does_not_any_more(prompt: str) -> None:
    composed(prompt)


@pytest.mark.parametrize("prompt", ["\x00" * 9, " \n\t \u200b\ufeff", "....????", "-\n-\n-\n", "\U0001f600" * 9])
def test_a_prompt_without_a_word_names_nothing(prompt: str) -> None:
    with pytest.raises(NothingToCompose):
        compose(prompt)


def test_what_was_composed_before_changes_nothing() -> None:
    prompts = [*written, *any_prompts(seed=7, count=len(HOSTILE) + 40, written=written)]
    forward = [composed(prompt) for prompt in prompts]
    assert [composed(prompt) for prompt in reversed(prompts)][::-1] == forward


def test_threads_that_compose_at_the_same_time_compose_the_same() -> None:
    prompts = [*written[::4], *any_prompts(seed=8, count=20, written=written)]
    alone = [composed(prompt) for prompt in prompts]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(composed, prompts)) == alone


def test_another_process_with_other_hashes_composes_the_same() -> None:
    digests = {_digest_in_a_process(hash_seed) for hash_seed in ("0", "4242")}
    assert len(digests) == 1


def _digest_in_a_process(hash_seed: str) -> str:
    code = "from tests.composer.test_any_prompt import digest; print(digest())"
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def digest() -> str:
    """One number for the templates of some written prompts and all hostile ones."""
    prompts = [*written[::2], *any_prompts(seed=9, count=len(HOSTILE) + 20, written=written)]
    together = "\n".join(composed(prompt) for prompt in prompts)
    return hashlib.sha256(together.encode()).hexdigest()
