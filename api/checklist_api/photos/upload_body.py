"""Streams the body of an upload: an image, or a form with one file (RFC 7578).

Form fields before the file are read first: they may contain the op_id, which identifies repeated uploads before their
bytes are read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from checklist_crds.errors import MalformedJson, PayloadTooLarge, Problem, ServiceUnavailable, ValidationFailed

from ..http.json_body import missing_fields, require_known_encoding
from ..http.op_id import only_op_id

FORM: Final = "multipart/form-data"
ANY_BYTES: Final = "application/octet-stream"
_FORM_OVERHEAD: Final = 64 * 1024
"""Limit of a form's boundaries, headers and fields."""
_CHUNK_BYTES: Final = 64 * 1024
_FIELDS_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Upload:
    """An image to be read."""

    media_type: str
    at_least: int
    """Minimum size in bytes by Content-Length; 1 if unknown."""
    op_id: str | None
    read: Callable[[], Awaitable[bytes]]
    """Returns the next bytes; empty at the end. Raises MalformedJson, PayloadTooLarge, ValidationFailed."""


async def upload_of(request: web.Request, op_id: str | None) -> Upload:
    """Begin to read an upload. `op_id`: from query or header.

    Raises UnsupportedMediaType (Content-Encoding) and, for a form, MissingField, MalformedJson, PayloadTooLarge,
    ValidationFailed, ServiceUnavailable.
    """
    require_known_encoding(request)
    size = request.content_length or 1
    if request.content_type != FORM:
        return Upload(request.content_type, size, op_id, request.content.readany)
    with _readable():
        form = _Form(await request.multipart())
    try:
        async with asyncio.timeout(_FIELDS_TIMEOUT_S):
            file = await form.until_file()
    except TimeoutError:
        raise ServiceUnavailable("The form did not arrive in time. Send it again.") from None
    kind = file.headers.get("Content-Type", ANY_BYTES).partition(";")[0].strip().lower()
    kind = kind if kind.isascii() else ""  # other bytes may be lone surrogates here
    return Upload(kind, max(1, size - _FORM_OVERHEAD), only_op_id(form.op_id, op_id), form.read)


class _Form:
    """Reader of a form with one file."""

    def __init__(self, parts: MultipartReader) -> None:
        self._parts = parts
        self._file: BodyPartReader | None = None
        self._overhead = 0
        self.op_id: str | None = None
        """From the fields before the file."""

    async def until_file(self) -> BodyPartReader:
        """Read up to the file."""
        while (part := await self._next()) is not None:
            if _is_file(part):
                self._file = part
                return part
            text = await self._field(part)
            if part.name == "op_id":
                self.op_id = text
        raise missing_fields(["photo"])

    async def read(self) -> bytes:
        """Return the next bytes of the file."""
        chunk = b""
        with _readable():
            while self._file is not None and not chunk and not self._file.at_eof():
                chunk = await self._file.read_chunk(_CHUNK_BYTES)
        if not chunk:
            await self._read_rest()
        return chunk

    async def _read_rest(self) -> None:
        """Read the rest of the form, which must not have another file or an op_id."""
        while (part := await self._next()) is not None:
            if _is_file(part):
                raise _wrong("photo", "too_many", "A request can have one photo only.")
            if part.name == "op_id":
                raise _wrong("op_id", "too_late", "In a form, the op_id must come before the file.")
            await self._field(part)

    async def _next(self) -> BodyPartReader | None:
        with _readable():
            part = await self._parts.next()
            if isinstance(part, MultipartReader):
                raise ValueError("nested form")
            return part

    async def _field(self, part: BodyPartReader) -> str:
        raw = bytearray()
        with _readable():
            while not part.at_eof():
                chunk = await part.read_chunk()
                raw += chunk
                self._overhead += len(chunk)
                if self._overhead > _FORM_OVERHEAD:
                    raise PayloadTooLarge(
                        f"The form fields besides the photo are too large (limit {_FORM_OVERHEAD // 1024} KiB)."
                    )
            return raw.decode()


def _is_file(part: BodyPartReader) -> bool:
    return part.filename is not None or part.headers.get("Content-Type", "").lower().startswith("image/")


def _wrong(path: str, code: str, text: str) -> ValidationFailed:
    return ValidationFailed(text, details=[Problem(path, code, text)])


@contextmanager
def _readable() -> Iterator[None]:
    """Map all errors of the form parser to one refusal."""
    try:
        yield
    except (ValueError, RuntimeError, AssertionError, HttpProcessingError, web.RequestPayloadError):
        raise MalformedJson("The body is not a valid form.") from None
