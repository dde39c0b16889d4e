"""The slot of an organization: one of sixty, by its id and for ever, so that several operators can divide the work.

Runs and their deliveries bear it as the label `checklists.dev/slot`, which a watch can select by. It says nothing of
how many operators there are: when their number changes, no object does.
"""

import hashlib
from typing import Final

from .resource_types import GROUP, ORGANIZATION_LABEL

SLOT_LABEL: Final = f"{GROUP}/slot"
SLOTS: Final = 60
"""Divisible by 2, 3, 4, 5 and 6."""


def slot_of(organization: str) -> str:
    """`0` to `59`."""
    digest = hashlib.blake2s(organization.encode(), digest_size=8).digest()
    return str(int.from_bytes(digest, "big") % SLOTS)


def labels_of(organization: str) -> dict[str, str]:
    """What a run or a delivery of the organization is labelled with."""
    return {ORGANIZATION_LABEL: organization, SLOT_LABEL: slot_of(organization)}
