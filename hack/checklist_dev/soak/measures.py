"""What `make soak` measures while the load goes on, and what each of it may do in an hour.

Resident memory, descriptors and threads come from the kernel; sizes of etcd from etcd; watches from the API server;
ages and lengths of queues from the two programs' own /metrics, as an operator of the service would see them.
"""

import http.client
import re
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checklist_dev.failures import Failure
from checklist_dev.load.rig import Program, Rig
from checklist_dev.soak.flatness import Bound

MIB: Final = 2**20
_LINE: Final = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_OURS: Final = "checklists.dev"
_APISERVER_EVERY: Final = 3
"""It tells megabytes: only at each third sample."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Without a bound it is only told."""

    name: str
    unit: str
    bound: Bound | None
    why: str = ""
    """Where the bound comes from."""


_MEMORY: Final = Bound(rise=20.0, sway=10.0)
"""An interpreter takes some megabytes and gives them back, in ten minutes or more. So what is found in half an hour is
a leak of 30 MiB an hour: of four kilobytes a run."""
_FEW_THINGS: Final = Bound(rise=12.0, sway=12.0)
"""Connections to receivers come and go, ten up or down. What every two hundredth run loses is found."""

AT_WORK: Final = "people at work"

MEASURES: Final = (
    Measure(AT_WORK, "", Bound(rise=60.0), "when it rises, the machine cannot keep the rate: --rate"),
    Measure("API: memory", "MiB", _MEMORY, "resident, of its process"),
    Measure("API: memory of its workers", "MiB", _MEMORY, "resident, of the processes that it has started"),
    Measure("API: descriptors", "", _FEW_THINGS, "of all its processes"),
    Measure("API: threads", "", Bound(rise=6.0), "of all its processes"),
    Measure("operator: memory", "MiB", _MEMORY, "resident"),
    Measure("operator: descriptors", "", _FEW_THINGS),
    Measure("operator: threads", "", Bound(rise=6.0)),
    Measure("etcd: database", "MiB", Bound(rise=30.0), "the file, with free pages in it"),
    Measure("etcd: in use", "MiB", Bound(rise=10.0, sway=10.0), "with the history since the last compaction"),
    Measure("etcd: keys", "", Bound(rise=400.0, sway=300.0), "objects in the cluster; more while receivers are away"),
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
    Measure("API server: memory", "MiB", None, "not ours; told beside the rest"),
    Measure("etcd: memory", "MiB", None, "not ours; told beside the rest"),
)


@dataclass(frozen=True, slots=True)
class Scraped:
    """The samples of one /metrics."""

    values: Mapping[str, tuple[tuple[Mapping[str, str], float], ...]]

    @classmethod
    def of(cls, text: str, names: Iterable[str]) -> "Scraped":
        """Only of these names: an API server tells megabytes."""
        wanted = set(names)
        found: dict[str, list[tuple[Mapping[str, str], float]]] = {name: [] for name in wanted}
        for name, labels, value in _LINE.findall(text):
            if name in wanted:
                found[name].append((dict(_LABEL.findall(labels)), float(value)))
        return cls({name: tuple(samples) for name, samples in found.items()})

    def total(self, name: str, keep: Callable[[Mapping[str, str]], bool] = lambda labels: True) -> float | None:
        """The sum of those samples that `keep` wants; None when the name was not told at all."""
        samples = self.values.get(name, ())
        return sum(value for labels, value in samples if keep(labels)) if samples else None


