"""JSON responses: compact, UTF-8, not cacheable."""

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web
from pydantic import BaseModel

from checklist_crds.values.json_text import to_json

_HEADERS: Final = {"Content-Type": "application/json", "Cache-Control": "no-store"}


def json_response(document: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """`document`: a model or a JSON value."""
    body = document.model_dump_json(warnings=False).encode() if isinstance(document, BaseModel) else to_json(document)
    return web.Response(body=body, status=status, headers={**_HEADERS, **headers} if headers else _HEADERS)
