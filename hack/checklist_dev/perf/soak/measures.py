"""The measures of `make soak`, and their bounds per hour.

Resident memory, descriptors and threads come from the kernel; sizes of etcd from etcd; watches from the API server;
ages and lengths of queues from the /metrics of the two programs.
"""

import http.client
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checklist_dev.failures import Failure
from checklist_dev.perf.load.probes import family_of, resident_mib, samples, status_of, total
from checklist_dev.perf.load.rig import Program, Rig
from checklist_dev.perf.soak.flatness import Bound

MIB: Final = 2**20
_OURS: Final = "checklists.dev"
_COUNTED: Final = (
    *("checklists_runs_archived_total", "checklists_archived_bytes_total", "checklists_deliveries_total"),
    *("checklists_unexpected_errors_total", "checklists_own_faults_total"),
    *("checklists_archive_failures_total", "checklists_removed_objects_total"),
)
"""Counters of the operator."""
_COUNTED_BY_API: Final = (
    *("checklists_runs_dispatched_total", "checklists_archived_runs"),
    *("checklists_photo_bytes_total", "checklists_archive_read_failures_total"),
)
_APISERVER_EVERY: Final = 3
"""Its metrics have megabytes, so only each third sample reads them."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Without a bound it is only reported."""

    name: str
    unit: str
    bound: Bound | None
    why: str = ""
    """The source of the value, or an explanation."""


_MEMORY: Final = Bound(rise=20.0, sway=10.0)
"""An interpreter allocates and releases some megabytes over ten minutes or more. So half an hour detects a leak of
30 MiB per hour, which is four kilobytes per run."""
_FEW_THINGS: Final = Bound(rise=12.0, sway=12.0)
"""Connections to receivers vary by about ten. A leak in every two hundredth run is detected."""

AT_WORK: Final = "people at work"

MEASURES: Final = (
    Measure(AT_WORK, "", Bound(rise=60.0), "if it rises, the machine is too slow for the rate: --rate"),
    Measure("API: memory", "MiB", _MEMORY, "resident, of its process"),
    Measure("API: memory of its workers", "MiB", _MEMORY, "resident, of the processes that it has started"),
    Measure("API: descriptors", "", _FEW_THINGS, "of all its processes"),
    Measure("API: threads", "", Bound(rise=6.0), "of all its processes"),
    Measure("operator: memory", "MiB", _MEMORY, "resident"),
    Measure("operator: descriptors", "", _FEW_THINGS),
    Measure("operator: threads", "", Bound(rise=6.0)),
    Measure("etcd: database", "MiB", Bound(rise=30.0), "the file, with free pages in it"),
    Measure("etcd: in use", "MiB", Bound(rise=10.0, sway=10.0), "with the history since the last compaction"),
    Measure("etcd: keys", "", Bound(rise=400.0, sway=300.0), "objects in the cluster; more while receivers are down"),
    Measure("watches", "", Bound(rise=3.0), "of our kinds, open at the API server"),
    Measure("watches of all kinds", "", Bound(rise=6.0), "open at the API server"),
    Measure("runs in the cluster", "", Bound(rise=100.0), "dispatched, not archived yet"),
    Measure("oldest first attempt", "s", Bound(rise=20.0, level=30.0), "operator: checklists_oldest_waiting_seconds"),
    Measure("oldest retry", "s", Bound(rise=20.0, level=30.0), "operator: checklists_oldest_waiting_seconds"),
    Measure("queues of the operator", "", Bound(rise=50.0, level=500.0), "operator: checklists_pending, queue:..."),
    Measure("due times known", "", Bound(rise=200.0), "operator: checklists_pending, heap"),
    Measure(
        "archive: age of the backlog",
        "s",
        Bound(rise=20.0, level=60.0),
        "operator: checklists_archive_backlog_seconds",
    ),
    Measure("archive: age of the API's look", "s", Bound(rise=30.0, level=90.0), "checklists_archive_look_age_seconds"),
    Measure("API server: memory", "MiB", None, "not ours; for information"),
    Measure("etcd: memory", "MiB", None, "not ours; for information"),
)


