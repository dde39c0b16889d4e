"""The languages that the composer reads and writes."""

from typing import Final, Literal, get_args

Locale = Literal["en", "de", "es", "fr"]
LOCALES: Final[tuple[Locale, ...]] = get_args(Locale)
