"""Parses settings from text where pydantic does not.

Text from an environment is parsed here; values of the right type, as in tests, are kept. An error message completes
"must be ..." and contains no secret.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_BASE_URL: Final = re.compile(r"https?://[^\s/?#@]+(/[A-Za-z0-9._~-]+)*/?")
_SHOWN: Final = 80


class Text:
    """Parses text with `parse`, which raises ValueError."""

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self.parse = parse

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: self.parse(value) if isinstance(value, str) else value
        )


def _whole(value: object) -> object:
    """Helm writes large numbers of its values as 1e+06."""
    if isinstance(value, str) and re.fullmatch(r"[0-9](\.[0-9]+)?e\+[0-9]{2}", value) and float(value).is_integer():
        return int(float(value))
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value) is None:
        raise ValueError("must be a whole number")
    return value


def _number(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]{1,2})?", value) is None:
        raise ValueError("must be a number")
    return value


_SWITCHES: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def _switch(value: object) -> object:
    return _SWITCHES.get(value.lower(), value) if isinstance(value, str) else value


Whole = Annotated[int, BeforeValidator(_whole)]
Number = Annotated[float, BeforeValidator(_number)]
Switch = Annotated[bool, BeforeValidator(_switch)]
"""1, true, yes, on; 0, false, no, off; in small or capital letters."""
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


def listed(text: str) -> tuple[str, ...]:
    """Splits at commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


Words = Annotated[tuple[str, ...], Text(listed)]
LIST_SCHEMA: Final = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string", "minLength": 1}}]}
"""In the chart, a list may be a list or comma-separated text."""


def base_url(text: str) -> str:
    """Returns scheme, host, and the optional prefix that a proxy removes, without a trailing slash."""
    if _BASE_URL.fullmatch(text) is None:
        raise ValueError(f"must be http(s)://host, perhaps with a path, not {shown(text)}")
    return text.rstrip("/")


BaseUrl = Annotated[str, Text(base_url)]


def is_loopback(url: str) -> bool:
    return (urlsplit(url).hostname or "") in LOOPBACK


def shown(text: str) -> str:
    """Shortens a value for an error message: one line, not too long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
