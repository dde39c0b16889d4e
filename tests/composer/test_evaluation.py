"""The composer's templates have what a person would expect: the floor under `make eval`."""

import pytest

from checklist_composer.composing import compose
from checklist_dev.evaluation.cases import Case, load_cases
from checklist_dev.evaluation.report import EACH_FLOOR, OVERALL_FLOOR, Verdict, details
from checklist_dev.evaluation.scoring import score_case

CASES = load_cases()


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return Verdict([score_case(case, compose) for case in CASES])


def test_the_templates_have_nine_tenths_of_what_a_person_would_expect(verdict: Verdict) -> None:
    assert verdict.overall >= OVERALL_FLOOR, details(sorted(verdict.scores, key=lambda score: score.value)[:12])


def test_no_template_lacks_more_than_a_quarter_of_what_a_person_would_expect(verdict: Verdict) -> None:
    assert verdict.low == [], details(verdict.low)


def test_the_prompts_are_of_many_trades_languages_kinds_and_lengths() -> None:
    assert len(CASES) >= 80
    assert len({case.trade for case in CASES}) >= 40
    assert {case.language for case in CASES} == {"en", "de", "es", "fr"}
    assert {case.kind for case in CASES} == {"job", "sentence", "list", "procedure", "messy", "mixed"}
    lengths = [len(case.prompt) for case in CASES]
    assert min(lengths) < 20
    assert max(lengths) > 3_000


@pytest.mark.parametrize("language", ["en", "de", "es", "fr"])
def test_no_language_falls_behind(verdict: Verdict, language: str) -> None:
    scores = [score for score in verdict.scores if score.case.language == language]
    assert sum(score.value for score in scores) / len(scores) >= OVERALL_FLOOR - 0.05, details(scores, below=0.85)


def test_every_case_expects_something_of_its_own() -> None:
    def features(case: Case) -> int:
        return len(case.steps) + len(case.sections) + (case.count is not None) + len(case.never) + bool(case.name)

    assert [case.id for case in CASES if features(case) < 2] == []
    assert EACH_FLOOR < OVERALL_FLOOR
