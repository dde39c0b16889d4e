"""`expires_at` of a run from its unparsed object; `Run.expires_at` is the same of a parsed one."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ..times import later, parse_timestamp


def expires_at_of(body: Mapping[str, Any]) -> datetime | None:
    """Returns when a run expires; None: never. Raises ValueError for an invalid timestamp."""
    spec = body["spec"]
    written = spec.get("expiresAt") or (body.get("status") or {}).get("expiresAt")
    if written is not None:
        return parse_timestamp(written)
    hours = spec.get("expiresInHours")
    if hours is None:
        return None
    created_at = parse_timestamp(spec.get("createdAt") or body["metadata"]["creationTimestamp"])
    return later(created_at, timedelta(hours=hours))
