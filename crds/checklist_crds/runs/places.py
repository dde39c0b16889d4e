"""Distances on earth."""

import math
from typing import Final, Protocol

_EARTH_RADIUS_M: Final = 6_371_008.8


class Point(Protocol):
    """Degrees, WGS 84."""

    @property
    def lat(self) -> float: ...
    @property
    def lng(self) -> float: ...


def distance_m(one: Point, other: Point) -> int:
    """Whole metres along the great circle (haversine on a sphere: wrong by at most half a percent)."""
    lat, other_lat = math.radians(one.lat), math.radians(other.lat)
    half = math.sin((other_lat - lat) / 2) ** 2
    half += math.cos(lat) * math.cos(other_lat) * math.sin(math.radians(other.lng - one.lng) / 2) ** 2
    return round(2 * _EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, half))))
