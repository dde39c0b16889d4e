"""Legal hold: such objects are neither archived nor deleted nor erased, whatever the retention."""

from collections.abc import Mapping
from typing import Any, Final

from .base import GROUP

LEGAL_HOLD_ANNOTATION: Final = f"{GROUP}/legal-hold"
"""`"true"` on a Run holds the run with its deliveries and photos; on an Organization, all of its runs."""


def is_held(body: Mapping[str, Any]) -> bool:
    """Whether the object itself has the annotation."""
    value = (body["metadata"].get("annotations") or {}).get(LEGAL_HOLD_ANNOTATION)
    return str(value).strip().lower() == "true"
