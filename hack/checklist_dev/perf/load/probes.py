"""Measurements under load: memory and processor time of processes, samples of a /metrics page.

Functions that read the kernel's counters raise OSError if they are not available or the process is gone.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

_PROC: Final = Path("/proc")
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


def family_of(pid: int) -> list[int]:
    """The process and its living descendants."""
    found = [pid]
    for each in found:
        with contextlib.suppress(*(() if each == pid else (OSError,))):  # a child may end meanwhile
            for task in (_PROC / str(each) / "task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def resident_mib(pid: int) -> float:
    return status_of(pid, "VmRSS") / 1024


def shared_mib(pid: int) -> float:
    """The proportional set size (PSS): pages mapped by several processes count once in total."""
    lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def status_of(pid: int, field: str) -> int:
    """A field of the process status, for example `Threads`."""
    lines = (_PROC / str(pid) / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def processor_s(pid: int, *, with_ended_children: bool = False) -> float:
    """Processor time in seconds; `with_ended_children`: includes reaped children."""
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_ended_children else 13])) / TICKS_PER_S


def give_way() -> None:
    """Lower this process's priority: it stands for remote clients and must not slow down the service."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.nice(19)
    with contextlib.suppress(OSError):
        (_PROC / "self" / "autogroup").write_text("19")


Labels = Mapping[str, str]
REQUESTS: Final = "apiserver_request_total"
"""The API server's counter of requests."""


def samples(text: str, *names: str) -> Iterator[Sample]:
    """Samples with these names; others are not parsed, since the API server's page has megabytes."""
    lines = [line for line in text.splitlines() if line.startswith(names)]
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        yield from (sample for sample in family.samples if sample.name in names)


def total(text: str, name: str, keep: Callable[[Labels], bool] = lambda labels: True) -> float | None:
    """The sum of the samples that `keep` accepts; None if there are none of this name."""
    found = list(samples(text, name))
    return sum(sample.value for sample in found if keep(sample.labels)) if found else None
