"""Puts what a wish says itself into the list that the library has for the job.

The wish always wins: its bounds, its words, its photos. What it asks for that the library's list has already is not
asked twice; what the list does not have is added where it belongs.
"""

from dataclasses import replace
from typing import Final

from checklist_crds.condition_types import Operator
from checklist_crds.template_types import StepType

from .draft import Draft, DraftSection, DraftStep
from .library_draft import LibraryDraft, comparisons_of, follow_ups, library_draft
from .locales import Locale
from .merging_match import SAME_THING, Found, best_step, photos_of, speaks_of, thing_of, with_photos
from .ranking import find_domains, generic_list
from .ranking_terms import plain_words, says_each, thing_stems

__all__ = ["with_library"]

MOST_DETAILS: Final = 60
"""A wish with more steps of its own is a list, not a job with details."""
_LAST: Final = "result"
"""Key of the section that ends a domain's list; what is added stands before it."""

_OF_A_PART: Final = frozenset({StepType.PHOTO, StepType.RATING})
_WITHOUT_PHOTO: Final = frozenset({StepType.PHOTO, StepType.SIGNATURE, StepType.INSTRUCTION})
_ADDED: Final = "added"
_ALSO: Final[dict[Locale, str]] = {"en": "Also", "de": "Außerdem", "es": "Además", "fr": "En plus"}


def with_library(
    draft: Draft, job: str, *, language: Locale, locale: Locale, complete: bool
) -> tuple[Draft, tuple[str, ...]]:
    """The draft with what the library knows about `job`, and the ids of the domains that this came from.

    `draft` holds what the wish itself says, in `language`; the library's texts are in `locale`. A `complete` wish lists
    what is to be done, so nothing is added. A job that no domain is about gets a generic list if the wish has no
    steps, and no ids. The given draft's steps become part of the result.
    """
    own = draft.steps()
    if (complete and own) or len(own) > MOST_DETAILS:
        return draft, ()
    job = _in_full(job, draft.name)
    domains = find_domains(job, language)
    if own and not domains:
        return draft, ()
    blocks = domains or (generic_list(job, language),)
    return _Merge(library_draft(blocks, locale), draft, language, locale).merged(), domains


def _in_full(job: str, name: str | None) -> str:
    """The job with the words that the reader took for the list's: an "inspection checklist" is for an inspection."""
    return name if name and set(plain_words(job)) <= set(plain_words(name)) else job


def _bounds_of(photos: DraftStep) -> tuple[int, int | None]:
    return int(photos.minimum or 1), None if photos.maximum is None else int(photos.maximum)


