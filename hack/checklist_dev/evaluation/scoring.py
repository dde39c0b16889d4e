"""The score of a template: the share of expected features, reduced by wrong extras.

score = found / (expected + wrong extras)
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checklist_composer.composing import Composition
from checklist_crds.resources.template_definition import Definition, Section, Step

from .assignment import best_assignment
from .cases import Case, ExpectedStep
from .features import Feature, means, step_features
from .words import folded, says

Compose = Callable[..., Composition]

CLAIMS: Final = (
    "complian",
    "certified",
    "osha",
    "haccp",
    "konform",
    "zertifiziert",
    "cumple",
    "certificad",
    "conforme_a",
)
"""Words of claims that only the prompt may make."""
MAX_NAME: Final = 70
MAX_LABEL: Final = 110
"""Longer ones are not read on a phone."""
_UNTIDY: Final = re.compile(
    r"^\s|^[-*•·.,;:)\]]|^(and|or|und|oder|et|ou)\s|^\d+[.)]\s|[,;:–-]$"
    r"|\b(the|an|of|to|das|el|la|le|les|de)\s+\2\b"
    r"|\s(and|or|the|und|oder|mit|der|et|ou|avec|y|con|de)$",
    re.IGNORECASE,
)
"""Remains of a list or sentence, or repeated words."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one case."""

    case: Case
    features: Sequence[Feature]
    extras: Sequence[str]
    composition: Composition | None

    @property
    def found(self) -> float:
        return sum(feature.found for feature in self.features)

    @property
    def expected(self) -> int:
        """Number of expected features and wrong extras."""
        return len(self.features) + len(self.extras)

    @property
    def value(self) -> float:
        """0 to 1."""
        return self.found / self.expected if self.expected else 1.0

    @property
    def missing(self) -> list[str]:
        return [feature.name for feature in self.features if feature.found < 1]


def score_case(case: Case, compose: Compose) -> Score:
    """Compose the case's prompt and score the result."""
    try:
        composition = compose(case.prompt, locale=case.locale)
    except Exception as error:  # one failing prompt must not hide the results of the others
        return Score(case, list(_nothing(case, repr(error))), [], None)
    definition = composition.definition
    features = [
        Feature("language", float(composition.locale == (case.answers_in or case.language))),
        *_step_features(case.steps, definition),
        *_other_features(case, definition),
    ]
    return Score(case, features, list(_extras(case, definition)), composition)


def _nothing(case: Case, error: str) -> Iterator[Feature]:
    yield Feature(f"a template, not {error}", 0)
    yield from (Feature(f"step {expected.say!r}", 0) for expected in case.steps)


def _step_features(expectations: Sequence[ExpectedStep], definition: Definition) -> Iterator[Feature]:
    located = list(definition.steps())

    def features(expected: ExpectedStep, place: tuple[Section, Step]) -> list[Feature]:
        return list(step_features(expected, *place, definition)) if means(expected, place[1]) else []

    def points(expected: ExpectedStep, place: tuple[Section, Step]) -> float:
        return sum(feature.found for feature in features(expected, place))

    own = [expected for expected in expectations if not expected.shared]
    columns = best_assignment([[points(expected, place) for place in located] for expected in own])
    places = {id(expected): column for expected, column in zip(own, columns, strict=True)}
    for expected in expectations:
        column = places.get(id(expected))
        if expected.shared:
            best = max(range(len(located)), key=lambda index: points(expected, located[index]), default=None)
            column = best if best is not None and means(expected, located[best][1]) else None
        if column is None:
            yield from _absent(expected, definition)
        else:
            yield from features(expected, located[column])


def _absent(expected: ExpectedStep, definition: Definition) -> Iterator[Feature]:
    """The features of a missing step, at most three of which count."""
    any_step = Step.model_validate({"id": "s-any", "type": "text", "label": "any"})
    any_section = Section(id="g-any", title="any", steps=[])
    names = [feature.name for feature in step_features(expected, any_section, any_step, definition)]
    yield from (Feature(name, 0) for name in names[:3])


def _other_features(case: Case, definition: Definition) -> Iterator[Feature]:
    titles = [section.title for section in definition.sections]
    for pattern in case.sections:
        yield Feature(f"section {pattern!r}", float(any(says(title, pattern) for title in titles)))
    count = sum(1 for _ in definition.steps())
    if case.count is not None:
        yield Feature(f"at least {case.count[0]} steps, not {count}", float(count >= case.count[0]))
    settings = definition.settings
    if case.signature is not None:
        yield Feature(f"signature {case.signature}", float(settings.signature_on_complete is case.signature))
    if case.skip is not None:
        yield Feature(f"skip {case.skip}", float(settings.allow_skip is case.skip))
    if case.minutes is not None:
        yield Feature(f"{case.minutes:g} minutes", float(settings.est_minutes == case.minutes))
    if case.identity is not None:
        asked = definition.execution.identity_required.value != "none"
        yield Feature(f"identity {case.identity}", float(asked is case.identity))
    named = len(definition.name) <= MAX_NAME and (case.name is None or says(definition.name, case.name))
    yield Feature(f"name {case.name or ''!r}, not {definition.name!r}", float(named))
    untidy = [text for text in (*titles, *(step.label for _, step in definition.steps())) if _is_untidy(text)]
    yield Feature(f"tidy labels, not {untidy[:3]}", float(not untidy))


def _is_untidy(text: str) -> bool:
    """Whether it does not begin like a sentence (`pH` and `iPad` may), or has remains of its source."""
    first = text.split(maxsplit=1)[0]
    return len(text) > MAX_LABEL or bool(_UNTIDY.search(text)) or (first[0].islower() and first.islower())


def _extras(case: Case, definition: Definition) -> Iterator[str]:
    steps = [step for _, step in definition.steps()]
    if case.count is not None and len(steps) > case.count[1]:
        yield from (f"more than {case.count[1]} steps" for _ in range(len(steps) - case.count[1]))
    if case.kind in ("sentence", "messy"):  # a library has its own sections, and a list is ambiguous
        most = max(1, len(case.sections)) + 1
        yield from (f"section {section.title!r}" for section in definition.sections[most:])
    for step in steps:
        for pattern in case.never:
            if says(step.label, pattern):
                yield f"{pattern!r}: {step.label!r}"
    yield from _twice(definition)
    text = " ".join(_texts(definition))
    yield from (f"claims {claim!r}" for claim in CLAIMS if says(text, claim) and not says(case.prompt, claim))


def _twice(definition: Definition) -> Iterator[str]:
    for section in definition.sections:
        labels = Counter((folded(step.label), str(step.condition)) for step in section.steps)
        for (label, _), times in labels.items():
            yield from (f"twice: {label!r}" for _ in range(times - 1))


def _texts(definition: Definition) -> Iterable[str]:
    yield from (definition.name, definition.description)
    for section in definition.sections:
        yield section.title
        for step in section.steps:
            yield from (step.label, step.hint or "")
