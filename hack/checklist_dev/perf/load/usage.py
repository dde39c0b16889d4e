"""What processes use, as the kernel counts it. Functions raise OSError where it does not, or for a process that is
gone."""

import contextlib
import os
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


def family_of(pid: int) -> list[int]:
    """The process and all that it has started and not lost."""
    found = [pid]
    for each in found:
        with contextlib.suppress(*(() if each == pid else (OSError,))):  # a child may end meanwhile
            for task in (_PROC / str(each) / "task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def resident_mib(pid: int) -> float:
    return status_of(pid, "VmRSS") / 1024


def shared_mib(pid: int) -> float:
    """The proportional share (PSS): pages that several processes map count once in all."""
    lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def status_of(pid: int, field: str) -> int:
    """For example `Threads`."""
    lines = (_PROC / str(pid) / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def processor_s(pid: int, *, with_ended_children: bool = False) -> float:
    """Seconds so far; `with_ended_children`: those of children that were waited for as well."""
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_ended_children else 13])) / TICKS_PER_S


def give_way() -> None:
    """This process plays callers that sit elsewhere in truth: it must not take the processors from the service."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.nice(19)
    with contextlib.suppress(OSError):
        (_PROC / "self" / "autogroup").write_text("19")
