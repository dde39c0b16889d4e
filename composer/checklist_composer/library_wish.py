"""The wish that was put in a way that no rule of reading takes for a job: the library may know it all the same."""

from checklist_crds.template_types import StepType

from .draft import Draft
from .locales import Locale
from .merging import with_library
from .ranking import find_domains, names_job

__all__ = ["instead_of_little"]


def instead_of_little(draft: Draft, prompt: str, *, language: Locale, locale: Locale) -> tuple[Draft, tuple[str, ...]]:
    """The library's list when the reader made nothing of a prompt, or one plain thing to do that is a job's name.

    "Our drivers must look at the truck each morning" has no steps of its own, but names a job. Otherwise the draft as
    it is, and no ids.
    """
    steps = draft.steps()
    if steps:
        plain = len(steps) == 1 and steps[0].type is StepType.BOOLEAN and not steps[0].photo and not steps[0].geo
        if not plain or not names_job(prompt, language, loosely=True):
            return draft, ()
    elif not find_domains(prompt, language):
        return draft, ()
    draft.sections = []
    draft.name = None
    return with_library(draft, prompt, language=language, locale=locale, complete=False)
