"""Both programs write the same lines: the same fields, ids by the same names, and where a line belongs."""

import ast
import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

import checklist_operator
from checklist_api.logs import JsonLines as ApiLines
from checklist_crds.log_lines import JsonLines, about, in_context

FIXED = {"ts", "level", "logger", "event"}
NOT_OURS = {"run", "event", "delivery", "template", "message", "why", "level", "ts", "logger"}
"""Names of fields that would be another word for one that there is, or take the place of one."""


def written(formatter: logging.Formatter, extra: dict[str, Any]) -> dict[str, Any]:
    record = logging.makeLogRecord({"msg": "run.dispatched", "levelname": "INFO", "name": "checklist_api", **extra})
    line: dict[str, Any] = json.loads(formatter.format(record))
    return line


def test_lines_of_both_programs_have_the_same_fields() -> None:
    of_api = written(ApiLines(), {"run_id": "r-1"})
    of_operator = written(JsonLines(), about(run_id="r-1"))
    assert of_api.keys() == of_operator.keys() == FIXED | {"run_id"}
    assert of_api["event"] == "run.dispatched"


async def test_a_line_says_which_request_it_belongs_to_and_none_after_another_began() -> None:
    async def request(number: int) -> list[str]:
        in_context(request_id=f"req-{number}")
        await asyncio.sleep(0)
        return [written(ApiLines(), {})["request_id"] for _ in range(2)]

    answers = await asyncio.gather(*(asyncio.create_task(request(n)) for n in range(3)))
    assert answers == [[f"req-{n}"] * 2 for n in range(3)]
    assert "request_id" not in written(ApiLines(), {})


def test_what_a_line_says_itself_goes_before_its_surroundings() -> None:
    async def request() -> dict[str, Any]:
        in_context(request_id="req-1")
        return written(ApiLines(), {"request_id": "req-2"})

    assert asyncio.run(request())["request_id"] == "req-2"


def facts(tree: ast.AST) -> list[str]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [word.arg or "" for call in calls if getattr(call.func, "id", "") == "about" for word in call.keywords]


@pytest.mark.parametrize(
    "file", sorted(Path(checklist_operator.__file__ or "").parent.rglob("*.py")), ids=lambda f: f.name
)
def test_the_operator_names_ids_as_the_api_does(file: Path) -> None:
    assert not NOT_OURS & set(facts(ast.parse(file.read_text()))), file.name


def extras(tree: ast.AST) -> list[str]:
    words = [word for node in ast.walk(tree) if isinstance(node, ast.Call) for word in node.keywords]
    found = [word.value for word in words if word.arg == "extra" and isinstance(word.value, ast.Dict)]
    return [str(key.value) for one in found for key in one.keys if isinstance(key, ast.Constant)]


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[2] / "api" / "checklist_api").rglob("*.py")), ids=lambda f: f.name
)
def test_the_api_takes_no_field_of_every_line_for_its_own(file: Path) -> None:
    assert not FIXED & set(extras(ast.parse(file.read_text()))), file.name
