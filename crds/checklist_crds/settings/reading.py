"""Reads a program's settings from an environment, or reports all errors in one line.

A blank value counts as unset. Only the given environment is read, and no `.env` file.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from .declaring import Group, Variable, groups, variables
from .forms import shown
from .names import SUFFIX, unknown_names, without_service_links
from .rotation import HeldFile, UnreadableFile, content

S = TypeVar("S", bound="ProgramSettings")


class InvalidSetting(ValueError):
    """Settings are missing, wrong, unknown or conflicting. All errors in one line, without secrets."""

    def __init__(self, *problems: str) -> None:
        self.problems = tuple(dict.fromkeys(" ".join(problem.split()) for problem in problems))
        super().__init__("; ".join(self.problems))


class ProgramSettings(Group, BaseSettings):
    model_config = SettingsConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    _files: tuple[HeldFile, ...] = ()

    @property
    def files(self) -> tuple[HeldFile, ...]:
        """Files to read again when they change (`rotation`)."""
        return self._files

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Uses only the constructor's arguments: `read` passes what `EnvironmentSource` finds."""
        return (init_settings,)


class EnvironmentSource(PydanticBaseSettingsSource):
    """Values of `model` in `environment`, by field, with nested groups as dictionaries."""

    def __init__(self, model: type[Group], environment: Mapping[str, str]) -> None:
        self._model = model
        self._environment = {
            name: value.strip() for name, value in without_service_links(environment).items() if value.strip()
        }
        self._raw = environment
        self.problems: list[str] = []
        self.variables = {variable.path: variable for variable in variables(model)}
        self.given: set[str] = set()
        """Names that are set."""
        self.texts: dict[str, tuple[Path, str]] = {}
        """Contents of files by the setting's name; never shown."""

    @property
    def names(self) -> set[str]:
        """All known names."""
        return names_of(self.variables.values())

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self().get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for path, group in groups(self._model):
            if path and not self._is_asked_for(group):
                continue
            place = _place(values, path)
            for name, value in group.ambient(self._raw).items():
                place.setdefault(name, value)
            for variable in self.variables.values():
                if variable.path[:-1] == path:
                    text = self._text_of(variable)
                    if text is not None:
                        place[variable.path[-1]] = text
        return values

    def _is_asked_for(self, group: type[Group]) -> bool:
        if group.asked_by is None:
            return True
        own = [variable for variable in self.variables.values() if variable.group is group]
        asked_by = next(variable.name for variable in own if variable.path[-1] == group.asked_by)
        if asked_by in self._environment:
            return True
        pointless = sorted(names_of(own) & self._environment.keys())
        self.problems += [f"{name} is set, but {asked_by} is not" for name in pointless]
        return False

    def _text_of(self, variable: Variable) -> str | None:
        name, environment = variable.name, self._environment
        text = environment.get(name)
        if text is not None:
            self.given.add(name)
        if variable.from_file:
            return None if text is None else self._read(variable, name, text)
        if not variable.secret or name + SUFFIX not in environment:
            return text
        if text is not None:
            self.problems.append(f"{name} and {name}{SUFFIX} are both set: only one of them may be")
            return text
        self.given.add(name + SUFFIX)
        return self._read(variable, name + SUFFIX, environment[name + SUFFIX])

    def _read(self, variable: Variable, name: str, path: str) -> str | None:
        try:
            text = content(Path(path))
        except UnreadableFile as error:
            self.problems.append(f"{name}: {error}")
            return None
        self.texts[variable.name] = (Path(path), text)
        return text.strip()


def names_of(found: Iterable[Variable]) -> set[str]:
    """Names of the settings, including those of files with secrets."""
    return {name for one in found for name in ((one.name, one.name + SUFFIX) if one.secret else (one.name,))}


def read(model: type[S], environment: Mapping[str, str]) -> S:
    """Reads the settings of a program. Raises InvalidSetting."""
    source = EnvironmentSource(model, environment)
    values = source()
    problems = [*source.problems]
    problems += unknown_names(dict.fromkeys(without_service_links(environment), ""), source.names)
    try:
        settings = model(**values)
    except ValidationError as error:
        raise InvalidSetting(*problems, *_error_lines(error, source)) from None
    for _, group in _present(settings):
        problems += group.contradictions(source.given)
    if problems:
        raise InvalidSetting(*problems)
    settings._files = tuple(
        HeldFile.of(_file_name(variable), path, text, _at(settings, variable.path))
        for variable in source.variables.values()
        for path, text in [source.texts.get(variable.name, (None, ""))]
        if path is not None
    )
    return settings


def read_group(group: type[Group], environment: Mapping[str, str]) -> Any:
    """Reads one group; None if it is not enabled. Raises InvalidSetting. (The program reports unknown names.)"""
    holder = type("Alone", (ProgramSettings,), {"__annotations__": {"group": group | None}, "group": None})
    return read(holder, environment).group


def _error_lines(error: ValidationError, source: EnvironmentSource) -> list[str]:
    """Returns a line for each pydantic error, in our words: pydantic's contain values."""
    lines = []
    for one in error.errors(include_url=False, include_input=True):
        place = tuple(str(part) for part in one["loc"])
        variable = next(
            (source.variables[place[:n]] for n in range(len(place), 0, -1) if place[:n] in source.variables), None
        )
        if one["type"] == "default_factory_not_called":
            continue  # derived from a wrong value that is reported
        if variable is None:
            lines.append(f"{'.'.join(place)}: {one['msg']}")
        elif any(problem.startswith((f"{variable.name}:", f"{variable.name}{SUFFIX}:")) for problem in source.problems):
            continue
        elif one["type"] == "missing":
            lines.append(_missing(variable, source))
        else:
            lines.append(_wrong(variable, one, source))
    return lines


def _missing(variable: Variable, source: EnvironmentSource) -> str:
    also = f" (nor {variable.name}{SUFFIX})" if variable.secret else ""
    asked_by = variable.group.asked_by
    if asked_by is None:
        return f"{variable.name} is not set{also}"
    name = next(
        one.name for one in source.variables.values() if one.group is variable.group and one.path[-1] == asked_by
    )
    return f"{variable.name} is not set{also}, but {name} is"


def _wrong(variable: Variable, one: Any, source: EnvironmentSource) -> str:
    reason = str(one.get("ctx", {}).get("error", "")) if one["type"] == "value_error" else ""
    if variable.type in (int, float, bool) or not reason:
        given = "" if variable.secret else f", not {shown(str(one.get('input')))}"
        reason = f"must be {variable.expected}{given}"
    if variable.name in source.texts:
        return f"{_file_name(variable)}: {source.texts[variable.name][0]} {reason}"
    goes_on = reason.startswith(("must ", "needs "))
    return f"{variable.name} {reason}" if goes_on else f"{variable.name}: {reason}"


def _file_name(variable: Variable) -> str:
    return variable.name if variable.from_file else variable.name + SUFFIX


def _place(values: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for name in path:
        values = values.setdefault(name, {})
    return values


def _at(settings: Group, path: tuple[str, ...]) -> Any:
    value: Any = settings
    for name in path:
        value = getattr(value, name)
    return value


def _present(settings: Group) -> Iterable[tuple[str, Group]]:
    yield "", settings
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Group):
            yield from ((f"{name}.{inner}", group) for inner, group in _present(value))
