"""Query parameters: the page of a list (specification, "Pagination object"; contract section 8), filters, numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from aiohttp import web

from checklist_crds.errors import InvalidParameter, Problem
from checklist_crds.times import parse_timestamp

from .models import Pagination

_T = TypeVar("_T")

DEFAULT_PER_PAGE: Final = 20
MAX_PER_PAGE: Final = 100
MAX_PAGE: Final = 1_000_000
_DIGITS: Final = 18
"""Longest parsed integer; longer ones exceed all limits."""


@dataclass(frozen=True, slots=True)
class Page:
    """A requested page, from 1."""

    number: int
    per_page: int

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.per_page

    def of(self, total: int) -> Pagination:
        """Return the pagination object of a list with `total` entries."""
        more = self.number * self.per_page < total and self.number < MAX_PAGE
        next_page = self.number + 1 if more else None
        return Pagination(total=total, page=self.number, per_page=self.per_page, next_page=next_page)

    def view(self, total: int) -> dict[str, Any]:
        """Return the pagination object as a dict."""
        return self.of(total).model_dump()

    def cut(self, entries: Sequence[_T]) -> Sequence[_T]:
        """Return the entries of the page."""
        return entries[self.offset : self.offset + self.per_page]


def requested_page(request: web.Request) -> Page:
    """Parse `page` and `per_page` (capped at the maximum). Raises InvalidParameter."""
    number = positive_integer(request, "page") or 1
    per_page = positive_integer(request, "per_page") or DEFAULT_PER_PAGE
    if number > MAX_PAGE:
        raise invalid_parameter("page", f"must be an integer from 1 to {MAX_PAGE}")
    return Page(number, min(per_page, MAX_PER_PAGE))


def parameter(request: web.Request, name: str) -> str | None:
    """Return a query parameter, or None. Raises InvalidParameter if it is repeated."""
    values = request.query.getall(name, [])
    if len(values) > 1:
        raise invalid_parameter(name, "may be given only once")
    return values[0] if values else None


def one_of(request: web.Request, name: str, allowed: Sequence[str]) -> str | None:
    """Return a query parameter with a fixed set of values. Raises InvalidParameter."""
    value = parameter(request, name)
    if value is not None and value not in allowed:
        raise invalid_parameter(name, f"must be one of {', '.join(allowed)}")
    return value


def boolean(request: web.Request, name: str) -> bool | None:
    """Return a query parameter that is true or false. Raises InvalidParameter."""
    value = one_of(request, name, ("true", "false"))
    return None if value is None else value == "true"


def integer_up_to(most: int, request: web.Request, name: str) -> int | None:
    """Parse a query parameter as an integer from 1 to `most`; None if absent. Raises InvalidParameter."""
    text = parameter(request, name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS or not 1 <= int(text) <= most:
        raise out_of_range(name, most)
    return int(text)


def requested_moment(request: web.Request, name: str) -> datetime | None:
    """Parse a query parameter as a timestamp. Raises InvalidParameter."""
    text = parameter(request, name)
    if text is None:
        return None
    try:
        # An unescaped + of +00:00 is decoded as a space.
        return parse_timestamp(text.replace(" ", "+"))
    except (ValueError, OverflowError):
        raise invalid_parameter(name, "must be a timestamp such as 2026-11-21T13:50:00Z") from None


def invalid_parameter(name: str, message: str) -> InvalidParameter:
    return InvalidParameter(f"{name} {message}.", details=[Problem(name, "invalid_parameter", f"{name} {message}.")])


def out_of_range(name: str, most: int) -> InvalidParameter:
    """The error of `integer_up_to`."""
    return invalid_parameter(name, f"must be an integer from 1 to {most}")


def positive_integer(request: web.Request, name: str) -> int | None:
    """Parse an optional query parameter as an integer of at least 1. Numbers with more digits than any limit return
    a value above all limits. Raises InvalidParameter."""
    text = parameter(request, name)
    if text is None:
        return None
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    if not digits:
        raise invalid_parameter(name, "must be an integer from 1")
    return int(digits) if len(digits) <= _DIGITS else 10**_DIGITS
