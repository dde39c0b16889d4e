"""Estimates in a process of its own how many guesses a password takes.

zxcvbn tries every way to read digits and signs as letters: for a hostile password that takes it many seconds, in which
no other thread of the process runs. So it has a process that the kernel ends when its processor time is used up.
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from typing import Final

_JUDGED: Final = 72
"""Characters that are looked at: the library's bound. What these alone make safe, more does not make unsafe."""
_WORDS: Final = 40
PROCESSOR_S: Final = 2.0
"""A password that a person chose takes a tenth of a second, most of it to read the lists of known ones."""
_WITHIN_S: Final = 20.0
_PASSED_ON: Final = ("PYTHONPATH", "LD_LIBRARY_PATH")


async def guesses(password: str, words: Sequence[str], *, processor_s: float = PROCESSOR_S) -> float | None:
    """The number of guesses; None when it could not be found within the limits. `words`: what attackers try first.

    `processor_s`: seconds of processor time the process may use. Raises OSError when no process can be started.
    """
    tried = [word[:_JUDGED].lower() for word in words if len(word) > 2][:_WORDS]
    asked = json.dumps([processor_s, password[:_JUDGED], tried])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-s", "-m", __name__),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    try:
        async with asyncio.timeout(_WITHIN_S):
            answer, _ = await process.communicate(asked.encode())
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    return float(answer) if process.returncode == 0 else None


def judge(password: str, words: Sequence[str]) -> float:
    """The number of guesses, however long it takes to find."""
    # Its lists of known passwords take half a megabyte and a moment to read.
    from zxcvbn import zxcvbn

    return float(zxcvbn(password, user_inputs=words)["guesses"])


def main() -> None:
    """Reads the limit, the password and the words from standard input, as JSON, and prints the number."""
    processor_s, password, words = json.load(sys.stdin)
    signal.setitimer(signal.ITIMER_PROF, processor_s)  # SIGPROF ends the process
    os.nice(10)
    print(judge(password, words))  # noqa: T201 - what it is for


if __name__ == "__main__":
    main()