@dataclass(slots=True)
class Watcher:
    """Samples one rig with one API and one operator. `samples` by measure; a value that was not to be had is left out
    of them: the judgement finds the hole."""

    rig: Rig
    api: Program
    operator: Program
    samples: dict[str, list[tuple[float, float]]]
    counters: dict[str, float]
    """What the programs have counted, as of the last sample."""
    rounds: int = 0

    @classmethod
    def of(cls, rig: Rig, api: Program, operator: Program) -> "Watcher":
        return cls(rig, api, operator, {measure.name: [] for measure in MEASURES}, {})

    def sample(self, at: float) -> None:
        """Takes some hundred milliseconds; call it in a thread. Raises nothing for what is away."""
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
        """The latest value; NaN when there is none."""
        series = self.samples[name]
        return series[-1][1] if series else float("nan")

    def _processes(self) -> dict[str, float | None]:
        family = family_of(self.api.child.pid)
        return {
            "API: memory": resident_mib(family[0]),
            "API: memory of its workers": sum(map(resident_mib, family[1:])),
            "API: descriptors": sum(map(_descriptors, family)),
            "API: threads": sum(map(_threads, family)),
            "operator: memory": self.operator.rss_mib(),
            "operator: descriptors": _descriptors(self.operator.child.pid),
            "operator: threads": _threads(self.operator.child.pid),
            "API server: memory": resident_mib(self.rig.cluster.apiserver.pid),
            "etcd: memory": resident_mib(self.rig.cluster.etcd.pid),
        }

    def _operator_metrics(self) -> dict[str, float | None]:
        told = Scraped.of(
            self._asked(self.operator),
            (
                *("checklists_oldest_waiting_seconds", "checklists_pending", "checklists_archive_backlog_seconds"),
                *("checklists_runs_archived_total", "checklists_archived_bytes_total", "checklists_deliveries_total"),
                *("checklists_unexpected_errors_total", "checklists_own_faults_total"),
                *("checklists_archive_failures_total", "checklists_removed_objects_total"),
            ),
        )
        for name in told.values:
            if name.endswith("_total"):
                self.counters[name] = told.total(name) or 0.0
        return {
            "oldest first attempt": told.total(
                "checklists_oldest_waiting_seconds", lambda labels: labels["of"] == "first_attempt"
            ),
            "oldest retry": told.total("checklists_oldest_waiting_seconds", lambda labels: labels["of"] == "retry"),
            "queues of the operator": told.total(
                "checklists_pending", lambda labels: labels["of"].startswith("queue:")
            ),
            "due times known": told.total("checklists_pending", lambda labels: labels["of"] == "heap"),
            "archive: age of the backlog": told.total("checklists_archive_backlog_seconds"),
        }

    def _api_metrics(self) -> dict[str, float | None]:
        names = ("checklists_archive_look_age_seconds", "checklists_runs_dispatched_total", "checklists_archived_runs")
        more = ("checklists_photo_bytes_total", "checklists_archive_read_failures_total")
        told = Scraped.of(self._asked(self.api), (*names, *more))
        for name in (*names[1:], *more):
            self.counters[name] = told.total(name) or 0.0
        in_cluster = self.counters["checklists_runs_dispatched_total"] - (
            self.counters.get("checklists_runs_archived_total", 0.0) - self.counters.get("history", 0.0)
        )
        return {
            "archive: age of the API's look": told.total(names[0]),
            "runs in the cluster": in_cluster,
        }

    def _etcd(self) -> dict[str, float | None]:
        size, used = "etcd_mvcc_db_total_size_in_bytes", "etcd_mvcc_db_total_size_in_use_in_bytes"
        keys = "etcd_debugging_mvcc_keys_total"
        told = Scraped.of(_fetched(f"{self.rig.cluster.etcd_url}/metrics"), (size, used, keys))
        total, in_use = told.total(size), told.total(used)
        return {
            "etcd: database": total / MIB if total is not None else None,
            "etcd: in use": in_use / MIB if in_use is not None else None,
            "etcd: keys": told.total(keys),
        }

    def _apiserver(self) -> dict[str, float | None]:
        name = "apiserver_longrunning_requests"
        if self.rounds % _APISERVER_EVERY:
            return {}
        told = Scraped.of(self.rig.cluster.metrics(), (name,))
        return {
            "watches": told.total(name, lambda labels: labels.get("verb") == "WATCH" and labels.get("group") == _OURS),
            "watches of all kinds": told.total(name, lambda labels: labels.get("verb") == "WATCH"),
        }

    def _asked(self, program: Program) -> str:
        status, text = program.get("/metrics")
        if status != 200:
            raise Failure(f"{program.name} does not tell its metrics: {status}")
        return text


def family_of(pid: int) -> list[int]:
    """The process and all that it has started and not lost. Raises OSError where the kernel does not tell."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def resident_mib(pid: int) -> float:
    """Raises OSError where the kernel does not tell, or for a process that is gone."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def _threads(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("Threads:"))


def _descriptors(pid: int) -> float:
    return float(sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()))


def _fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as response:
        return bytes(response.read()).decode()
