"""The table of settings for `--help`."""

import textwrap
from collections.abc import Iterable

from .declaring import Group, Variable, variables
from .names import SUFFIX

_WIDTH = 110


def help_text(model: type[Group], cluster: str) -> str:
    """Lists all settings of `model`, then `cluster`: how the program finds its cluster."""
    lines = ["settings (environment variables):", ""]
    for variable in variables(model):
        lines += _entry(variable)
    return "\n".join([*lines, "", *textwrap.wrap(cluster, _WIDTH)])


def _entry(variable: Variable) -> Iterable[str]:
    name = f"{variable.name} or {variable.name}{SUFFIX}" if variable.secret else variable.name
    yield f"  {name} ({default_of(variable)})"
    yield from textwrap.wrap(meaning_of(variable), _WIDTH, initial_indent="      ", subsequent_indent="      ")


def default_of(variable: Variable) -> str:
    """ "required", the default, or "none"."""
    return "required" if variable.required and variable.group.asked_by is None else variable.default or "none"


def meaning_of(variable: Variable) -> str:
    """Returns the description, with the form of a value."""
    unit = f", in {variable.unit}" if variable.unit else ""
    return f"{variable.description}{unit}"
