"""JSON bodies: reads those of requests strictly (contract section 7), and writes those of responses.

Ambiguous documents are refused. Responses are compact, in UTF-8 and not cacheable.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from aiohttp import hdrs, web
from pydantic import BaseModel

from checklist_crds.errors import MalformedJson, MissingField, PayloadTooLarge, Problem, UnsupportedMediaType
from checklist_crds.values.json_text import MOST_NESTED, to_json

MAX_BODY_BYTES: Final = 256 * 1024
JSON: Final = "application/json"
DECODED: Final = ("gzip", "deflate")
"""Values of Content-Encoding that aiohttp decodes."""
_HEADERS: Final = {"Content-Type": JSON, "Cache-Control": "no-store"}


async def read_json_object(request: web.Request, *, media_types: tuple[str, ...] = (JSON,)) -> dict[str, Any]:
    """Read the body as an object. Raises PayloadTooLarge, UnsupportedMediaType, MalformedJson."""
    if request.content_type not in media_types:
        raise UnsupportedMediaType(f"The body must be sent as {JSON}.")
    return parse_json_object(await read_body(request))


async def read_optional_json_object(request: web.Request) -> dict[str, Any]:
    """Like `read_json_object`; a request without a body is an empty object."""
    raw = await read_body(request)
    if not raw:
        return {}
    if request.content_type != JSON:
        raise UnsupportedMediaType(f"The body must be sent as {JSON}.")
    return parse_json_object(raw)


def require_known_encoding(request: web.Request) -> None:
    """Raises UnsupportedMediaType for an unsupported Content-Encoding."""
    encoding = ", ".join(request.headers.getall(hdrs.CONTENT_ENCODING, [])).strip().lower()
    if encoding not in ("", "identity", *DECODED):
        raise unknown_encoding()


def unknown_encoding() -> UnsupportedMediaType:
    decoded = " or ".join(DECODED)
    text = f"The body must be sent without Content-Encoding, or with {decoded}."
    return UnsupportedMediaType(text, headers={hdrs.ACCEPT_ENCODING: ", ".join(DECODED)})


async def read_body(request: web.Request) -> bytes:
    """Read the body. Raises PayloadTooLarge (without reading further), UnsupportedMediaType, MalformedJson."""
    require_known_encoding(request)
    too_large = f"The body may have at most {MAX_BODY_BYTES} bytes."
    if request.content_length is not None and request.content_length > MAX_BODY_BYTES:
        raise PayloadTooLarge(too_large)
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise PayloadTooLarge(too_large) from None
    except web.RequestPayloadError:
        raise MalformedJson("The body does not match its Content-Encoding or Transfer-Encoding.") from None


def parse_json_object(raw: bytes) -> dict[str, Any]:
    """Parse an unambiguous JSON object in UTF-8. Raises MalformedJson."""
    if not raw:
        raise MalformedJson("The body is missing.")
    try:
        text = raw.decode()
        document = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite_number
        )
    except UnicodeDecodeError:
        raise MalformedJson("The body is not UTF-8.") from None
    except RecursionError:
        raise _nested_too_deeply() from None
    except json.JSONDecodeError as error:
        raise MalformedJson(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except ValueError:
        raise MalformedJson("The body has a number that is too long.") from None
    if not isinstance(document, dict):
        raise MalformedJson("The body is not a JSON object.")
    _refuse_deep_values(document)
    if "\\u" in text:
        _refuse_half_characters(document)
    return document


def require_members(body: dict[str, Any], *names: str, within: str = "") -> None:
    """Raises MissingField with all of `names` that `body` lacks; null counts as present."""
    prefix = f"{within}." if within else ""
    missing = [prefix + name for name in names if name not in body]
    if missing:
        raise missing_fields(missing)


def missing_fields(paths: list[str], others: Sequence[Problem] = ()) -> MissingField:
    """Return the error. `others`: further problems of the body."""
    text = f"Missing: {', '.join(paths)}."
    details = [Problem(path, "missing", "This field is required.") for path in paths]
    return MissingField(text, details=[*details, *others])


def json_response(
    document: Any, *, status: int = 200, headers: Mapping[str, str] | None = None, media_type: str | None = None
) -> web.Response:
    """`document`: a model or a JSON value. `media_type` replaces application/json."""
    if media_type is not None:
        headers = {**(headers or {}), "Content-Type": media_type}
    body = document.model_dump_json(warnings=False).encode() if isinstance(document, BaseModel) else to_json(document)
    return web.Response(body=body, status=status, headers={**_HEADERS, **headers} if headers else _HEADERS)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        seen: set[str] = set()
        name = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise MalformedJson(f"The body has the name {_printable(name)} twice in one object.")
    return document


def _printable(name: str) -> str:
    return json.dumps(name if len(name) <= 64 else name[:64] + "…")


def _refuse_constant(constant: str) -> NoReturn:
    raise MalformedJson(f"The body has {constant}, which is not JSON.")


def _finite_number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise MalformedJson("The body has a number that is too large.")
    return number


def _nested_too_deeply() -> MalformedJson:
    return MalformedJson(f"The body is nested too deeply (limit {MOST_NESTED} levels).")


def _refuse_deep_values(document: dict[str, Any]) -> None:
    # Python's parser goes almost to the recursion limit, at which what reads the document then fails.
    level: list[Any] = [document]
    for _ in range(MOST_NESTED):
        values = (value for each in level for value in (each.values() if isinstance(each, dict) else each))
        level = [value for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise _nested_too_deeply()


def _refuse_half_characters(document: dict[str, Any]) -> None:
    # A lone surrogate such as \ud800 cannot be encoded as UTF-8.
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise MalformedJson("The body has half of a surrogate pair in a string.") from None
