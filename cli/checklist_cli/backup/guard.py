"""Detects whether an operator leads: a restore must not run next to one."""

import re
from datetime import datetime
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import LEASE
from checklist_crds.times import Clock, parse_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject

_OURS: Final = re.compile(r"checklist-dispatch-operator(-\d+-of-\d+)?")
_AHEAD_S: Final = 5.0
"""Tolerated clock difference of the lease holder."""


async def leaders(client: KubeClient, *, clock: Clock = utc_now) -> list[str]:
    """Holders of fresh operator leases in any namespace: `namespace/lease (holder)`. Raises KubeError."""
    leases, _ = await client.list_all(LEASE)
    return sorted(
        f"{lease['metadata']['namespace']}/{lease['metadata']['name']} ({lease['spec']['holderIdentity']})"
        for lease in leases
        if _OURS.fullmatch(lease["metadata"]["name"]) and is_held(lease, clock(), ahead_s=_AHEAD_S)
    )


def is_held(lease: JsonObject, now: datetime, *, ahead_s: float = 0.0) -> bool:
    """Whether the lease is held; `ahead_s`: grace after its end."""
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return False
    age_s = (now - parse_timestamp(spec["renewTime"])).total_seconds()
    return age_s < float(spec.get("leaseDurationSeconds") or 15) + ahead_s
