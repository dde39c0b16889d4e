"""Passwords of local accounts: requirements and slow hashes.

Argon2id with the parameters of OWASP's cheat sheet (19 MiB, two passes), away from the event loop, in a pool of threads
that is bounded: a flood of sign-ins waits or is refused, and everything else goes on. What may be a password follows
NIST SP 800-63B: a length, nothing about kinds of characters, and none that is known or easily guessed.
"""

import asyncio
import hmac
import logging
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from secrets import token_urlsafe
from typing import Final, TypeVar

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import HashingError, InvalidHashError

from checklist_crds.errors import Problem, ServiceUnavailable

from .password_judge import PROCESSOR_S, guesses

logger = logging.getLogger(__name__)

SHORTEST: Final = 12
LONGEST: Final = 128
_WORKERS: Final = 2
_WAITING: Final = 32
_JUDGED_AT_ONCE: Final = 2
_WAITING_TO_BE_JUDGED: Final = 16
_MOST_SALTS: Final = 4
_MEMORY_KIB: Final = 19_456
_PASSES: Final = 2
CONTEXT_WORDS: Final = ("checklist", "checklists", "dispatch", "checklistdispatch", "dashboard")
"""Words that everybody who attacks this service would try (docs/sign-in.md); the person's own e-mail and name too."""
GUESSES: Final = 1e9
"""Below that many guesses a password is not taken: known ones, repetitions, rows of keys, dates, and variations."""
_Made = TypeVar("_Made")
_HASHER: Final = PasswordHasher(time_cost=_PASSES, memory_cost=_MEMORY_KIB, parallelism=1)


@cache
def _unknown_account_hash() -> str:
    """What the password of an unknown account is compared with, so that the answer takes as long as for a known one."""
    return _HASHER.hash(token_urlsafe())


class _Places:
    """Bounds how many are under way and wait together."""

    def __init__(self, most: int, refusal: str) -> None:
        self._free = most
        self._refusal = refusal

    @contextmanager
    def one(self) -> Iterator[None]:
        """Raises ServiceUnavailable."""
        if not self._free:
            raise ServiceUnavailable(self._refusal)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


class Passwords:
    """Hashes and verifies; `close` it at the end. `judging_s`: processor time to judge one password, in seconds."""

    def __init__(self, *, judging_s: float = PROCESSOR_S) -> None:
        self._hasher = _HASHER
        self._judging_s = judging_s
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="passwords")
        self._signing_in = _Places(_WAITING, "Too many people sign in at this moment; please try again.")
        self._judges = asyncio.Semaphore(_JUDGED_AT_ONCE)
        self._judged = _Places(_WAITING_TO_BE_JUDGED, "Too many passwords are set at this moment; please try again.")
        self._unknown_account = _unknown_account_hash()

    async def hash(self, password: str, *, salt_of: str | None = None) -> str:
        """With the salt of another hash, or a new one. Raises ServiceUnavailable when too many are under way."""
        salt = None if salt_of is None else _salt_of(salt_of)
        return await self._work(lambda: self._hasher.hash(password, salt=salt))

    async def verify(self, hashed: str | None, password: str) -> bool:
        """Whether it is the password; None takes as long, and never is. Raises ServiceUnavailable."""
        return any(await self.matching([] if hashed is None else [hashed], password))

    async def matching(self, hashes: Sequence[str], password: str) -> list[bool]:
        """For each hash, whether it is of the password. Raises ServiceUnavailable.

        Hashes with one salt and the same parameters take one computation, none takes as long. Of what has other salts
        (two passwords of one address that were set in the same moment) `_MOST_SALTS` are looked at.
        """
        return await self._work(lambda: self._matching(hashes, password))

    def is_outdated(self, hashed: str) -> bool:
        """Whether it was made with other parameters than those of today."""
        return self._hasher.check_needs_rehash(hashed)

    async def problems(self, password: str, *, own: Sequence[str], path: str) -> list[Problem]:
        """Why it cannot be a password; empty when it can. `own`: e-mail and name. Raises ServiceUnavailable."""
        if len(password) < SHORTEST:
            return [Problem(path, "too_short", f"Use at least {SHORTEST} characters; a few words are a good password.")]
        if len(password) > LONGEST:
            return [Problem(path, "too_long", f"Use at most {LONGEST} characters.")]
        parts = [part for text in own for part in text.replace("@", " ").replace(".", " ").split()]
        found = await self._guesses(password, [*CONTEXT_WORDS, *own, *parts])
        if found is None:
            text = "This takes too long to judge. Use a few unrelated words, with fewer digits and signs."
            return [Problem(path, "not_judged", text)]
        if found < GUESSES:
            return [
                Problem(path, "too_common", "This is known from breaches or easily guessed. Use a few unrelated words.")
            ]
        return []

    async def _guesses(self, password: str, words: Sequence[str]) -> float | None:
        with self._judged.one():
            try:
                async with self._judges:
                    return await guesses(password, words, processor_s=self._judging_s)
            except OSError as error:
                logger.warning("password.not_judged", extra={"reason": error.strerror})
                raise ServiceUnavailable("The password could not be judged; please try again.") from None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _work(self, work: Callable[[], _Made]) -> _Made:
        with self._signing_in.one():
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _matching(self, hashes: Sequence[str], password: str) -> list[bool]:
        # What nobody could have set is not hashed in its length.
        given = password if len(password) <= LONGEST else ""
        samples = {_way(hashed): hashed for hashed in hashes or [self._unknown_account]}
        right = {way: _hashed_like(sample, given) for way, sample in list(samples.items())[:_MOST_SALTS]}
        return [
            hmac.compare_digest(hashed.encode(), right.get(_way(hashed), "").encode()) and given == password
            for hashed in hashes
        ]


def _way(hashed: str) -> str:
    """The hash without its end: algorithm, parameters and salt."""
    return hashed.rpartition("$")[0]


def _hashed_like(sample: str, password: str) -> str:
    """With the parameters and the salt of `sample`; empty where that is no hash."""
    try:
        return PasswordHasher.from_parameters(extract_parameters(sample)).hash(password, salt=_salt_of(sample))
    except (InvalidHashError, HashingError):
        return ""


def _salt_of(hashed: str) -> bytes | None:
    """None for what is no hash."""
    try:
        return b64decode(hashed.split("$")[4] + "==")
    except (ValueError, IndexError):
        return None
