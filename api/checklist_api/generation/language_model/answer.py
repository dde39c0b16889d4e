"""Parses a model's output, which is untrusted, into a template.

Only TDL fields that a model may set are taken, all ids are regenerated, and texts stay plain text. The result is
validated like in create; problems are reported to the model.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn

from checklist_crds.errors import Problem, ValidationFailed
from checklist_crds.resources.template_definition import MAX_MINUTES, Definition, Settings, StepType
from checklist_crds.templates.validation import parse_definition, runnable_problems

_THOUGHT: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_DECODE_ATTEMPTS: Final = 8
"""How many positions are tried as the begin of a JSON object."""
_TEMPLATE_FIELDS: Final = ("name", "description", "tags")
_STEP_FIELDS: Final = ("type", "label", "hint", "required", "photo", "geo")
_ID_LENGTH: Final = 40


class Unusable(Exception):
    """The output is not a valid template. `problems`: messages for the model, never for callers or logs."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("the answer is not a valid template")


def read_answer(text: str) -> Definition:
    """Parse the template in `text`, a JSON object with optional surrounding text. Raises Unusable."""
    document = _found_object(_THOUGHT.sub("", text))
    try:
        definition = parse_definition(_Rebuilder(document).template())
    except ValidationFailed as error:
        raise Unusable(*_lines(error.details)) from None
    except RecursionError:
        raise Unusable("It is nested too deeply.") from None
    if problems := runnable_problems(definition):
        raise Unusable(*_lines(problems))
    return definition


def all_texts(definition: Definition) -> Iterator[str]:
    """Yield all texts of a template."""
    waiting: list[Any] = [definition.to_tdl()]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _lines(details: Any) -> list[str]:
    problems = [problem for problem in details or () if isinstance(problem, Problem)]
    return [f"{problem.path}: {problem.message}" if problem.path else problem.message for problem in problems]


def _found_object(text: str) -> dict[str, Any]:
    """Return the first object with sections, else the object at the begin: an inner object of truncated output would
    confuse the model. Raises Unusable."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    first: dict[str, Any] | None = None
    at = text.find("{")
    for attempt in range(_DECODE_ATTEMPTS):
        if at < 0:
            break
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if "sections" in (found := _unwrapped(found)):
                return found
            first = found if attempt == 0 else first
        at = text.find("{", end)
    if first is not None:
        return first
    raise Unusable("There is no complete JSON object in it.")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _unwrapped(found: dict[str, Any]) -> dict[str, Any]:
    """Unwrap `{"template": {...}}`, which some models return."""
    if "sections" not in found and len(found) == 1:
        (inner,) = found.values()
        if isinstance(inner, dict) and "sections" in inner:
            return inner
    return found


class _Rebuilder:
    """Rebuilds the document with known fields and new ids. Malformed parts are left to validation."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._section_ids = _FreshIds("g")
        self._step_ids = _FreshIds("s")
        self._new_steps: dict[str, str] = {}
        self._new_options: dict[str, dict[str, str]] = {}
        """Per new step id: new option ids by former id and label."""

    def template(self) -> dict[str, Any]:
        made: dict[str, Any] = {name: _clean(self._document.get(name)) for name in _TEMPLATE_FIELDS}
        made["settings"] = _settings(self._document.get("settings"))
        sections = self._document.get("sections")
        made["sections"] = (
            [self._section(it) for it in sections] if isinstance(sections, list) else _shapeless(sections)
        )
        return {name: value for name, value in made.items() if value is not None}

    def _section(self, section: Any) -> Any:
        if not isinstance(section, dict):
            return _shapeless(section)
        steps = section.get("steps")
        title = _clean(section.get("title"))
        made = {"id": self._section_ids.new(title), "title": title}
        made["steps"] = [self._step(step) for step in steps] if isinstance(steps, list) else _shapeless(steps)
        return made

    def _step(self, step: Any) -> Any:
        if not isinstance(step, dict):
            return _shapeless(step)
        made: dict[str, Any] = {name: _clean(step[name]) for name in _STEP_FIELDS if step.get(name) is not None}
        made["id"] = self._step_ids.new(made.get("label"))
        if "photo" in made:
            made["photo"] = _photo(made["photo"])
        if step.get("config") is not None:
            made["config"] = self._config(step, made["id"])
        if step.get("condition") is not None:
            made["condition"] = self._condition(step["condition"])
        # Registered last, because a step must not be its own source.
        if isinstance(step.get("id"), str):
            self._new_steps.setdefault(step["id"], made["id"])
        return made

    def _config(self, step: Mapping[str, Any], step_id: str) -> Any:
        config = _only(step["config"], _config_fields(step.get("type")))
        if isinstance(config, dict) and isinstance(config.get("options"), list):
            config["options"] = self._options(config["options"], step_id)
        return config

    def _options(self, options: list[Any], step_id: str) -> list[Any]:
        fresh, names = _FreshIds("o"), self._new_options.setdefault(step_id, {})
        made: list[Any] = []
        for option in options:
            given = {"label": option} if isinstance(option, str) else option
            if not isinstance(given, dict):
                made.append(_shapeless(given))
                continue
            label = _clean(given.get("label"))
            new = fresh.new(label)
            for name in (given.get("id"), label):
                if isinstance(name, str):
                    names.setdefault(name, new)
            made.append({"id": new, "label": label})
        return made

    def _condition(self, condition: Any) -> Any:
        if not isinstance(condition, dict):
            return _shapeless(condition)
        # Some models omit `when`.
        return {"when": self._when(condition.get("when", condition))}

    def _when(self, when: Any, depth: int = 0) -> Any:
        if not isinstance(when, dict):
            return _shapeless(when)
        made: dict[str, Any] = {}
        for group in ("all", "any"):
            if isinstance(when.get(group), list):
                made[group] = [self._when(part, depth + 1) if depth < 2 else None for part in when[group]]
        if isinstance(when.get("step"), str):
            made["step"] = self._new_steps.get(when["step"], _clean(when["step"]))
            names = self._new_options.get(made["step"], {})
            made["value"] = _renamed(when.get("value"), names)
        if when.get("op") is not None:
            made["op"] = _clean(when["op"])
        return made


