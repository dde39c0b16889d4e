"""Validates short texts of the dashboard's forms."""

import re
from typing import Final

from checklist_crds.errors import Problem
from checklist_crds.resources.base import OBJECT_NAME_PATTERN

_OBJECT_NAME: Final = re.compile(rf"(?=.{{1,253}}$){OBJECT_NAME_PATTERN}")


def single_line(value: object, path: str, longest: int, problems: list[Problem]) -> str:
    """Return the stripped text, or "" with a problem added."""
    if not isinstance(value, str):
        problems.append(Problem(path, "wrong_type", "must be a string"))
        return ""
    text = value.strip()
    if not text:
        problems.append(Problem(path, "too_short", "must not be empty"))
    elif len(text) > longest:
        problems.append(Problem(path, "too_long", f"must have at most {longest} characters"))
    elif not text.isprintable():
        problems.append(Problem(path, "not_printable", "must be one line of printable characters"))
    else:
        return text
    return ""


def is_object_name(text: str) -> bool:
    """Whether `text` can be the name of a Kubernetes object."""
    return _OBJECT_NAME.fullmatch(text) is not None
