"""`python -m checklist_api.photos.worker <memory MiB> <seconds> <wall seconds> <parent>`: processes uploaded images.

Reads jobs from standard input and writes outcomes to standard output. For each job it forks a process with preloaded
decoders, confined by `confinement`. So images cannot affect each other, and leaked memory is freed.
"""

import gc
import os
import signal
import sys
from typing import Final

from .confinement import confine, die_with, lower_priority
from .image_work import outcome_line, warm_up
from .jobs import READY, Job, line_of_failure, line_of_refusal
from .refusals import ImageRefused, RefusalCode

_OUT_OF_TIME: Final = {signal.SIGPROF, signal.SIGXCPU}
_OUTCOME_BYTES: Final = 16 * 1024


def main() -> None:
    memory_mib, parent = int(sys.argv[1]), int(sys.argv[4])
    seconds, wall_seconds = float(sys.argv[2]), float(sys.argv[3])
    die_with(parent)
    lower_priority()
    warm_up()
    gc.freeze()
    jobs, outcomes = sys.stdin.buffer, sys.stdout.buffer
    outcomes.write(READY)
    outcomes.flush()
    for line in jobs:
        outcomes.write(
            in_its_own_process(Job.parse(line), memory_mib=memory_mib, seconds=seconds, wall_seconds=wall_seconds)
        )
        outcomes.flush()


def in_its_own_process(job: Job, *, memory_mib: int, seconds: float, wall_seconds: float) -> bytes:
    """Run a job in a forked process and return its outcome's line."""
    reading, writing = os.pipe()
    worker = os.getpid()
    child = os.fork()
    if child == 0:
        _work(job, writing, worker, memory_mib=memory_mib, seconds=seconds, wall_seconds=wall_seconds)
    os.close(writing)
    with open(reading, "rb") as pipe:  # noqa: PTH123 - a descriptor
        outcome = pipe.read(_OUTCOME_BYTES)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return _outcome_of_death(os.WTERMSIG(status))
    return outcome if outcome.endswith(b"\n") else line_of_failure("no outcome")


def _work(job: Job, writing: int, worker: int, *, memory_mib: int, seconds: float, wall_seconds: float) -> None:
    """Body of the forked process; does not return."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, sys.stdin.fileno())
        os.dup2(nowhere, sys.stdout.fileno())
        die_with(worker)
        confine(memory_mib=memory_mib, seconds=seconds, wall_seconds=wall_seconds)
        os.write(writing, outcome_line(job))
    finally:
        # Skip the worker's buffers and exit handlers.
        os._exit(0)


def _outcome_of_death(number: int) -> bytes:
    if number in _OUT_OF_TIME:
        return line_of_refusal(ImageRefused(RefusalCode.TOO_SLOW))
    if number in {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}:
        # The image crashed a decoder, and would again.
        return line_of_refusal(ImageRefused(RefusalCode.DAMAGED))
    # Wall clock limit or OOM killer: not caused by the image.
    return line_of_failure(f"ended by signal {number}")


if __name__ == "__main__":
    main()