class _FreshIds:
    """Unique ids from labels: `s-fridge-temperature`, `s-fridge-temperature-2`."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._given: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._count = 0

    def new(self, label: object) -> str:
        self._count += 1
        stem = f"{self._kind}-{_slug(label) or self._count}"
        made = stem
        while made in self._given:
            self._numbers[stem] = self._numbers.get(stem, 1) + 1
            made = f"{stem}-{self._numbers[stem]}"
        self._given.add(made)
        return made


def _slug(label: object) -> str:
    if not isinstance(label, str):
        return ""
    folded = unicodedata.normalize("NFKD", label[:200].casefold())
    words = re.findall(r"[a-z0-9]+", folded.encode("ascii", "ignore").decode())
    slug = ""
    for word in words:
        if len(slug) + len(word) + 1 > _ID_LENGTH:
            break
        slug += f"-{word}" if slug else word
    return slug


def _config_fields(kind: object) -> Iterable[str]:
    return next((one.rules.config_fields for one in StepType if one == kind), ())


def _settings(value: Any) -> Any:
    """Drop an invalid estimate instead of requesting a correction."""
    settings = _only(value, Settings.model_fields)
    if isinstance(settings, dict):
        minutes = settings.get("est_minutes")
        if not isinstance(minutes, int | float) or isinstance(minutes, bool) or not 0 < minutes <= MAX_MINUTES:
            settings.pop("est_minutes", None)
    return settings


def _photo(value: Any) -> Any:
    """Normalize photo bounds: `true` is at least one; `max: 0` is none."""
    if isinstance(value, bool):
        return {"min": 1} if value else False
    bounds = _only(value, ("min", "max"))
    return False if isinstance(bounds, dict) and bounds.get("max") == 0 else bounds


def _only(value: Any, names: Iterable[str]) -> Any:
    """Reduce an object to known members that are not null."""
    if not isinstance(value, dict):
        return _shapeless(value)
    return {name: _clean(value[name]) for name in names if value.get(name) is not None}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(item, names) for item in value[:100]]
    return names.get(value, _clean(value)) if isinstance(value, str) else _clean(value)


def _clean(value: Any) -> Any:
    """Remove control characters and surrogates from texts."""
    if isinstance(value, str):
        return "".join(filter(_is_shown, value)).strip()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


def _is_shown(character: str) -> bool:
    return character == "\n" or unicodedata.category(character) not in ("Cc", "Cs")


def _shapeless(value: Any) -> str | None:
    """Replace a value of the wrong type by its type's name, for validation to report without content."""
    return None if value is None else type(value).__name__
