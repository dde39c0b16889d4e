"""Templates from prompts: the composer's public face."""

import gc
from dataclasses import dataclass
from functools import cache
from typing import Final

from checklist_crds.resources.template_definition import Definition

from .collector import collector_at_rest
from .draft import Draft, DraftSection, DraftStep
from .finishing import finish
from .language import language_of
from .language_detection import detect
from .library_draft import library_draft
from .locales import LOCALES, Locale
from .ranking import closest_jobs, find_domains, names_job
from .ranking_index import index_of
from .reading import Prompt

_ALSO: Final[dict[Locale, str]] = {"en": "Also", "de": "Außerdem", "es": "Además", "fr": "En plus"}
_MAX_JOB_WORDS: Final = 8
_OWN_LIST: Final = 3
"""A prompt with so many steps of its own is a list, and the library adds nothing."""


class NothingToCompose(ValueError):
    """The prompt asks for no checklist, or for one that neither it nor the library describes; its text says which.

    `closest`: titles of the library's jobs that are nearest to one that is unknown.
    """

    def __init__(self, message: str, closest: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.closest = closest


@dataclass(frozen=True, slots=True)
class StepSource:
    """Where a step came from. `start` and `end` are offsets in the prompt, in characters; none for the library's."""

    step_id: str
    start: int | None
    end: int | None
    confidence: float
    """0 to 1: how sure the composer is of the step's type and condition."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A template that create accepts, its language, and the library's domains that it was made from."""

    definition: Definition
    locale: Locale
    domains: tuple[str, ...]
    sources: tuple[StepSource, ...] = ()
    unused: tuple[tuple[int, int], ...] = ()
    """Offsets of the parts of the prompt that became nothing."""


def compose(prompt: str, *, locale: str | None = None) -> Composition:
    """The template that a prompt asks for: the same prompt, the same template.

    `locale` (en, de, es, fr) is the language of the result where the text does not tell its own; others are ignored.
    Raises NothingToCompose when the text asks for no checklist, or names nothing to check.
    """
    wanted = locale if locale in LOCALES else None
    language = detect(prompt, wanted)
    _keep_tables(language)
    with collector_at_rest:
        return _composed(prompt, language, wanted)


def _composed(prompt: str, language: Locale, wanted: Locale | None) -> Composition:
    said = Prompt(prompt, language)
    if not said.asks_for_checklist() and not _is_job(prompt, language):
        raise NothingToCompose(
            "The text asks for no checklist. Say what the checklist is for, or list what is to be checked."
        )
    reading = said.read()
    steps = reading.draft.steps()
    is_job = names_job(prompt, language, whole=True)
    if len(steps) < _OWN_LIST or is_job:
        domains = find_domains(prompt, language) or find_domains(reading.job or "", language)
        if domains and (not steps or names_job(prompt, language, loosely=True)):
            result = wanted or language
            draft = library_draft(domains[0], result)
            if is_job:
                steps = []  # they are words of the job's name
            if steps:  # what the prompt asks for beside the job
                draft.sections.append(DraftSection(_ALSO[language], steps))
            return _finished(draft, result, domains[:1], tuple(reading.unused))
    if not steps:
        raise NothingToCompose(
            "The library has no checklist for this job. List what is to be checked, or name another job.",
            closest_jobs(reading.job or prompt, language),
        )
    return _finished(reading.draft, language, (), tuple(reading.unused))


def _is_job(prompt: str, language: Locale) -> bool:
    """Whether the prompt is a job of the library by its name, and little else."""
    if names_job(prompt, language, whole=True):
        return True
    return len(prompt.split()) <= _MAX_JOB_WORDS and "?" not in prompt and bool(find_domains(prompt, language))


def _finished(
    draft: Draft, locale: Locale, domains: tuple[str, ...], unused: tuple[tuple[int, int], ...]
) -> Composition:
    finished = finish(draft)
    sources = tuple(_source(step_id, step) for step_id, step in finished.steps)
    return Composition(finished.definition, locale, domains, sources, unused)


def _source(step_id: str, step: DraftStep) -> StepSource:
    start, end = step.source or (None, None)
    return StepSource(step_id, start, end, round(step.confidence, 2))


@cache
def _keep_tables(locale: Locale) -> None:
    """Reads what the composer knows of a language, once, and tells the garbage collector that it stays.

    Otherwise it would look at these hundred thousand objects again and again, each time for as long as many prompts
    take.
    """
    language_of(locale)
    index_of(locale)
    gc.freeze()
