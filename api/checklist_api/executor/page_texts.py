"""Texts of the server-rendered page behind a link, by language, read from `page_texts.yaml` (the app's texts are in
`api/web/kit/i18n`).

The language is selected by `Accept-Language`, since the app with its settings has not started.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Final, TypeVar

import yaml

_Texts = TypeVar("_Texts")
Titled = tuple[str, str]
"""A title and a sentence."""


@dataclass(frozen=True, slots=True)
class PageTexts:
    """The texts of one language. `page_texts.yaml` describes the members."""

    language: str
    brand: str
    sender: str
    length: str
    steps: Mapping[str, str]
    about: str
    until: str
    no_end: str
    date: str
    states: Mapping[str, Titled]
    refusals: Mapping[str, Titled]
    get_the_app: str
    stores: tuple[str, str]
    no_scripts: Titled
    keep_it: str
    direction: str = "ltr"

    def count_steps(self, count: int) -> str:
        return self.steps[plural_category(self.language, count)].format(count=count)

    def moment(self, moment: datetime) -> str:
        return moment.strftime(self.date).replace("{day}", str(moment.day))


def plural_category(language: str, count: int) -> str:
    """Return the plural category of CLDR, of those that `page_texts.yaml` tells apart."""
    if language == "ar" and count > 1:
        return "two" if count == 2 else "few" if 3 <= count % 100 <= 10 else "other"
    return "one" if count == 1 or (language == "fr" and count == 0) else "other"


def read_texts(made: Callable[..., _Texts], package: str, name: str) -> dict[str, _Texts]:
    """Read a YAML file of the package with the texts of each language, members of `made`."""
    text = files(package).joinpath(name).read_text("utf-8")
    found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return {language: made(language=language, **texts) for language, texts in found.items()}


LANGUAGES: Final[Mapping[str, PageTexts]] = read_texts(PageTexts, __package__, "page_texts.yaml")
ENGLISH: Final = LANGUAGES["en"]


def texts_for(accept_language: str) -> PageTexts:
    return LANGUAGES[language_for(accept_language)]


def language_for(accept_language: str) -> str:
    """Select by `Accept-Language` (RFC 9110 section 12.5.4); English by default."""
    wanted: list[tuple[float, str]] = []
    for item in accept_language.split(",")[:32]:
        tag, _, parameter = item.strip().partition(";")
        language = tag.strip().partition("-")[0].lower()
        if language in LANGUAGES:
            wanted.append((_weight(parameter), language))
    weight, language = max(wanted, key=lambda one: one[0], default=(0.0, "en"))
    return language if weight > 0 else "en"


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
