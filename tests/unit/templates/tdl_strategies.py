"""Hypothesis strategies for template definitions, answers and JSON, shared by all tests that need many of them."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from hypothesis import strategies as st

from checklist_crds.resources.template_definition import Operator, Step, StepType
from checklist_crds.values.json_types import MAX_NUMBER

Json = Any

_CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
_ID_TAIL = st.text("abcXYZ019_-", min_size=1, max_size=6)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
"""Anything that a JSON parser of Python can give, NaN, infinities and half surrogates among it."""


def texts(max_size: int = 30) -> st.SearchStrategy[str]:
    return st.text(_CHARACTERS, max_size=max_size)


def visible_texts(max_size: int = 30) -> st.SearchStrategy[str]:
    return st.builds(lambda first, rest: first + rest, st.sampled_from("aZ9é✓漢"), texts(max_size - 1))


def numbers(low: float = -MAX_NUMBER, high: float = MAX_NUMBER) -> st.SearchStrategy[float]:
    floats = st.floats(low, high, allow_nan=False, allow_infinity=False)
    return floats | st.integers(-int(-low // 1), int(high // 1)) if high - low >= 1 else floats


dates = st.dates().map(lambda day: day.isoformat())
times = st.times().map(lambda time: time.isoformat("minutes")) | st.times().map(lambda time: time.isoformat("seconds"))
datetimes = st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.isoformat(timespec="milliseconds")) | (
    st.sampled_from(["2026-11-21T13:50:00Z", "2026-11-21t13:50:00.5z", "2026-11-21T14:50:00+01:00"])
)


@st.composite
def definitions(draw: st.DrawFn, *, min_steps: int = 0, max_steps: int = 8) -> dict[str, Json]:
    """A valid template definition as an author may write it: optional fields present, null or left out."""
    count = draw(st.integers(min_steps, max_steps))
    steps: list[dict[str, Json]] = []
    for index in range(count):
        steps.append(draw(_steps(index, steps)))
    sections: list[dict[str, Json]] = []
    while steps or draw(st.integers(0, 3)) == 0:
        size = draw(st.integers(0, len(steps)))
        title = draw(visible_texts())
        sections.append({"id": f"g-{len(sections)}-{draw(_ID_TAIL)}", "title": title, "steps": steps[:size]})
        steps = steps[size:]
        if len(sections) == 4:
            sections[-1]["steps"] += steps
            break
    open_to_all = st.tuples(st.sampled_from(["any", "external"]), st.sampled_from(["none", "external", "member"]))
    scope, identity = draw(open_to_all | st.just(("member", "member")))
    settings = _some(
        allow_skip=st.booleans(),
        signature_on_complete=st.booleans(),
        est_minutes=numbers(0, 525_600),
        layout=st.sampled_from(["list", "one_at_a_time"]),
    )
    optional = draw(_some(description=texts(), tags=st.lists(visible_texts(), max_size=3), settings=settings))
    execution = {"scope": scope, "identity_required": identity}
    return {"name": draw(visible_texts()), "sections": sections, "execution": execution} | optional


def _some(**fields: st.SearchStrategy[Json]) -> st.SearchStrategy[dict[str, Json]]:
    """An object with any of the fields; a null means the same as leaving the field out."""
    return st.fixed_dictionaries({}, optional={name: st.none() | values for name, values in fields.items()})


def _bounds(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda pair: (min(pair), max(pair)))


@st.composite
def _steps(draw: st.DrawFn, index: int, earlier: list[dict[str, Json]]) -> dict[str, Json]:
    kind = draw(st.sampled_from(StepType))
    photo = st.just(False) | _bounds(0, 20).map(lambda pair: {"min": pair[0], "max": max(1, pair[1])})
    step: dict[str, Json] = {
        "id": f"s-{index}-{draw(_ID_TAIL)}",
        "type": kind.value,
        "label": draw(visible_texts()),
        "config": draw(_configs(kind)),
    }
    step |= draw(_some(hint=texts(), required=st.booleans(), photo=photo, geo=st.booleans()))
    if step.get("geo") and draw(st.booleans()):
        step["geo_required"] = True
    sources = [source for source in earlier if source["type"] != "instruction"]
    if sources and draw(st.booleans()):
        step["condition"] = {"when": draw(_conditions(sources))}
    return step


lone_steps = _steps(0, [])
"""A step that looks at no other one."""


@st.composite
def _configs(draw: st.DrawFn, kind: StepType) -> dict[str, Json]:
    config: dict[str, Json] = draw(_some(zz_note=texts(), zz_tree=st.dictionaries(texts(5), numbers(), max_size=2)))
    match kind:
        case StepType.BOOLEAN:
            config |= draw(_some(true_label=texts(), false_label=texts()))
        case StepType.NUMBER:
            config |= draw(_some(unit=texts(10)))
            if draw(st.booleans()):
                low, high = sorted(draw(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000))))
                config |= draw(st.sampled_from([{"min": low, "max": high, "decimal": 2}, {"min": low}, {"max": high}]))
        case StepType.PHOTO if draw(st.booleans()):
            low, high = draw(_bounds(0, 20))
            config |= {"min": low, "max": max(1, high)}
        case StepType.RATING if draw(st.booleans()):
            low, high = draw(_bounds(-100, 100))
            config |= {"min": low, "max": float(high)}
        case StepType.TEXT:
            config |= draw(_some(multiline=st.booleans(), placeholder=texts()))
        case StepType.CHOICE | StepType.MULTI_CHOICE:
            count = draw(st.integers(1, 4))
            config["options"] = [{"id": f"o-{n}", "label": draw(visible_texts())} for n in range(count)]
            if kind is StepType.MULTI_CHOICE and draw(st.booleans()):
                low, high = draw(_bounds(0, count))
                config |= {"min_selected": low, "max_selected": max(1, high)}
        case _:
            pass
    return config | draw(_expectations(kind, config))


@st.composite
def _expectations(draw: st.DrawFn, kind: StepType, config: dict[str, Json]) -> dict[str, Json]:
    """What a step of this kind may expect, and ask for otherwise; empty for kinds that expect nothing."""
    low, high = (config.get(name) for name in ("min", "max"))
    if kind is StepType.RATING:
        low, high = 1 if low is None else low, 5 if high is None else int(high)
    first = -1000 if low is None else low
    options = [option["id"] for option in config.get("options", [])]
    forms: dict[StepType, st.SearchStrategy[Json]] = {
        StepType.BOOLEAN: st.booleans(),
        StepType.NUMBER: _ranges("min", "max", first, first + 2000 if high is None else high),
        StepType.RATING: _ranges("min", "max", first, first if high is None else high),
        StepType.CHOICE: st.lists(st.sampled_from(options or ["-"]), min_size=1, unique=True),
        StepType.MULTI_CHOICE: st.lists(st.sampled_from(options or ["-"]), unique=True),
        StepType.DATE: _ranges("not_before", "not_after", -36_500, 36_500),
    }
    if kind not in forms or draw(st.booleans()):
        return {}
    photos = _bounds(0, 3).map(lambda pair: {"min": pair[0], "max": max(1, pair[1])})
    given = st.fixed_dictionaries({}, optional={"note": st.booleans(), "photos": photos | st.just({"min": 1})})
    asked: dict[str, Json] = draw(_some(on_flag=given))
    return {"expected": draw(forms[kind]), **asked}


def _ranges(low: str, high: str, first: int, last: int) -> st.SearchStrategy[dict[str, Json]]:
    """An object with one bound or both."""
    both = _bounds(first, last).map(lambda pair: {low: pair[0], high: pair[1]})
    return both | both.map(lambda pair: {low: pair[low]}) | both.map(lambda pair: {high: pair[high]})


def _condition_values(source: dict[str, Json]) -> st.SearchStrategy[Json]:
    """Single values that a condition on this step (as TDL) may compare with."""
    match StepType(source["type"]):
        case StepType.BOOLEAN:
            return st.booleans()
        case StepType.NUMBER:
            return st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.0]) | numbers()
        case StepType.RATING:
            return st.integers(-2, 6) | st.just(3.0)
        case StepType.CHOICE | StepType.MULTI_CHOICE:
            return st.sampled_from([option["id"] for option in source["config"]["options"]])
        case StepType.DATE:
            return dates
        case StepType.TIME:
            return times
        case StepType.DATETIME:
            return datetimes
        case _:
            return st.sampled_from(["", "a", "ok", "OK"]) | texts(8)


@st.composite
def _comparisons(draw: st.DrawFn, sources: list[dict[str, Json]]) -> dict[str, Json]:
    source = draw(st.sampled_from(sources))
    op = draw(st.sampled_from(sorted(StepType(source["type"]).rules.operators)))
    if op is Operator.EXISTS:
        values: st.SearchStrategy[Json] = st.booleans()
    elif op in {Operator.IN, Operator.NOT_IN}:
        values = st.lists(_condition_values(source), min_size=1, max_size=3)
    else:
        values = _condition_values(source)
    return {"step": source["id"], "op": op.value, "value": draw(values)}


def _conditions(sources: list[dict[str, Json]]) -> st.SearchStrategy[dict[str, Json]]:
    """What stands under `when`: a comparison, or groups of them, two levels deep, at most 9 comparisons."""
    single = _comparisons(sources)
    inner = single | _groups(st.lists(single, min_size=1, max_size=3))
    return single | _groups(st.lists(inner, min_size=1, max_size=3))


def _groups(members: st.SearchStrategy[list[Json]]) -> st.SearchStrategy[dict[str, Json]]:
    return st.builds(lambda name, parts: {name: parts}, st.sampled_from(["all", "any"]), members)


_Breaker = Callable[[dict[str, Json], st.DrawFn], None]


def _first_step(data: dict[str, Json]) -> dict[str, Json]:
    step: dict[str, Json] = next(step for section in data["sections"] for step in section["steps"])
    return step


def _append(data: dict[str, Json], **step: Json) -> dict[str, Json]:
    step = {"id": "s-appended", "type": "text", "label": "Appended"} | step
    data["sections"][-1]["steps"].append(step)
    return step


def _set(*path: str, value: Json) -> _Breaker:
    def apply(data: dict[str, Json], _: st.DrawFn) -> None:
        for name in path[:-1]:
            if data.get(name) is None:
                data[name] = {}
            data = data[name]
        data[path[-1]] = value

    return apply


def _with_step(**step: Json) -> _Breaker:
    return lambda data, _: _append(data, **step) and None


def _when(when: Json, **source: Json) -> _Breaker:
    def apply(data: dict[str, Json], _: st.DrawFn) -> None:
        _append(data, **{"id": "s-source", "type": "number", "label": "Source"} | source)
        _append(data, condition={"when": when})

    return apply


def _compared(op: str, value: Json, *, step: str = "s-source", **source: Json) -> _Breaker:
    return _when({"step": step, "op": op, "value": value}, **source)


def _drop(field_name: str) -> _Breaker:
    return lambda data, _: _first_step(data).pop(field_name) and None


def _number(**config: Json) -> _Breaker:
    return _with_step(type="number", config=config)


def _expecting(kind: str, expected: Json, **config: Json) -> _Breaker:
    return _with_step(type=kind, config={"expected": expected} | config)


_OPTIONS = [{"id": "o-a", "label": "A"}, {"id": "o-b", "label": "B"}]
_GROUP = {"step": "s-source", "op": "gt", "value": 1}

_SELECT_THREE = {"type": "multi_choice", "config": {"options": _OPTIONS, "min_selected": 3}}

BREAKERS: dict[str, tuple[str, _Breaker]] = {
    "name of another type": ("wrong_type", _set("name", value=5)),
    "number as a boolean": ("wrong_type", _set("settings", "allow_skip", value=1)),
    "negative duration": ("out_of_range", _set("settings", "est_minutes", value=-1)),
    "step without a label": ("missing", _drop("label")),
    "step id of another form": ("pattern", _with_step(id="step-1")),
    "photo bounds crossed": ("out_of_range", _with_step(photo={"min": 3, "max": 2})),
    "photo step with half a photo": ("wrong_type", _with_step(type="photo", config={"min": 0.5})),
    "location required, but not captured": ("geo_not_captured", _with_step(geo_required=True)),
    "choice with no option": ("too_few", _with_step(type="choice", config={"options": []})),
    "option id twice": ("duplicate_id", _with_step(type="choice", config={"options": [_OPTIONS[0]] * 2})),
    "more to select than there is": ("out_of_range", _with_step(**_SELECT_THREE)),
    "number bounds crossed": ("out_of_range", _number(min=2, max=1)),
    "no number between the bounds": ("out_of_range", _number(min=0.1, max=0.9, decimal=0)),
    "too many decimals": ("out_of_range", _number(decimal=11)),
    "rating with halves": ("wrong_type", _with_step(type="rating", config={"max": 4.5})),
    "something expected of no form": ("wrong_type", _expecting("boolean", "yes")),
    "number expected to be true": ("wrong_type", _expecting("number", True)),
    "number expected in no bounds": ("missing", _expecting("number", {"not_before": 1})),
    "expected bounds crossed": ("out_of_range", _expecting("number", {"min": 2, "max": 1})),
    "expected bound is no number": ("wrong_type", _expecting("number", {"min": "2"})),
    "expected above all that can be entered": ("out_of_range", _expecting("number", {"min": 9}, max=8)),
    "expected below all that can be entered": ("out_of_range", _expecting("rating", {"max": 0})),
    "half a grade expected": ("wrong_type", _expecting("rating", {"min": 2.5})),
    "boolean expected to be an option": ("wrong_type", _expecting("boolean", ["o-a"])),
    "choice expected to be true": ("wrong_type", _expecting("choice", True, options=_OPTIONS)),
    "unknown option expected": ("unknown_option", _expecting("choice", ["o-c"], options=_OPTIONS)),
    "no option expected of a choice": ("too_few", _expecting("choice", [], options=_OPTIONS)),
    "option expected twice": ("duplicate_option", _expecting("multi_choice", ["o-a", "o-a"], options=_OPTIONS)),
    "date expected in a list": ("wrong_type", _expecting("date", ["o-a"])),
    "date expected in no bounds": ("missing", _expecting("date", {"min": 1})),
    "expected days crossed": ("out_of_range", _expecting("date", {"not_before": 1, "not_after": 0})),
    "half a day expected": ("wrong_type", _expecting("date", {"not_before": 0.5})),
    "days beyond a century": ("out_of_range", _expecting("date", {"not_after": 36_501})),
    "asked on a flag that never comes": ("nothing_expected", _with_step(type="boolean", config={"on_flag": {}})),
    "photos on a flag crossed": (
        "out_of_range",
        _expecting("boolean", True, on_flag={"photos": {"min": 3, "max": 2}}),
    ),
    "too many photos on a flag": ("out_of_range", _expecting("boolean", True, on_flag={"photos": {"max": 21}})),
    "note on a flag of another type": ("wrong_type", _expecting("boolean", True, on_flag={"note": "yes"})),
    "config too deep": ("too_deep", _with_step(config={"zz": [[[[[[[[[[[1]]]]]]]]]]]})),
    "empty condition": ("missing", _with_step(condition={"when": {}})),
    "two conditions in one": ("ambiguous_condition", _when(_GROUP | {"all": [_GROUP]})),
    "comparison without a value": ("missing", _when({"step": "s-source", "op": "eq"})),
    "unknown operator": ("unknown_value", _compared("like", "a")),
    "empty list of values": ("value_type", _when({"any": [{"step": "s-source", "op": "in", "value": []}]})),
    "exists compared with text": ("value_type", _compared("exists", "true")),
    "compared list too long": ("too_many", _compared("in", [1] * 101)),
}
"""What can be wrong with a definition: name -> (code of the problem, how to break it)."""


@st.composite
def broken_definitions(draw: st.DrawFn) -> tuple[str, dict[str, Json], str]:
    """A definition with exactly one thing wrong: (what, document, expected problem code)."""
    data = copy.deepcopy(draw(definitions(min_steps=1)))
    what = draw(st.sampled_from(sorted(BREAKERS)))
    code, apply = BREAKERS[what]
    apply(data, draw)
    return what, data, code


@dataclass
class GivenAnswer:
    """An answer as the core sees it."""

    value: Json = None
    photos: list[str] = field(default_factory=list)
    geo: dict[str, float] | None = None
    flagged: bool = False
    note: str | None = None


def valid_values(step: Step) -> st.SearchStrategy[Json]:
    """Values that a step of a valid definition accepts."""
    config = step.config
    match step.type:
        case StepType.BOOLEAN:
            return st.booleans()
        case StepType.NUMBER:
            low = -1000 if config.min is None else int(config.min)
            return st.integers(low, max(low, int(config.max)) if config.max is not None else low + 2000)
        case StepType.RATING:
            low = int(config.min if config.min is not None else 1)
            high = int(config.max if config.max is not None else 5)
            return st.integers(low, high) | st.integers(low, high).map(float)
        case StepType.CHOICE:
            return st.sampled_from([option.id for option in config.options or ()])
        case StepType.MULTI_CHOICE:
            ids = [option.id for option in config.options or ()]
            fewest = config.min_selected if config.min_selected is not None else int(step.required)
            most = config.max_selected or len(ids)
            return st.lists(st.sampled_from(ids), unique=True, min_size=fewest, max_size=most)
        case StepType.DATE:
            return dates
        case StepType.TIME:
            return times
        case StepType.DATETIME:
            return datetimes
        case StepType.SIGNATURE:
            return st.builds(lambda name: {"name": name}, visible_texts())
        case StepType.PHOTO:
            return st.none()
        case _:
            return visible_texts() if step.required else texts(8) | st.sampled_from(["ok", "OK and a", " "])
