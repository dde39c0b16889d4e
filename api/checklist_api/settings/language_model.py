"""Settings of the language model and its budgets. Without a URL only the composer generates templates."""

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Annotated, ClassVar, Final, NamedTuple
from urllib.parse import urlsplit

from checklist_crds.settings.declaring import PREFIX, Group, setting
from checklist_crds.settings.forms import LOOPBACK, Number, Text, Whole, shown
from checklist_crds.settings.renewable import Certificates, SecretText

_LIMIT: Final = re.compile(r"(?:(\d{1,9})/h)?\s*(?:(\d{1,9})/day)?")
_PRICES: Final = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)\s+(\d{1,6}(?:\.\d{1,9})?)")
_MONEY: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_TOKENS: Final = re.compile(r"[1-9][0-9]{0,11}|[0-9](?:\.[0-9]+)?e\+[0-9]{2}")


class Fallback(StrEnum):
    """What to do if the model fails."""

    COMPOSER = "composer"
    ERROR = "error"


class PromptLimit(NamedTuple):
    """Rate limit of prompts per organization; None: unlimited."""

    per_hour: int | None
    per_day: int | None


class Prices(NamedTuple):
    """Prices per million tokens."""

    sent: float
    written: float


def _limit(text: str) -> PromptLimit:
    if text == "off":
        return PromptLimit(None, None)
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise ValueError(f'must be like "60/h 300/day", or "off", not {shown(text)}')
    hour, day = (int(number) if number else None for number in match.groups())
    if hour is not None and day is not None and hour > day:
        raise ValueError(f"must not allow more in an hour ({hour}) than in a day ({day})")
    return PromptLimit(hour, day)


def _tokens(text: str) -> int | None:
    if text == "off":
        return None
    if _TOKENS.fullmatch(text) is None:
        raise ValueError(f'must be a whole number above 0, or "off", not {shown(text)}')
    return int(float(text))


def _prices(text: str) -> Prices:
    match = _PRICES.fullmatch(text)
    if match is None:
        raise ValueError(f'must be two prices, like "0.15 0.60", not {shown(text)}')
    return Prices(float(match[1]), float(match[2]))


def _money(text: str) -> float | None:
    if text == "off":
        return None
    if _MONEY.fullmatch(text) is None:
        raise ValueError(f"must be an amount like 5.00, not {shown(text)}")
    return float(text)


def _url(text: str) -> str:
    """Validate a URL. Errors do not repeat it, because it may contain a password."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not text.isascii() or any(character <= " " for character in text):
        raise ValueError("must be an absolute http(s) URL")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("must have no user, query or fragment; set the key in its own setting")
    return text.rstrip("/")


Url = Annotated[str, Text(_url)]
_URL_SCHEMA: Final = {"type": "string", "pattern": "^https?://[^@?# ]+$"}


class ModelSettings(Group):
    """Address and limits of the model; None: unlimited."""

    prefix = f"{PREFIX}MODEL_"
    title = "Language model"
    asked_by: ClassVar[str | None] = "url"

    url: Url = setting(
        ...,
        "base URL of an OpenAI-compatible model server that generates templates, such as https://models.example/v1",
        default_text="none: the built-in composer does",
        schema=_URL_SCHEMA,
    )
    """Without a trailing slash; `/chat/completions` is appended."""
    name: str = setting(..., "name of the model on that server", default_text="required with a URL")
    key: Annotated[SecretText, Text(SecretText.ascii)] | None = setting(None, "API key for that server", secret=True)
    timeout_s: Number = setting(
        60.0,
        "time limit for one prompt, including corrections",
        variable="TIMEOUT",
        unit="seconds",
        form="a number from 1 to 300",
        gt=0,
        le=300,
    )
    max_tokens: Whole = setting(8_192, "maximum tokens of one answer", ge=256, le=65_536)
    limit: Annotated[PromptLimit, Text(_limit)] = setting(
        PromptLimit(60, 300),
        'rate limit of prompts per organization, or "off"',
        default_text="60/h 300/day",
        schema={"type": "string", "pattern": "^(off|[0-9]+/h|[0-9]+/day|[0-9]+/h +[0-9]+/day)$"},
    )
    tokens_per_day: Annotated[int | None, Text(_tokens)] = setting(
        1_000_000,
        'tokens per organization and UTC day, input and output, or "off"',
        default_text="1000000",
        schema={"anyOf": [{"type": "integer", "minimum": 1}, {"const": "off"}]},
    )
    prices: Annotated[Prices, Text(_prices)] = setting(
        Prices(0.0, 0.0),
        'price per million input tokens and output tokens, such as "0.15 0.60"',
        default_text="none",
        schema={"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? +[0-9]+(\.[0-9]+)?$"},
    )
    cost_per_day: Annotated[float | None, Text(_money)] = setting(
        None,
        "maximum cost of all organizations per UTC day, in the currency of the prices",
        default_text="off",
        schema={
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^(off|[0-9]+(\.[0-9]+)?)$"}]
        },
    )
    fallback: Fallback = setting(Fallback.COMPOSER, "fallback if the model fails: the composer, or error 502")
    proxy: Url | None = setting(None, "http(s) proxy for the model; HTTPS_PROXY is ignored", schema=_URL_SCHEMA)
    ca: Annotated[Certificates, Text(Certificates)] | None = setting(
        None,
        "file with trusted CA certificates (PEM) for the model's server",
        variable="CA_FILE",
        from_file=True,
        default_text="the well-known ones",
    )

    @property
    def is_overheard(self) -> bool:
        """Whether key and prompts are sent unencrypted over a network."""
        parts = urlsplit(self.url)
        return parts.scheme == "http" and parts.hostname not in LOOPBACK

    def current_key(self) -> str | None:
        """Return the current key. Call for each request, since it may rotate."""
        return None if self.key is None else self.key.current

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        if self.cost_per_day is not None and not any(self.prices):
            yield f"{self.prefix}COST_PER_DAY needs {self.prefix}PRICES"
        tokens = (f"{self.prefix}TOKENS_PER_DAY", f"{self.prefix}MAX_TOKENS")
        if {*tokens} <= set(given) and self.tokens_per_day is not None and self.tokens_per_day < self.max_tokens:
            yield f"{tokens[0]} is {self.tokens_per_day}, but {tokens[1]} is {self.max_tokens}: it cannot be more"
        if self.ca is not None and self.url.startswith("http:"):
            yield f"{self.prefix}CA_FILE is set, but {self.prefix}URL does not begin with https://"
