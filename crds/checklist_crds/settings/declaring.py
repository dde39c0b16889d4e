"""How a setting is declared: a field of a pydantic model, with what its name, its description and the chart need.

    class Settings(SharedSettings):
        photo_workers: int = setting(1, "processes that decode uploaded photos", ge=1, le=64)

declares `CHECKLISTS_PHOTO_WORKERS`, which is `settings.photoWorkers` in the chart. A group of settings is a model of
its own inside of another one; its `prefix` begins the names of its settings.
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
    """Settings that belong together. Frozen; its constructor is for tests, `reading.read` for everybody else."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True, validate_default=True
    )

    prefix: ClassVar[str] = PREFIX
    title: ClassVar[str] = ""
    """Of its section in the documentation; empty: it has none of its own."""
    asked_by: ClassVar[str | None] = None
    """The field without which there is no such group (its place holds None): all others contradict its absence."""

    @classmethod
    def ambient(cls, environment: Mapping[str, str]) -> Mapping[str, Any]:
        """Values, by field, of what is not set but can be known from the machine."""
        return {}

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        """What cannot be together, each in one line that names the settings. `given`: names that were set."""
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
    """A field. `default` `...`: it must be set.

    `variable`: its name, without the group's prefix, where the field's own is not fit; `form`: what a value looks like
    ("must be {form}"); `schema`: JSON Schema of it in the chart, where the type does not say it; `default_text`: the
    default as a person would write it; `default_from`: it follows from the fields before it. `secret`: it may also be
    in a file that `<name>_FILE` names, is printed nowhere, and is no value of the chart. `from_file`: the value is a
    path, and what matters is in the file. `bounds`: ge, gt, le, lt.
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
    """A declared setting, as it is read, written and documented."""

    name: str
    """In the environment."""
    path: tuple[str, ...]
    """Of the field, from the program's model on."""
    field: FieldInfo
    group: type[Group]
    type: Any
    """Of the value, without None and annotations."""
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
        """What a value must be, for "must be ...", in one line."""
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
        """As a person would write it; empty: none."""
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
    """The settings of `model` and of the groups in it, in the order of their declaration."""
    for name, field in model.model_fields.items():
        type_ = _bare(field.annotation)
        if isinstance(type_, type) and issubclass(type_, Group):
            yield from variables(type_, (*path, name))
            continue
        extra = field.json_schema_extra
        mark: Any = extra.get(_MARK) if isinstance(extra, dict) else None
        if mark is None:  # what only tests set
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
    """`model` and the groups in it, with where they are; outer ones first."""
    yield path, model
    for name, field in model.model_fields.items():
        type_ = _bare(field.annotation)
        if isinstance(type_, type) and issubclass(type_, Group):
            yield from groups(type_, (*path, name))


def _bare(annotation: Any) -> Any:
    """Without Annotated and `| None`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        others = [part for part in get_args(annotation) if part is not type(None)]
        return _bare(others[0]) if len(others) == 1 else annotation
    return annotation


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else f"{number:g}"