class _Merge:
    """One wish and one list of the library, while they become one draft."""

    def __init__(self, library: LibraryDraft, wish: Draft, language: Locale, locale: Locale) -> None:
        self._draft = library.draft
        self._blocks = library.blocks
        self._wish = wish
        self._language = language
        self._locale = locale
        self._became: dict[DraftStep, DraftStep] = {}
        """Steps of the wish to the library's, where both ask the same."""
        self._touched: set[DraftStep] = set()

    def merged(self) -> Draft:
        for section in self._wish.sections:
            self._section(section)
        for step in self._draft.steps():
            self._redirect(step)
        for step in self._wish.steps():
            self._settle(step)
        self._settings()
        return self._draft

    def _section(self, section: DraftSection) -> None:
        own = None if section.title is None else self._part(section.title)
        for step in section.steps:
            if step.condition is not None:
                self._after_its_source(step, own)
                continue
            found = best_step(step, self._candidates(step), self._blocks, self._language)
            part = own or self._part_about(thing_of(step, self._language))
            if self._is_photo_of_each(step, part, found) or (own is None and self._is_number_of_photos(step)):
                continue
            if part is not None and step.type in _OF_A_PART and (found is None or found.likeness < SAME_THING):
                self._add_to_part(step, part)
            elif found is None or not found.same_kind or not self._merge_into(found, step):
                self._add(step, found, part)
        if own is not None and own.steps and own not in self._draft.sections:
            self._append(own)

    def _is_photo_of_each(self, step: DraftStep, part: DraftSection | None, found: Found | None) -> bool:
        """`Take a photo of each step`, `photos of every machine`: attached to all steps of the list, or of its part."""
        if step.type is not StepType.PHOTO or not says_each(step.label, self._language):
            return False
        thing = thing_of(step, self._language)
        if thing and (part is None or (found is not None and found.likeness >= SAME_THING)):
            return False
        for known in part.steps if part and thing else self._draft.steps():
            if known.type not in _WITHOUT_PHOTO:
                known.photo = with_photos(known.photo, photos_of(step))
        return True

    def _is_number_of_photos(self, step: DraftStep) -> bool:
        """`With two photos`, of nothing in particular: they are those that the library asks for, if it asks once."""
        if step.type is not StepType.PHOTO or thing_of(step, self._language):
            return False
        photos = [one for one in self._draft.steps() if one.type is step.type and one in self._blocks]
        if len(photos) != 1 or photos[0].condition is not None or photos[0] in self._touched:
            return False
        return self._merge_into(Found(photos[0], 1.0, covers=True, same_kind=True), step)

    def _add_to_part(self, step: DraftStep, part: DraftSection) -> None:
        """Photos or grades of a whole part: into the library's own step for them, if the part has one."""
        for known in part.steps:
            if known.type is step.type and known.condition is None and known in self._blocks:
                self._merge_into(Found(known, 1.0, covers=True, same_kind=True), step)
                return
        part.steps.append(step)

    def _part(self, title: str) -> DraftSection:
        """The library's section with the same title, or a new one."""
        thing = thing_stems(title, self._language)
        for section in self._draft.sections:
            if thing and section.title and thing_stems(section.title, self._language) == thing:
                return section
        return DraftSection(title)

    def _part_about(self, thing: frozenset[str]) -> DraftSection | None:
        """The library's section about this thing: "photos of the bathroom" are of all of it."""
        return next((one for one in self._draft.sections if speaks_of(one.title or "", thing, self._language)), None)

    def _candidates(self, step: DraftStep) -> list[DraftStep]:
        compared = self._is_compared(step)
        return [
            known
            for known in self._draft.steps()
            # An answer that the wish's conditions look at must stay one of the same type.
            if known not in self._touched and (not compared or (known.type is step.type and not known.condition))
        ]

    def _is_compared(self, step: DraftStep) -> bool:
        return any(True for _ in follow_ups(self._wish.steps(), step))

    def _merge_into(self, found: Found, step: DraftStep) -> bool:
        """Whether the library's step could take in what the wish says, so that it need not be asked again."""
        known = found.step
        if step.type is StepType.PHOTO and known.type is not StepType.PHOTO:
            if not found.covers or known.type is StepType.SIGNATURE:
                return False
            known.photo = with_photos(known.photo, photos_of(step))
            known.required = known.required or step.required is not False
            known.geo = known.geo or step.geo
        elif step.type is known.type and (found.covers or found.likeness >= SAME_THING):
            self._enrich(known, step, found)
        elif step.type is StepType.BOOLEAN and found.covers and not self._is_compared(step):
            self._take_flags(known, step)
        elif found.likeness >= SAME_THING:
            self._replace(known, step)
            return True
        else:
            return False
        self._touched.add(known)
        self._became[step] = known
        return True

    def _enrich(self, known: DraftStep, step: DraftStep, found: Found) -> None:
        other_unit = step.unit is not None and step.unit != known.unit
        if step.type is StepType.PHOTO:
            known.minimum, known.maximum = with_photos(_bounds_of(known), photos_of(step))
        elif step.minimum is not None or step.maximum is not None or other_unit:
            self._limit(known, step)
        if step.options:
            self._forget_follow_ups(known)
            known.options = step.options
        if not found.covers and self._locale == self._language:
            known.label = step.label
        for name in ("placeholder", "low_label", "high_label", "true_label", "false_label", "multiline"):
            if (value := getattr(step, name)) is not None:
                setattr(known, name, value)
        self._take_flags(known, step)

    def _limit(self, known: DraftStep, step: DraftStep) -> None:
        """The wish's bounds and unit. What the library says about limits would contradict them, and its follow-ups
        wait for values that are refused now."""
        for follow_up in self._follow_ups(known):
            if any(comparison.op is not Operator.EXISTS for comparison in comparisons_of(follow_up)):
                self._remove(follow_up)
        known.minimum, known.maximum, known.decimal = step.minimum, step.maximum, step.decimal
        known.unit = step.unit or known.unit
        if known.hint and any(character.isdigit() for character in known.hint):
            known.hint = None

    def _take_flags(self, known: DraftStep, step: DraftStep) -> None:
        known.required = step.required is not False  # who speaks of it wants it
        known.photo = with_photos(known.photo, step.photo) if step.photo else known.photo
        known.geo = known.geo or step.geo
        known.hint = step.hint or known.hint

    def _replace(self, known: DraftStep, step: DraftStep) -> None:
        self._forget_follow_ups(known)
        for section in self._draft.sections:
            if known in section.steps:
                section.steps[section.steps.index(known)] = step

    def _forget_follow_ups(self, known: DraftStep) -> None:
        for follow_up in self._follow_ups(known):
            self._remove(follow_up)

    def _follow_ups(self, known: DraftStep) -> list[DraftStep]:
        return list(follow_ups(self._draft.steps(), known))

    def _remove(self, step: DraftStep) -> None:
        if step in self._touched:  # the wish asks for it, too
            step.condition = None
            return
        self._forget_follow_ups(step)
        for section in self._draft.sections:
            section.steps = [other for other in section.steps if other is not step]
        self._draft.sections = [section for section in self._draft.sections if section.steps]

    def _after_its_source(self, step: DraftStep, own: DraftSection | None) -> None:
        """A step that depends on others stands behind the last of them, and behind what depends on that already."""
        sources = {id(self._became.get(one.step, one.step)) for one in comparisons_of(step)}
        sections = self._draft.sections
        for section in reversed([*sections, *([own] if own and own not in sections else [])]):
            places = [
                place
                for place, other in enumerate(section.steps)
                if id(other) in sources or sources & {id(one.step) for one in comparisons_of(other)}
            ]
            if places:
                section.steps.insert(places[-1] + 1, step)
                return
        self._add(step, None, own)

    def _add(self, step: DraftStep, near: Found | None, own: DraftSection | None) -> None:
        if own is not None:
            own.steps.append(step)
            return
        if near is not None:
            for section in self._draft.sections:
                if near.step in section.steps:
                    section.steps.insert(section.steps.index(near.step) + 1, step)
                    return
        if step.type in {StepType.SIGNATURE, StepType.PHOTO} and self._draft.sections:
            self._draft.sections[-1].steps.append(step)
            return
        self._also().steps.append(step)

    def _also(self) -> DraftSection:
        """The section for what belongs to none of the library's."""
        for section in self._draft.sections:
            if section.key == _ADDED:
                return section
        section = DraftSection(_ALSO[self._locale], key=_ADDED)
        self._append(section)
        return section

    def _append(self, section: DraftSection) -> None:
        """A section more, before the one that ends the list."""
        sections = self._draft.sections
        ends = bool(sections) and (sections[-1].key or "").endswith(f"/{_LAST}")
        sections.insert(len(sections) - ends, section)

    def _redirect(self, step: DraftStep) -> None:
        """Conditions of the wish's steps look at the steps that theirs became."""
        if step.condition is not None:
            step.condition = replace(
                step.condition,
                comparisons=[replace(one, step=self._became.get(one.step, one.step)) for one in comparisons_of(step)],
            )

    def _settle(self, step: DraftStep) -> None:
        """A section of the wish may have come to stand before one that its steps depend on."""
        order = {known: place for place, known in enumerate(self._draft.steps())}
        sources = [one.step for one in comparisons_of(step)]
        if step not in order or all(order.get(source, -1) < order[step] for source in sources):
            return
        last = max(sources, key=lambda source: order.get(source, -1))
        for section in self._draft.sections:
            section.steps = [other for other in section.steps if other is not step]
        for section in self._draft.sections:
            if last in section.steps:
                section.steps.insert(section.steps.index(last) + 1, step)

    def _settings(self) -> None:
        draft, wish = self._draft, self._wish
        if wish.name and (wish.locale == draft.locale or not draft.name):
            draft.name = wish.name
        draft.description = wish.description or draft.description
        draft.tags = list(dict.fromkeys([*draft.tags, *wish.tags]))
        draft.allow_skip = wish.allow_skip
        draft.identity_required = wish.identity_required
        draft.est_minutes = draft.est_minutes if wish.est_minutes is None else wish.est_minutes
        if wish.signature_on_complete is not None:
            draft.signature_on_complete = wish.signature_on_complete
