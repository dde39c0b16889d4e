"""Templates from prompts: the composer's public face."""

import gc
from dataclasses import dataclass
from functools import cache

from checklist_crds.template_types import Definition

from .collector import collector_at_rest
from .finishing import finish
from .language import language_of
from .language_detection import detect
from .library_wish import instead_of_little
from .locales import LOCALES, Locale
from .merging import with_library
from .ranking_index import index_of
from .reading import read


class NothingToCompose(ValueError):
    """The text names nothing that could be checked."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A template that create accepts, its language, and the library's domains that it was made from."""

    definition: Definition
    locale: Locale
    domains: tuple[str, ...]


def compose(prompt: str, *, locale: str | None = None) -> Composition:
    """The template that a prompt asks for: the same prompt, the same template.

    `locale` (en, de, es, fr) is the language of the result where the text does not tell its own; others are ignored.
    Raises NothingToCompose when the text names nothing to check.
    """
    wanted = locale if locale in LOCALES else None
    language = detect(prompt, wanted)
    _keep_tables(language)
    with collector_at_rest:
        return _composed(prompt, language, wanted)


def _composed(prompt: str, language: Locale, wanted: Locale | None) -> Composition:
    reading = read(prompt, language)
    draft = reading.draft
    result = wanted or language
    if reading.job is not None:
        draft, domains = with_library(draft, reading.job, language=language, locale=result, complete=reading.listed)
    else:
        draft, domains = instead_of_little(draft, prompt, language=language, locale=result)
    if not draft.steps():
        raise NothingToCompose("The text names nothing that could be checked.")
    return Composition(finish(draft), result if draft.locale == result else language, domains)


@cache
def _keep_tables(locale: Locale) -> None:
    """Reads what the composer knows of a language, once, and tells the garbage collector that it stays.

    Otherwise it would look at these hundred thousand objects again and again, each time for as long as many prompts
    take.
    """
    language_of(locale)
    index_of(locale)
    gc.freeze()
