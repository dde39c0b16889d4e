"""Declares settings as fields of pydantic models, with what name, description and chart need.

    class Settings(SharedSettings):
        photo_workers: int = setting(1, "processes that decode uploaded photos", ge=1, le=64)

declares `CHECKLISTS_PHOTO_WORKERS`, which is `settings.photoWorkers` in the chart. A group of settings is a nested
model; its `prefix` is the start of its settings' names.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

PREFIX: Final = "CHECKLISTS_"
_MARK: Final = "setting"


class Group(BaseModel):
    """Settings that belong together. Frozen; use `reading.read` outside of tests."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True, validate_default=True
    )

    prefix: ClassVar[str] = PREFIX
    title: ClassVar[str] = ""
    """Title of its section in the documentation; empty: no section."""
    asked_by: ClassVar[str | None] = None
    """The field that enables the group: without it, the group is None and its other settings are errors."""

    @classmethod
    def ambient(cls, environment: Mapping[str, str]) -> Mapping[str, Any]:
        """Returns defaults from the machine for unset fields."""
        return {}

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        """Yields one line for each conflict, naming the settings. `given`: names that are set."""
        return ()


def setting(
    default: Any,
    description: str,
    *,
    variable: str | None = None,
    unit: str | None = None,
    form: str | None = None,
    schema: Mapping[str, Any] | None = None,
    default_text: str | None = None,
    default_from: Callable[[dict[str, Any]], Any] | None = None,
    secret: bool = False,
    from_file: bool = False,
    **bounds: float,
) -> Any:
    """Declares a setting. `default` `...`: required.

    `variable`: its name without the group's prefix, if not derived from the field; `form`: form of a value ("must be
    {form}"); `schema`: JSON Schema in the chart, if not derived from the type; `default_text`: the default for people;
    `default_from`: the default depends on earlier fields. `secret`: may also be in a file named by `<name>_FILE`, is
    never printed, and is not a value of the chart. `from_file`: the value is a path to the content. `bounds`: ge, gt,
    le, lt.
    """
    extra: dict[str, Any] = {
        "variable": variable,
        "unit": unit,
        "form": form,
        "schema": schema,
        "default_text": default_text,
        "secret": secret,
        "from_file": from_file,
    }
    given: Any = {"default_factory": default_from} if default_from is not None else {"default": default}
    given |= {"description": description, "repr": not secret, "json_schema_extra": {_MARK: extra}}
    given |= bounds
    return Field(**given)


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared setting."""

    name: str
    """Name in the environment."""
    path: tuple[str, ...]
    """Path of the field from the program's model."""
    field: FieldInfo
    group: type[Group]
    type: Any
    """Type of the value, without None and annotations."""
    unit: str | None
    form: str | None
    given_schema: Mapping[str, Any] | None
    default_text: str | None
    secret: bool
    from_file: bool

    @property
    def description(self) -> str:
        return self.field.description or ""

    @property
    def chart_name(self) -> str:
        """`rateLimit` for `CHECKLISTS_RATE_LIMIT`."""
        first, *rest = self.name.removeprefix(PREFIX).lower().split("_")
        return first + "".join(word.capitalize() for word in rest)

    @property
    def required(self) -> bool:
        return self.field.is_required()

    @property
    def bounds(self) -> dict[str, float]:
        """ge, gt, le, lt."""
        found: dict[str, float] = {}
        for part in self.field.metadata:
            for name in ("ge", "gt", "le", "lt"):
                if (value := getattr(part, name, None)) is not None:
                    found[name] = value
        return found

    @property
    def choices(self) -> tuple[str, ...]:
        if get_origin(self.type) is Literal:
            return tuple(map(str, get_args(self.type)))
        if isinstance(self.type, type) and issubclass(self.type, StrEnum):
            return tuple(self.type)
        return ()

    @property
    def expected(self) -> str:
        """Returns what a value must be, for "must be ...", in one line."""
        if self.form is not None:
            return self.form
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.type is bool:
            return "1 or 0"
        if self.type in (int, float):
            number = "whole number" if self.type is int else "number"
            low, high = (
                self.bounds.get("ge", self.bounds.get("gt")),
                self.bounds.get("le", self.bounds.get("lt")),
            )
            if "gt" in self.bounds and high is not None:
                return f"a {number} above {low:g}, at most {_plain(high)}"
            return f"a {number} from {_plain(low or 0)} to {_plain(high or 0)}"
        return "given"

    @property
    def default(self) -> str:
        """Returns the default for people; empty: none."""
        if self.default_text is not None:
            return self.default_text
        value = self.field.default
        if value is PydanticUndefined or value is None or value == ():
            return ""
        if isinstance(value, bool):
            return "1" if value else "0"
        if isinstance(value, tuple):
            return ",".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
        return _plain(value) if isinstance(value, int | float) else str(value)


def variables(model: type[Group], path: tuple[str, ...] = ()) -> Iterator[Variable]:
    """Yields the settings of `model` and its groups, in order of declaration."""
    for name, field in model.model_fields.items():
        type_ = _bare(field.annotation)
        if isinstance(type_, type) and issubclass(type_, Group):
            yield from variables(type_, (*path, name))
            continue
        extra = field.json_schema_extra
        mark: Any = extra.get(_MARK) if isinstance(extra, dict) else None
        if mark is None:  # only set by tests
            continue
        yield Variable(
            name=model.prefix + (mark["variable"] or name.upper()),
            path=(*path, name),
            field=field,
            group=model,
            type=type_,
            unit=mark["unit"],
            form=mark["form"],
            given_schema=mark["schema"],
            default_text=mark["default_text"],
            secret=mark["secret"],
            from_file=mark["from_file"],
        )


def groups(model: type[Group], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], type[Group]]]:
    """Yields `model` and its groups with their paths; outer ones first."""
    yield path, model
    for name, field in model.model_fields.items():
        type_ = _bare(field.annotation)
        if isinstance(type_, type) and issubclass(type_, Group):
            yield from groups(type_, (*path, name))


def _bare(annotation: Any) -> Any:
    """Removes Annotated and `| None`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        others = [part for part in get_args(annotation) if part is not type(None)]
        return _bare(others[0]) if len(others) == 1 else annotation
    return annotation


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else f"{number:g}"
