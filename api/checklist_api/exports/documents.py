"""JSON Lines of whole runs, and GeoJSON (RFC 7946) of answers' locations."""

from typing import Any

from checklist_crds.times import format_optional, format_timestamp
from checklist_crds.values.json_text import to_json

from ..runs.steps import StepResult, StepState, step_results
from .csv_columns import photo_links
from .labelled import ExportContext, executor_of, labelled_view
from .run_source import ExportedRun


class JsonLines:
    """One run per line."""

    def __init__(self, context: ExportContext) -> None:
        self._context = context

    def head(self) -> bytes:
        return b""

    def of_run(self, exported: ExportedRun) -> bytes:
        return to_json(labelled_view(exported, self._context)) + b"\n"

    def tail(self) -> bytes:
        return b""


class GeoJson:
    """A FeatureCollection with a Point per answer with a location, one per line. A truncated file is invalid JSON."""

    def __init__(self, context: ExportContext) -> None:
        self._context = context
        self._is_first = True

    def head(self) -> bytes:
        return b'{"type":"FeatureCollection","features":['

    def of_run(self, exported: ExportedRun) -> bytes:
        features = []
        for result in step_results(exported.run, exported.definition):
            if result.answer is None or result.answer.geo is None or result.state is StepState.SKIPPED:
                continue
            features.append((b"\n" if self._is_first else b",\n") + to_json(self._feature(exported, result)))
            self._is_first = False
        return b"".join(features)

    def tail(self) -> bytes:
        return b"\n]}\n"

    def _feature(self, exported: ExportedRun, result: StepResult) -> dict[str, Any]:
        run, answer, context = exported.run, result.answer, self._context
        assert answer is not None  # noqa: S101 - checked by the caller
        assert answer.geo is not None  # noqa: S101
        executor = executor_of(exported, context)
        return {
            "type": "Feature",
            "id": f"{run.id}/{result.step.id}",
            # Longitude first (RFC 7946 section 3.1.1).
            "geometry": {"type": "Point", "coordinates": [answer.geo.lng, answer.geo.lat]},
            "properties": {
                "run_id": run.id,
                "status": run.phase_at(context.moment).rest,
                "template_id": run.admitted_as.template_id,
                "template_v": run.admitted_as.template_version,
                "template_name": run.admitted_as.template_name,
                "executor_ref": run.spec.executor_ref,
                "executor": executor.name or None,
                "created_at": format_timestamp(run.created_at),
                "completed_at": format_optional(run.status.completed_at),
                "section": result.section.title,
                "step_id": result.step.id,
                "step_type": result.step.type.value,
                "step": result.step.label,
                "answer": result.display,
                "value": answer.value,
                "accuracy_m": answer.geo.accuracy_m,
                "at": format_timestamp(answer.at),
                "received_at": format_timestamp(answer.received_at or answer.at),
                "by": answer.by,
                "by_name": context.name_of(answer.by) or None,
                "photos": photo_links(result, context),
                "flagged": bool(answer.flagged),
                "note": answer.note,
            },
        }
