"""Built files of a web surface, read at start and served from memory, compressed at build time.

Files in `assets/` have a digest in their names and are immutable; all others are revalidated by ETag.
"""

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aiohttp import web

from .markup import SECURITY_HEADERS

BUILT: Final = Path(__file__).parents[1] / "web_dist"
PAGE: Final = "index.html"
_SUFFIXES: Final[Mapping[str, str]] = {".br": "br", ".gz": "gzip"}
_TYPES: Final[Mapping[str, str]] = {
    # Explicit, since the system's table may differ.
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
_IMMUTABLE: Final = "public, max-age=31536000, immutable"
_REVALIDATE: Final = "no-cache"


@dataclass(frozen=True, slots=True)
class WebFile:
    """A file. `bodies`: by content coding, always with `identity`."""

    content_type: str
    cache: str
    etag: str
    bodies: Mapping[str, bytes]

    def response(self, request: web.Request, headers: Mapping[str, str] | None = None) -> web.Response:
        """Return the file in the smallest accepted coding, or a 304. `headers`: additional ones."""
        coding = best_coding(request.headers.get("Accept-Encoding", ""), self.bodies)
        etag = f'"{self.etag}-{coding}"'
        every = {
            **SECURITY_HEADERS,
            "Cache-Control": self.cache,
            "ETag": etag,
            "Vary": "Accept-Encoding",
            **(headers or {}),
        }
        if etag in _etags(request):
            return web.Response(status=304, headers=every)
        if coding != "identity":
            every["Content-Encoding"] = coding
        return web.Response(body=self.bodies[coding], headers={**every, "Content-Type": self.content_type})


@dataclass(frozen=True, slots=True)
class WebFiles:
    """Files of a surface by relative path; `page`: its index.html, None if it was not built."""

    page: str | None = None
    files: Mapping[str, WebFile] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "WebFiles":
        if not (folder / PAGE).is_file():
            return cls()
        bodies: dict[str, dict[str, bytes]] = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                coding = _SUFFIXES.get(path.suffix)
                name = path.relative_to(folder).as_posix().removesuffix(path.suffix if coding else "")
                bodies.setdefault(name, {})[coding or "identity"] = path.read_bytes()
        page = bodies.pop(PAGE)["identity"].decode()
        return cls(page, {name: _file(name, found) for name, found in bodies.items() if "identity" in found})


def best_coding(accepted: str, available: Mapping[str, bytes]) -> str:
    """Return the coding with the smallest body that Accept-Encoding allows (RFC 9110 section 12.5.3)."""
    weights: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, _, parameters = part.strip().partition(";")
        weights[name.strip()] = _weight(parameters)
    allowed = [coding for coding in available if coding == "identity" or weights.get(coding, weights.get("*", 0.0)) > 0]
    return min(allowed, key=lambda coding: len(available[coding]))


def _weight(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _etags(request: web.Request) -> set[str]:
    given = request.headers.get("If-None-Match", "")
    return {tag.strip().removeprefix("W/") for tag in given.split(",")}


def _file(name: str, bodies: Mapping[str, bytes]) -> WebFile:
    suffix = Path(name).suffix
    return WebFile(
        content_type=_TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream",
        cache=_IMMUTABLE if name.startswith("assets/") else _REVALIDATE,
        etag=hashlib.sha256(bodies["identity"]).hexdigest()[:16],
        bodies=bodies,
    )
