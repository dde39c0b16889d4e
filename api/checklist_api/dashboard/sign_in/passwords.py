"""Passwords of local accounts: requirements and hashes.

Argon2id with the parameters of OWASP's cheat sheet (19 MiB, two passes), in a bounded thread pool: a flood of sign-ins
is queued or refused and does not block other requests. Requirements follow NIST SP 800-63B: a length, no rules about
kinds of characters, and no known or easily guessed passwords.
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
"""Context words of this service (docs/sign-in.md); the person's e-mail address and name are added."""
GUESSES: Final = 1e9
"""Minimum number of guesses: excludes known passwords, repetitions, keyboard rows, dates, and variations of them."""
_Made = TypeVar("_Made")
_HASHER: Final = PasswordHasher(time_cost=_PASSES, memory_cost=_MEMORY_KIB, parallelism=1)


@cache
def _unknown_account_hash() -> str:
    """Hash for sign-ins to unknown accounts, so that they take as long as others."""
    return _HASHER.hash(token_urlsafe())


class _Slots:
    """Limits the number of running and queued calls."""

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
    """Hashes, verifies and judges passwords. `judging_s`: CPU time limit to judge one password, in seconds."""

    def __init__(self, *, judging_s: float = PROCESSOR_S) -> None:
        self._hasher = _HASHER
        self._judging_s = judging_s
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="passwords")
        self._signing_in = _Slots(_WAITING, "Too many sign-ins at the moment. Try again.")
        self._judges = asyncio.Semaphore(_JUDGED_AT_ONCE)
        self._judged = _Slots(_WAITING_TO_BE_JUDGED, "Too many password changes at the moment. Try again.")
        self._unknown_account = _unknown_account_hash()

    async def hash(self, password: str, *, salt_of: str | None = None) -> str:
        """Hash with the salt of `salt_of`, or a new one. Raises ServiceUnavailable when too many calls are queued."""
        salt = None if salt_of is None else _salt_of(salt_of)
        return await self._work(lambda: self._hasher.hash(password, salt=salt))

    async def verify(self, hashed: str | None, password: str) -> bool:
        """Check a password; False for None, in the same time. Raises ServiceUnavailable."""
        return any(await self.matching([] if hashed is None else [hashed], password))

    async def matching(self, hashes: Sequence[str], password: str) -> list[bool]:
        """Return for each hash whether the password matches. Raises ServiceUnavailable.

        Hashes with the same salt and parameters take one computation, and so does an empty list. At most `_MOST_SALTS`
        salts are computed (two passwords of one address set at the same moment have different salts).
        """
        return await self._work(lambda: self._matching(hashes, password))

    def is_outdated(self, hashed: str) -> bool:
        """Whether the hash has other parameters than the current ones."""
        return self._hasher.check_needs_rehash(hashed)

    async def problems(self, password: str, *, own: Sequence[str], path: str) -> list[Problem]:
        """Return why the password is refused; empty if it is not. `own`: e-mail and name. Raises ServiceUnavailable."""
        if len(password) < SHORTEST:
            return [Problem(path, "too_short", f"Use at least {SHORTEST} characters; a few words are a good password.")]
        if len(password) > LONGEST:
            return [Problem(path, "too_long", f"Use at most {LONGEST} characters.")]
        parts = [part for text in own for part in text.replace("@", " ").replace(".", " ").split()]
        found = await self._guesses(password, [*CONTEXT_WORDS, *own, *parts])
        if found is None:
            text = "This password takes too long to check. Use a few unrelated words, with fewer digits and signs."
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
                raise ServiceUnavailable("The password could not be checked. Try again.") from None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _work(self, work: Callable[[], _Made]) -> _Made:
        with self._signing_in.one():
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _matching(self, hashes: Sequence[str], password: str) -> list[bool]:
        # Passwords beyond the limit cannot exist, so they are not hashed at full length.
        given = password if len(password) <= LONGEST else ""
        samples = {_prefix(hashed): hashed for hashed in hashes or [self._unknown_account]}
        right = {prefix: _hashed_like(sample, given) for prefix, sample in list(samples.items())[:_MOST_SALTS]}
        return [
            hmac.compare_digest(hashed.encode(), right.get(_prefix(hashed), "").encode()) and given == password
            for hashed in hashes
        ]


def _prefix(hashed: str) -> str:
    """Return algorithm, parameters and salt of a hash."""
    return hashed.rpartition("$")[0]


def _hashed_like(sample: str, password: str) -> str:
    """Hash with the parameters and salt of `sample`; empty if that is not a hash."""
    try:
        return PasswordHasher.from_parameters(extract_parameters(sample)).hash(password, salt=_salt_of(sample))
    except (InvalidHashError, HashingError):
        return ""


def _salt_of(hashed: str) -> bytes | None:
    """None if `hashed` is not a hash."""
    try:
        return b64decode(hashed.split("$")[4] + "==")
    except (ValueError, IndexError):
        return None
