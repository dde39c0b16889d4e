"""Estimates the number of guesses for a password in a separate process.

zxcvbn tries all readings of digits and signs as letters. For a hostile password this takes many seconds and holds the
GIL, so it runs in a process that the kernel ends when its CPU time is used up.
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from typing import Final

_MAX_CHARS: Final = 72
"""Limit of the library. More characters never make a password weaker."""
_WORDS: Final = 40
PROCESSOR_S: Final = 2.0
"""A typical password takes 0.1 seconds, most of it to load the dictionaries."""
_TIMEOUT_S: Final = 20.0
_PASSED_ENV: Final = ("PYTHONPATH", "LD_LIBRARY_PATH")


async def guesses(password: str, words: Sequence[str], *, processor_s: float = PROCESSOR_S) -> float | None:
    """Return the number of guesses; None if the limits were exceeded. `words`: context words that attackers try first.

    `processor_s`: CPU time limit in seconds. Raises OSError when no process can be started.
    """
    tried = [word[:_MAX_CHARS].lower() for word in words if len(word) > 2][:_WORDS]
    request = json.dumps([processor_s, password[:_MAX_CHARS], tried])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-s", "-m", __name__),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in _PASSED_ENV if name in os.environ},
    )
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            answer, _ = await process.communicate(request.encode())
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    return float(answer) if process.returncode == 0 else None


def judge(password: str, words: Sequence[str]) -> float:
    """Return the number of guesses, without a time limit."""
    # Imported late: it loads half a megabyte of dictionaries.
    from zxcvbn import zxcvbn

    return float(zxcvbn(password, user_inputs=words)["guesses"])


def main() -> None:
    """Read `[processor_s, password, words]` as JSON from standard input and print the number of guesses."""
    processor_s, password, words = json.load(sys.stdin)
    signal.setitimer(signal.ITIMER_PROF, processor_s)  # SIGPROF ends the process
    os.nice(10)
    print(judge(password, words))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
