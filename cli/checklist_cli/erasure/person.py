"""Decides which runs belong to a person. Pure, with a fast filter for large archives."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from checklist_crds.resources.run_id import run_id_of, run_id_of_delivery
from checklist_crds.values.json_text import from_json

_UNESCAPED: Final = re.compile(r'[^"\\\x00-\x1f]+')
"""Text that JSON, and JSON within JSON, does not escape."""
_ESCAPE: Final = b"\\u"


class Why(StrEnum):
    """Why a run belongs to the person."""

    EMAIL = "email"
    """They answered it with one of the addresses."""
    MEMBER = "member"
    """One of the members opened or answered it."""
    REFERENCE = "executor_ref"
    """The caller's reference is one of the addresses or references."""
    RUN = "run"
    """The run was given."""


def normalised(text: str) -> str:
    """The form in which addresses and references are compared."""
    return text.strip().casefold()


@dataclass(frozen=True)
class Person:
    """What identifies the person; values are compared as a whole."""

    emails: frozenset[str] = frozenset()
    """Normalised."""
    members: frozenset[str] = frozenset()
    """Public ids, u-<uuid>."""
    references: frozenset[str] = frozenset()
    """Normalised references of callers; addresses count as references, too."""
    runs: frozenset[str] = frozenset()
    """Ids of runs, r-<uuid>."""
    _needles: tuple[str, ...] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        texts = self.emails | self.references | {member.casefold() for member in self.members}
        longest = [max(_UNESCAPED.findall(text), key=len, default="") for text in sorted(texts)]
        object.__setattr__(self, "_needles", None if "" in longest else tuple(longest))

    def may_be_in(self, line: bytes) -> bool:
        """Whether an object in this JSON text may match by address, reference or member. Much faster than parsing."""
        if self._needles is None or _ESCAPE in line:
            return True
        if line.isascii():
            folded = line.lower()
            return any(needle.encode() in folded for needle in self._needles)
        text = line.decode(errors="replace").casefold()
        return any(needle in text for needle in self._needles)

    def why(self, run: Mapping[str, Any]) -> frozenset[Why]:
        """Why this Run object belongs to the person; empty if it does not."""
        spec, status = run.get("spec") or {}, run.get("status") or {}
        identity = status.get("identity") or {}
        members = {status.get("assignedTo"), identity.get("userId")}
        members |= {answer.get("by") for answer in (status.get("answers") or {}).values()}
        found = self._why(identity.get("email"), spec.get("executorRef"), members)
        return found | {Why.RUN} if run_id_of(run) in self.runs else found

    def why_delivered(self, delivery: Mapping[str, Any]) -> frozenset[Why]:
        """Why the run of this WebhookDelivery object belongs to the person, by the payload."""
        spec = delivery["spec"]
        found = frozenset({Why.RUN}) if run_id_of_delivery(delivery) in self.runs else frozenset[Why]()
        text = str(spec.get("payload") or "").encode(errors="replace")
        if not self.may_be_in(text):
            return found
        try:
            payload = from_json(text)
        except ValueError:
            return found
        if not isinstance(payload, dict):
            return found
        identity = payload.get("identity")
        identity = identity if isinstance(identity, dict) else {}
        members = {identity.get("user_id"), *_answered_by(payload.get("data"))}
        return found | self._why(identity.get("email"), payload.get("executor_ref"), members)

    def with_members(self, members: Iterable[str]) -> "Person":
        """A copy with these public ids added."""
        return replace(self, members=self.members | frozenset(members))

    def is_address(self, text: object) -> bool:
        return isinstance(text, str) and normalised(text) in self.emails

    def _why(self, email: object, reference: object, members: set[Any]) -> frozenset[Why]:
        found = set()
        if self.is_address(email):
            found.add(Why.EMAIL)
        if isinstance(reference, str) and normalised(reference) in self.emails | self.references:
            found.add(Why.REFERENCE)
        if members & self.members:
            found.add(Why.MEMBER)
        return frozenset(found)


def _answered_by(data: object) -> Iterator[str]:
    """Public ids of the members who answered, in the `data` of an event."""
    if not isinstance(data, dict):
        return
    answers = data.get("answers")
    for answer in (data, *(answers.values() if isinstance(answers, dict) else ())):
        if isinstance(answer, dict) and isinstance(answer.get("by"), str):
            yield answer["by"]
