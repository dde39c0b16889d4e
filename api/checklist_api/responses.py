"""JSON responses: compact, in UTF-8, never kept by a cache on the way."""

import json
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

_HEADERS: Final = {"Content-Type": "application/json", "Cache-Control": "no-store"}
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def to_json(document: Any) -> bytes:
    return _encode(document).encode()


def json_response(document: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=to_json(document), status=status, headers={**_HEADERS, **headers} if headers else _HEADERS)
