"""Rates of requests, for settings and organizations (contract section 8)."""

import math
import re
from dataclasses import dataclass
from typing import Final

_FORM: Final = re.compile(r"(?P<rate>\d+(?:\.\d+)?)\s*/\s*(?P<unit>s|min|h)(?:\s+burst\s+(?P<burst>\d+))?")
_UNITS: Final = {"s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Rate:
    """Sustained rate and burst."""

    per_second: float
    burst: int

    @classmethod
    def parse(cls, text: str) -> "Rate | None":
        """Parse `100/s burst 200`, `30/min`, or `off` (None). Raises ValueError."""
        text = text.strip().lower()
        if text == "off":
            return None
        match = _FORM.fullmatch(text)
        if match is None or float(match["rate"]) <= 0:
            raise ValueError(f'must be like "100/s burst 200", or "off", not {text!r}')
        per_second = float(match["rate"]) / _UNITS[match["unit"]]
        burst = int(match["burst"]) if match["burst"] else math.ceil(float(match["rate"]))
        if burst < 1:
            raise ValueError("the burst must be at least 1")
        return cls(per_second, burst)


DEFAULT_RATE: Final = Rate(100, 200)
DEFAULT_RUN_RATE: Final = Rate(50, 300)


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates per API key, client address and run; None: unlimited."""

    key: Rate | None
    address: Rate | None
    run: Rate | None
