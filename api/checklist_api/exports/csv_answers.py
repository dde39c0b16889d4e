"""CSV with one row per run and answered or skipped step (`rows=answers`)."""

from collections.abc import Iterator
from typing import Final

from checklist_crds.values.csv_cells import Cell, csv_row
from checklist_crds.values.json_text import to_json

from ..runs.steps import StepResult, StepState, step_results
from .csv_columns import CSV_RUN_COLUMNS, number_of, photo_links, run_cells
from .labelled import ExportContext
from .run_source import ExportedRun

ANSWER_COLUMNS: Final = (
    "section",
    "step_id",
    "step_type",
    "step",
    "state",
    "answer",
    "number",
    "unit",
    "value",
    "answered_utc",
    "answered_by",
    "latitude",
    "longitude",
    "accuracy_m",
    "photo_count",
    "photos",
    "received_utc",
    "note",
    "flagged",
)


class AnswerRows:
    """One row per answered or skipped step; a run without any has one row with empty step columns."""

    def __init__(self, context: ExportContext) -> None:
        self._context = context

    def head(self) -> bytes:
        return csv_row((*CSV_RUN_COLUMNS, *ANSWER_COLUMNS))

    def of_run(self, exported: ExportedRun) -> bytes:
        of_run = run_cells(exported, self._context)
        rows = [csv_row((*of_run, *cells)) for cells in self._answers(exported)]
        return b"".join(rows) or csv_row((*of_run, *[None] * len(ANSWER_COLUMNS)))

    def tail(self) -> bytes:
        return b""

    def _answers(self, exported: ExportedRun) -> Iterator[tuple[Cell, ...]]:
        for result in step_results(exported.run, exported.definition):
            is_recorded = result.state in (StepState.ANSWERED, StepState.SKIPPED)
            if is_recorded or result.answer is not None:
                yield self._cells(result)

    def _cells(self, result: StepResult) -> tuple[Cell, ...]:
        step, answer = result.step, result.answer
        about = (result.section.title, step.id, step.type.value, step.label, result.state.value)
        if answer is None or result.state is StepState.SKIPPED:
            return (*about, *[None] * (len(ANSWER_COLUMNS) - len(about)))
        geo = answer.geo
        links = photo_links(result, self._context)
        return (
            *about,
            result.display,
            number_of(result),
            step.config.unit if "unit" in step.type.rules.config_fields else None,
            None if answer.value is None else to_json(answer.value).decode(),
            answer.at,
            self._context.name_of(answer.by),
            geo.lat if geo else None,
            geo.lng if geo else None,
            geo.accuracy_m if geo else None,
            len(answer.photos),
            "\n".join(links),
            answer.received_at or answer.at,
            answer.note,
            "true" if answer.flagged else "false",
        )
