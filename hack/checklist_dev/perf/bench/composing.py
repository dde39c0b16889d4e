"""Measures the composer with real, random, hostile and huge prompts."""

import contextlib
import time
from collections.abc import Sequence
from typing import Final

from checklist_composer.composing import NothingToCompose, compose
from checklist_crds.templates.validation import definition_problems
from checklist_dev.evaluation.cases import load_cases
from checklist_dev.evaluation.prompts import any_prompts
from checklist_dev.perf.bench.report import Figure, Goal, percentile

GOAL_MS: Final = 50.0
_SEED: Final = 6


def measure_composing(count: int) -> list[Figure]:
    """Compose `count` prompts of 4 to 4,000 characters, one after another, with warm word lists."""
    written = [case.prompt for case in load_cases()]
    prompts = list(any_prompts(_SEED, count, written))
    for prompt in written:
        _compose_ms(prompt)
    of_people = [_compose_ms(prompt) for prompt in written]
    of_all = [_compose_ms(prompt) for prompt in prompts]
    refused = sum(_is_refused(prompt) for prompt in prompts)
    size = sum(map(len, prompts)) / len(prompts)
    return [
        *_figures(f"compose, {len(written)} prompts of the evaluation", of_people, ""),
        *_figures(f"compose, {count} random, hostile and huge prompts", of_all, f"{size:.0f} characters on average"),
        Figure("templates that create would refuse", refused, "", Goal("==", 0), f"{count} prompts"),
    ]


def _figures(name: str, times: Sequence[float], baseline: str) -> list[Figure]:
    return [
        Figure(f"{name}: p50", percentile(times, 50), "ms"),
        Figure(f"{name}: p99", percentile(times, 99), "ms", Goal("<=", GOAL_MS), baseline, (min(times), max(times))),
    ]


def _compose_ms(prompt: str) -> float:
    began = time.perf_counter()
    with contextlib.suppress(NothingToCompose):
        compose(prompt)
    return (time.perf_counter() - began) * 1000


def _is_refused(prompt: str) -> bool:
    try:
        definition = compose(prompt).definition
    except NothingToCompose:
        return False
    return bool(definition_problems(definition.to_tdl(), strict=True))
