"""Which part of the work this operator does, where several divide it: organizations, by their slots.

The division is that of the label `checklists.dev/slot`, so that the API server sends each shard its own runs and
deliveries only. Everything else is little: all shards watch it, and each acts on what is of its own organizations. The
first shard also does what there is once (sweeps), and gives a slot to what has none: objects made with kubectl, or
before there were slots.
"""

import re
from dataclasses import dataclass
from typing import Final

from checklist_crds.kube.client import JsonObject
from checklist_crds.slots import SLOT_LABEL, SLOTS, slot_of

LEASE_NAME: Final = "checklist-dispatch-operator"
_FORM: Final = re.compile(r"(?P<index>\d{1,2}|ordinal)/(?P<count>\d{1,2})")
_LEASE: Final = re.compile(rf"{LEASE_NAME}(?:-(?P<index>\d+)-of-(?P<count>\d+))?")


@dataclass(frozen=True, slots=True)
class Shard:
    """Number `index`, from 0, of `count`. 0 of 1 is all."""

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str, *, host: str) -> "Shard":
        """From `1/3`, or `ordinal/3`: by the number at the end of the host's name, as the pods of a StatefulSet have
        it; more pods than shards stand by. Empty: all. Raises ValueError."""
        if not text:
            return cls()
        match = _FORM.fullmatch(text)
        if match is None or not 1 <= int(match["count"]) <= SLOTS:
            raise ValueError(f"must be like 0/3 or ordinal/3, with at most {SLOTS} shards, not {text!r}")
        count = int(match["count"])
        if match["index"] != "ordinal":
            index = int(match["index"])
            if index >= count:
                raise ValueError(f"the shards of {text!r} are numbered from 0 to {count - 1}")
            return cls(index, count)
        ordinal = re.search(r"-(\d+)$", host)
        if ordinal is None:
            raise ValueError(f"ordinal needs a host's name that ends with a number, and this one is {host!r}")
        return cls(int(ordinal[1]) % count, count)

    @property
    def is_whole(self) -> bool:
        return self.count == 1

    @property
    def is_first(self) -> bool:
        return self.index == 0

    @property
    def lease_name(self) -> str:
        return LEASE_NAME if self.is_whole else f"{LEASE_NAME}-{self.index}-of-{self.count}"

    @property
    def selector(self) -> str | None:
        """Of runs and deliveries. The first shard's also selects what has no slot, or none that there is."""
        if self.is_whole:
            return None
        mine = [str(slot) for slot in range(SLOTS) if slot % self.count == self.index]
        if not self.is_first:
            return f"{SLOT_LABEL} in ({','.join(mine)})"
        others = [str(slot) for slot in range(SLOTS) if slot % self.count != self.index]
        return f"{SLOT_LABEL} notin ({','.join(others)})"

    def owns(self, organization: str) -> bool:
        return int(slot_of(organization)) % self.count == self.index

    def is_of_another_division(self, lease_name: str) -> bool:
        """Whether this is the name of a lease of operators that divide the work into another number of shards."""
        match = _LEASE.fullmatch(lease_name)
        return match is not None and int(match["count"] or 1) != self.count


def has_slot(body: JsonObject) -> bool:
    """Whether the object is labelled with a slot that there is."""
    slot = (body["metadata"].get("labels") or {}).get(SLOT_LABEL, "")
    return slot.isdecimal() and slot == str(int(slot)) and int(slot) < SLOTS
