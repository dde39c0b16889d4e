"""Whose data is meant, and what makes a run theirs. Pure, and fast where there is much to look through."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from checklist_crds.values.json_text import from_json

_WRITTEN_AS_IT_IS: Final = re.compile(r'[^"\\\x00-\x1f]+')
"""What JSON, and JSON within JSON, leaves as it is."""
_ESCAPE: Final = b"\\u"


class Why(StrEnum):
    """What makes a run that person's."""

    EMAIL = "email"
    """They answered it with this address."""
    MEMBER = "member"
    """It was opened or answered by this member."""
    REFERENCE = "executor_ref"
    """The caller's reference of it is the address, or the one that was named."""
    RUN = "run"
    """It was named."""


def normalised(text: str) -> str:
    """Two addresses are the same when these are."""
    return text.strip().casefold()


@dataclass(frozen=True)
class Person:
    """By what they are known; all of it is compared whole, never by parts."""

    emails: frozenset[str] = frozenset()
    """Normalised."""
    members: frozenset[str] = frozenset()
    """Public ids, u-<uuid>."""
    references: frozenset[str] = frozenset()
    """Normalised references of callers; addresses count as references as well."""
    runs: frozenset[str] = frozenset()
    """Ids of runs, r-<uuid>."""
    _needles: tuple[str, ...] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        texts = self.emails | self.references | {member.casefold() for member in self.members}
        longest = [max(_WRITTEN_AS_IT_IS.findall(text), key=len, default="") for text in sorted(texts)]
        object.__setattr__(self, "_needles", None if "" in longest else tuple(longest))

    def may_be_in(self, line: bytes) -> bool:
        """False: no object in this JSON text is theirs by address, reference or member. Much faster than to read it."""
        if self._needles is None or _ESCAPE in line:
            return True
        if line.isascii():
            folded = line.lower()
            return any(needle.encode() in folded for needle in self._needles)
        text = line.decode(errors="replace").casefold()
        return any(needle in text for needle in self._needles)

    def why(self, run: Mapping[str, Any]) -> frozenset[Why]:
        """What makes this Run object theirs; empty: it is somebody else's."""
        spec, status = run.get("spec") or {}, run.get("status") or {}
        identity = status.get("identity") or {}
        members = {status.get("assignedTo"), identity.get("userId")}
        members |= {answer.get("by") for answer in (status.get("answers") or {}).values()}
        found = self._why(identity.get("email"), spec.get("executorRef"), members)
        return found | {Why.RUN} if run["metadata"]["name"] in self.runs else found

    def why_delivered(self, delivery: Mapping[str, Any]) -> frozenset[Why]:
        """What in the payload of a WebhookDelivery object says that its run is theirs."""
        spec = delivery["spec"]
        found = frozenset({Why.RUN}) if spec["runRef"]["name"] in self.runs else frozenset[Why]()
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
        """The same person, known by these public ids as well."""
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
