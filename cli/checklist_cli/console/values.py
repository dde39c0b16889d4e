"""Argument types that several commands use."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from checklist_crds.ids import is_id

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def run_id(text: str) -> str:
    if not is_id("r", text):
        raise ArgumentTypeError("must be the id of a run, r-<uuid>")
    return text


def template_id(text: str) -> str:
    if not is_id("t", text):
        raise ArgumentTypeError("must be the id of a template, t-<uuid>")
    return text


def url(text: str) -> str:
    """Without a slash at its end."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentTypeError("must be http(s)://host")
    return text.rstrip("/")


def duration(text: str) -> float:
    """A positive duration, in seconds."""
    found = _DURATION.fullmatch(text)
    seconds = float(found[1]) * _SECONDS[found[2]] if found is not None else 0.0
    if seconds <= 0:
        raise ArgumentTypeError("must be a positive duration, as 90s, 30m, 4h or 2d")
    return seconds


def organization_id(text: str) -> str:
    if not is_id("org", text):
        raise ArgumentTypeError("must be the public id of an organization, org-<uuid>")
    return text


def email(text: str) -> str:
    """An e-mail address, in lower case."""
    if _EMAIL.fullmatch(text.strip()) is None:
        raise ArgumentTypeError("must be an e-mail address")
    return text.strip().lower()


def from_one(most: int | None = None) -> Callable[[str], int]:
    """A whole number from 1 to `most`."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < 1 or (most is not None and int(text) > most):
            raise ArgumentTypeError(f"must be a whole number from 1{'' if most is None else f' to {most}'}")
        return int(text)

    return parse


def number_to(most: int, what: str = "number") -> Callable[[str], float]:
    """A number from 0 to `most`; `what` names it in the error."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 <= number <= most:
            raise ArgumentTypeError(f"must be a {what} from 0 to {most}")
        return number

    return parse
