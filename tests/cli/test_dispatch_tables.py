"""The table reader of `dispatch --csv`: what spreadsheets write, and problems at their cells."""

import json
from typing import Any

import pytest

from checklist_cli.bulk.table import Defaults, TableInvalid, read_table
from checklist_dev.repository import ROOT

CASES = json.loads((ROOT / "tests" / "vectors" / "dispatch_tables.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_table_has_these_rows_or_these_problems(case: dict[str, Any]) -> None:
    content = case["text"].encode("utf-16" if case.get("utf16") else "utf-8")
    defaults = Defaults(secret="a secret of the test" if case.get("secret") else None)
    if "problems" in case:
        with pytest.raises(TableInvalid) as caught:
            read_table(content, defaults)
        assert [[found.row, found.column, found.code] for found in caught.value.problems] == case["problems"]
        assert all(found.message for found in caught.value.problems)
        return
    table = read_table(content, defaults)
    assert list(table.copied) == case["copied"]
    rows = [
        [row.number, row.reference, row.expires_in_hours, row.webhook_url, list(row.webhook_events), list(row.copied)]
        for row in table.rows
    ]
    assert rows == case["rows"]


def test_empty_cells_get_the_values_of_the_options() -> None:
    defaults = Defaults(24.0, "https://hooks.example.com/", ("run.completed",), "a secret of the test")
    rows = read_table(b"reference,expires,webhook_url\na,,\nb,1h,https://hooks.example.com/b\n", defaults).rows
    first, second = (row.body("t-1", defaults.secret) for row in rows)
    webhook = {"url": "https://hooks.example.com/", "events": ["run.completed"], "secret": "a secret of the test"}
    assert first == {"template_id": "t-1", "executor_ref": "a", "expires_in_hours": 24.0, "webhook": webhook}
    assert (second["expires_in_hours"], second["webhook"]["url"]) == (1.0, "https://hooks.example.com/b")


def test_other_columns_are_repeated_if_asked_for_but_not_those_of_the_result() -> None:
    table = read_table(b"reference,Phone no\na,1\n", Defaults(), copy_others=True)
    assert (table.copied, table.rows[0].copied) == (("reference", "Phone no"), ("a", "1"))
    with pytest.raises(TableInvalid) as caught:
        read_table(b"reference,Run ID\na,r-1\n", Defaults(), copy_others=True)
    assert [found.code for found in caught.value.problems] == ["reserved_column"]


def test_text_in_another_encoding_is_refused_with_its_row() -> None:
    with pytest.raises(TableInvalid) as caught:
        read_table("reference\na\nZürich\n".encode("latin-1"), Defaults())
    assert str(caught.value.problems[0]) == "row 3: the text is not UTF-8; in Excel, save as “CSV UTF-8”"


def test_references_of_several_rows_are_found() -> None:
    assert read_table(b"reference\na\nb\na\n", Defaults()).repeated == {"a": (2, 4)}
