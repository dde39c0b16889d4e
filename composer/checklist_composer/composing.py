"""The public interface of the composer: templates from prompts."""

import gc
from dataclasses import dataclass
from functools import cache
from typing import Final

from checklist_crds.resources.template_definition import Definition

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
"""From this many steps in the prompt, the library adds none."""


class NothingToCompose(ValueError):
    """The prompt asks for no checklist, or names a job that neither it nor the library describes.

    `closest`: titles of the library's jobs most similar to an unknown job.
    """

    def __init__(self, message: str, closest: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.closest = closest


@dataclass(frozen=True, slots=True)
class StepSource:
    """Origin of a step. `start` and `end`: character offsets in the prompt; None for a step of the library."""

    step_id: str
    start: int | None
    end: int | None
    confidence: float
    """Confidence in the step's type and condition, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A valid template, its language, and the library domains it was built from."""

    definition: Definition
    locale: Locale
    domains: tuple[str, ...]
    sources: tuple[StepSource, ...] = ()
    unused: tuple[tuple[int, int], ...] = ()
    """Character offsets of the unused parts of the prompt."""


def compose(prompt: str, *, locale: str | None = None) -> Composition:
    """Build the template that a prompt asks for; deterministic.

    `locale` (en, de, es, fr) is the language if none can be detected; other values are ignored.
    Raises NothingToCompose if the prompt asks for no checklist, or names nothing to check.
    """
    wanted = locale if locale in LOCALES else None
    language = detect(prompt, wanted)
    _keep_tables(language)
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
                steps = []  # they are part of the job's name
            if steps:  # requested in addition to the job
                draft.sections.append(DraftSection(_ALSO[language], steps))
            return _finished(draft, result, domains[:1], tuple(reading.unused))
    if not steps:
        raise NothingToCompose(
            "The library has no checklist for this job. List what is to be checked, or name another job.",
            closest_jobs(reading.job or prompt, language),
        )
    return _finished(reading.draft, language, (), tuple(reading.unused))


def _is_job(prompt: str, language: Locale) -> bool:
    """Whether the prompt is little more than the name of a job in the library."""
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
    """Load the tables of a language once, and exclude their objects (100,000) from garbage collection."""
    language_of(locale)
    index_of(locale)
    gc.freeze()