@dataclass(slots=True)
class Watcher:
    """Samples one rig with one API and one operator. `samples` by measure; values that are not available are omitted,
    and the judgement detects the gap."""

    rig: Rig
    api: Program
    operator: Program
    samples: dict[str, list[tuple[float, float]]]
    counters: dict[str, float]
    """Counters of the programs, as of the last sample."""
    rounds: int = 0

    @classmethod
    def of(cls, rig: Rig, api: Program, operator: Program) -> "Watcher":
        return cls(rig, api, operator, {measure.name: [] for measure in MEASURES}, {})

    def sample(self, at: float) -> None:
        """Take a sample, for some hundred milliseconds; call it in a thread. Ignores what does not answer."""
        for source in (self._processes, self._operator_metrics, self._api_metrics, self._etcd, self._apiserver):
            try:
                found = source()
            except (Failure, OSError, ValueError, StopIteration, http.client.HTTPException):
                found = {}
            for name, value in found.items():
                if value is not None:
                    self.samples[name].append((at, value))
        self.rounds += 1

    def last(self, name: str) -> float:
        """The latest value; NaN if there is none."""
        series = self.samples[name]
        return series[-1][1] if series else float("nan")

    def _processes(self) -> dict[str, float | None]:
        family = family_of(self.api.child.pid)
        return {
            "API: memory": resident_mib(family[0]),
            "API: memory of its workers": sum(map(resident_mib, family[1:])),
            "API: descriptors": sum(map(_descriptors, family)),
            "API: threads": sum(status_of(pid, "Threads") for pid in family),
            "operator: memory": self.operator.rss_mib(),
            "operator: descriptors": _descriptors(self.operator.child.pid),
            "operator: threads": status_of(self.operator.child.pid, "Threads"),
            "API server: memory": resident_mib(self.rig.cluster.apiserver.pid),
            "etcd: memory": resident_mib(self.rig.cluster.etcd.pid),
        }

    def _operator_metrics(self) -> dict[str, float | None]:
        page = self._asked(self.operator)
        for name in _COUNTED:
            self.counters[name] = total(page, name) or 0.0
        oldest, pending = "checklists_oldest_waiting_seconds", "checklists_pending"
        return {
            "oldest first attempt": total(page, oldest, lambda labels: labels["of"] == "first_attempt"),
            "oldest retry": total(page, oldest, lambda labels: labels["of"] == "retry"),
            "queues of the operator": total(page, pending, lambda labels: labels["of"].startswith("queue:")),
            "due times known": total(page, pending, lambda labels: labels["of"] == "heap"),
            "archive: age of the backlog": total(page, "checklists_archive_backlog_seconds"),
        }

    def _api_metrics(self) -> dict[str, float | None]:
        page = self._asked(self.api)
        for name in _COUNTED_BY_API:
            self.counters[name] = total(page, name) or 0.0
        in_cluster = self.counters["checklists_runs_dispatched_total"] - (
            self.counters.get("checklists_runs_archived_total", 0.0) - self.counters.get("history", 0.0)
        )
        return {
            "archive: age of the API's look": total(page, "checklists_archive_look_age_seconds"),
            "runs in the cluster": in_cluster,
        }

    def _etcd(self) -> dict[str, float | None]:
        page = _fetched(f"{self.rig.cluster.etcd_url}/metrics")
        file = total(page, "etcd_mvcc_db_total_size_in_bytes")
        in_use = total(page, "etcd_mvcc_db_total_size_in_use_in_bytes")
        return {
            "etcd: database": file / MIB if file is not None else None,
            "etcd: in use": in_use / MIB if in_use is not None else None,
            "etcd: keys": total(page, "etcd_debugging_mvcc_keys_total"),
        }

    def _apiserver(self) -> dict[str, float | None]:
        if self.rounds % _APISERVER_EVERY:
            return {}
        open_ones = [
            sample
            for sample in samples(self.rig.cluster.metrics(), "apiserver_longrunning_requests")
            if sample.labels.get("verb") == "WATCH"
        ]
        ours = [sample for sample in open_ones if sample.labels.get("group") == _OURS]
        return {
            "watches": sum(sample.value for sample in ours) if open_ones else None,
            "watches of all kinds": sum(sample.value for sample in open_ones) if open_ones else None,
        }

    def _asked(self, program: Program) -> str:
        status, text = program.get("/metrics")
        if status != 200:
            raise Failure(f"{program.name} does not return its metrics: {status}")
        return text


def _descriptors(pid: int) -> float:
    return float(sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()))


def _fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as response:
        return bytes(response.read()).decode()
