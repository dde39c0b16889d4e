"""Selects the runs of an export and reads them page by page, to limit memory.

The list is that of `GET /v1/runs`, newest first, up to the time of the request. Pages are continued by creation time,
which never changes, so runs that are dispatched, answered or removed meanwhile cause no duplicates or gaps. Each run is
read in its turn; runs that no longer match the filters are skipped.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from checklist_crds.errors import RunNotFound
from checklist_crds.resources.run import Run
from checklist_crds.resources.template_definition import Definition, Section, Step, StepType
from checklist_crds.times import parse_timestamp

from ..index.run_filter import RunFilter
from ..index.runs import RunIndex
from ..organizations.directory import Organization
from ..runs.access import RunAccess

PAGE: Final = 200
AT_ONCE: Final = 8
"""Number of runs read concurrently."""
_INSTANT: Final = timedelta(milliseconds=1)
"""Resolution of creation times."""


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """A run with its definition."""

    run: Run
    definition: Definition


@dataclass(frozen=True, slots=True)
class RunSource:
    """The runs of `organization` that match `wanted` at `moment`. All methods raise KubeError."""

    index: RunIndex
    access: RunAccess
    organization: Organization
    wanted: RunFilter
    moment: datetime

    async def total(self) -> int:
        """Return the current number of runs, for progress."""
        return (await self._page(None, 1))[0]

    async def summaries(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield pages of list rows, newest first."""
        last: datetime | None = None
        given: set[str] = set()
        while True:
            # Runs created at the last one's time are returned again: request more and skip them.
            _, page = await self._page(last, PAGE + len(given))
            fresh = [run for run in page if run["run_id"] not in given]
            if not fresh:
                return
            yield fresh
            moment = parse_timestamp(fresh[-1]["created_at"])
            same = {run["run_id"] for run in fresh if run["created_at"] == fresh[-1]["created_at"]}
            given = given | same if moment == last else same
            last = moment

    async def runs(self) -> AsyncIterator[list[ExportedRun]]:
        """Yield small batches of whole runs."""
        async for page in self.summaries():
            for start in range(0, len(page), AT_ONCE):
                few = [self._read(run["run_id"]) for run in page[start : start + AT_ONCE]]
                yield [found for found in await asyncio.gather(*few) if found is not None]

    async def one(self, run_id: str) -> ExportedRun:
        """Read a run. Raises RunNotFound."""
        run = await self.access.of_organization(run_id, self.organization)
        return ExportedRun(run, await definition_of(self.access, run))

    async def _page(self, last: datetime | None, limit: int) -> tuple[int, list[dict[str, Any]]]:
        await self.index.wait_for_first_list()
        bounds = [self.moment + _INSTANT, self.wanted.created_before, None if last is None else last + _INSTANT]
        wanted = replace(self.wanted, created_before=min(bound for bound in bounds if bound is not None))
        return self.index.page(
            self.organization.name, self.organization.namespaces, wanted, now=self.moment, offset=0, limit=limit
        )

    async def _read(self, run_id: str) -> ExportedRun | None:
        try:
            found = await self.one(run_id)
        except RunNotFound:
            return None
        return found if self.wanted.matches_status(found.run.phase_at(self.moment).rest) else None


async def definition_of(access: RunAccess, run: Run) -> Definition:
    """Return the run's definition, or if it was deleted, a substitute with the ids that the run has."""
    try:
        return await access.definition(run)
    except RunNotFound:
        return _substitute(run)


def _substitute(run: Run) -> Definition:
    ids: Sequence[str] = list(dict.fromkeys([*run.status.answers, *run.status.skipped_steps]))
    steps = [Step(id=step_id, type=StepType.TEXT, label=step_id) for step_id in ids]
    section = Section(id="g-lost", title="The checklist was deleted", steps=steps)
    return Definition(name=run.admitted_as.template_name, sections=[section] if steps else [])
