"""Both programs write the same lines: the same fields, ids by the same names, and where a line belongs."""

import ast
import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from checklist_api.logs import JsonLines as ApiLines
from checklist_crds.log_lines import JsonLines, about, in_context
from checklist_dev.repository import ROOT

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


def extras(tree: ast.AST) -> list[str]:
    words = [word for node in ast.walk(tree) if isinstance(node, ast.Call) for word in node.keywords]
    found = [word.value for word in words if word.arg == "extra" and isinstance(word.value, ast.Dict)]
    return [str(key.value) for one in found for key in one.keys if isinstance(key, ast.Constant)]


@pytest.mark.parametrize(
    ("program", "fields_of", "forbidden"),
    [("operator", facts, NOT_OURS), ("api", extras, FIXED)],
    ids=["operator", "api"],
)
def test_a_program_uses_no_other_name_for_an_id_and_no_field_of_every_line_for_its_own(
    program: str, fields_of: Callable[[ast.AST], list[str]], forbidden: set[str]
) -> None:
    files = sorted((ROOT / program / f"checklist_{program}").rglob("*.py"))
    found = {str(file): forbidden & set(fields_of(ast.parse(file.read_text()))) for file in files}
    assert len(found) > 10
    assert {name: fields for name, fields in found.items() if fields} == {}
