"""CSV with one row per run of a template, and columns for each step (`rows=runs`).

The columns are the steps of all versions of the runs: those of the newest version in its order, then those of older
versions only. Steps are identified by id.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from checklist_crds.resources.template_definition import Definition, Step
from checklist_crds.values.csv_cells import Cell, csv_row

from ..runs.steps import StepResult, StepState, step_results
from .csv_columns import CSV_RUN_COLUMNS, number_of, photo_links, run_cells
from .labelled import ExportContext
from .run_source import ExportedRun

_SKIPPED: Final = "(skipped)"


@dataclass(slots=True)
class _Columns:
    """The columns of one step."""

    step: Step
    value: bool
    photos: bool
    place: bool
    note: bool

    @classmethod
    def of(cls, step: Step) -> "_Columns":
        rules = step.type.rules
        takes_images = rules.takes_drawing(step) or step.most_photos > 0
        return cls(step, rules.adds_photos, takes_images, step.geo, bool(step.on_flag and step.on_flag.note))

    def merge(self, step: Step) -> None:
        """Add columns that an older version of the step needs."""
        older = _Columns.of(step)
        self.value, self.photos, self.place, self.note = (
            self.value or older.value,
            self.photos or older.photos,
            self.place or older.place,
            self.note or older.note,
        )

    def titles(self) -> list[str]:
        unit = f" ({self.step.config.unit})" if self.step.config.unit else ""
        suffix, label = f"[{self.step.id}]", self.step.label
        return [
            *([f"{label}{unit} {suffix}"] if self.value else []),
            *([f"{label}: photos {suffix}"] if self.photos else []),
            *([f"{label}: latitude {suffix}", f"{label}: longitude {suffix}"] if self.place else []),
            *([f"{label}: note {suffix}"] if self.note else []),
        ]

    def cells(self, result: StepResult | None, context: ExportContext) -> list[Cell]:
        answer = result.answer if result is not None and result.state is not StepState.SKIPPED else None
        geo = answer.geo if answer is not None else None
        links = photo_links(result, context) if result is not None and answer is not None else []
        skipped = _SKIPPED if result is not None and result.state is StepState.SKIPPED else None
        return [
            *([skipped or _value(result)] if self.value else []),
            *(["\n".join(links) or (None if self.value else skipped)] if self.photos else []),
            *([geo.lat if geo else None, geo.lng if geo else None] if self.place else []),
            *([answer.note if answer is not None else None] if self.note else []),
        ]


class RunRows:
    """`definitions`: all versions of the runs, newest first."""

    def __init__(self, context: ExportContext, definitions: Iterable[Definition]) -> None:
        self._context = context
        self._columns: dict[str, _Columns] = {}
        for definition in definitions:
            for _, step in definition.steps():
                if not step.type.rules.takes_answer:
                    continue
                if (known := self._columns.get(step.id)) is not None:
                    known.merge(step)
                else:
                    self._columns[step.id] = _Columns.of(step)

    def head(self) -> bytes:
        titles: Sequence[str] = [title for column in self._columns.values() for title in column.titles()]
        return csv_row((*CSV_RUN_COLUMNS, *titles, "flagged"))

    def of_run(self, exported: ExportedRun) -> bytes:
        results = {one.step.id: one for one in step_results(exported.run, exported.definition)}
        cells: list[Cell] = []
        for step_id, column in self._columns.items():
            cells += column.cells(results.get(step_id), self._context)
        return csv_row((*run_cells(exported, self._context), *cells, exported.run.flagged))

    def tail(self) -> bytes:
        return b""


def _value(result: StepResult | None) -> Cell:
    if result is None:
        return None
    number = number_of(result)
    return result.display if number is None else number
