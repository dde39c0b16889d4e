"""A delivery as received, made by the real signer, and variations of it."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from yarl import URL

from checklist_operator.transport import signing

CREATED: Final = 1795269000
"""2026-11-21T13:50:00Z"""
SECRET: Final = "a secret of sixteen"  # noqa: S105 - public, for the vectors
URL_CONFIGURED: Final = "https://hooks.example.com/in/it%27s?run=1&q"
RUN: Final = "r-0b9c3a52-6c1e-4b7e-9a55-0f3f2f1f7a10"
EVENT: Final = "evt-5a4d1f7e-2f43-4c0e-8f5a-3c1f0d9b8e77"
Header = tuple[str, str]


def envelope(attempt: int = 1, **changed: Any) -> str:
    return json.dumps(
        {
            "event_id": EVENT,
            "delivery_attempt": attempt,
            "event": "run.completed",
            "run_id": RUN,
            "template_id": "t-7d0a7c80-51b5-4a41-8a07-2a2b7d1d2a11",
            "template_v": 3,
            "ts": "2026-11-21T13:49:59.120Z",
            "identity": {"mode": "external", "name": 'Zoë "Z" Weiß', "email": "zoe@example.com"},
            "data": {"note": "☃ \u2028 \\ /", "progress": {"total": 2, "answered": 2, "skipped": 0}},
            "seq": 4,
            **changed,
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


@dataclass(frozen=True)
class Request:
    """A request, and its receiver's configured URL and secret, and time (seconds)."""

    url: str
    secret: str
    now: int
    method: str
    headers: tuple[Header, ...]
    body: str

    @classmethod
    def signed(
        cls,
        url: str = URL_CONFIGURED,
        body: str | None = None,
        *,
        secret: str = SECRET,
        nonce: str = "bm9uY2Vub25jZW5vbmNlMQ",
        expires_s: int = 300,
        created: int = CREATED,
        after_s: int = 1,
    ) -> Self:
        """A delivery to the canonical `url`, received `after_s` seconds after signing."""
        text = envelope() if body is None else body
        signed = signing.sign(
            url,
            text.encode(),
            secret=secret.encode(),
            key_id=RUN,
            created=datetime.fromtimestamp(created, UTC),
            nonce=nonce,
            expires_s=expires_s,
        )
        host = ("Host", URL(url, encoded=True).host_port_subcomponent or "")
        length = ("Content-Length", str(len(text.encode())))
        headers = (host, ("Content-Type", signed.pop("Content-Type")), length, *signed.items())
        return cls(url, secret, created + after_s, "POST", headers, text)

    def raw(self) -> bytes:
        """The request as bytes on a socket."""
        lines = [
            f"{self.method} /{self.url.split('/', 3)[3]} HTTP/1.1",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body.encode()

    def header(self, name: str) -> str:
        return dict(self.headers)[name]

    def but(self, **changed: Any) -> Self:
        return replace(self, **changed)

    def with_header(self, name: str, value: str) -> Self:
        return self.but(headers=tuple((each, value if each == name else old) for each, old in self.headers))

    def edited(self, name: str, old: str, new: str) -> Self:
        if old not in self.header(name):
            raise ValueError(f"{name} has no {old!r}")
        return self.with_header(name, self.header(name).replace(old, new))

    def in_order(self, *parameters: str) -> Self:
        """Signed with the signature parameters after `created` in this order."""
        start, created, *others = self.header("Signature-Input").split(";")
        by_name = {each.partition("=")[0]: each for each in others}
        given = ";".join((start, created, *(by_name[name] for name in parameters if name in by_name)))
        return self.with_header("Signature-Input", given).resigned()

    def without(self, name: str) -> Self:
        return self.but(headers=tuple(header for header in self.headers if header[0] != name))

    def with_body(self, body: str) -> Self:
        return self.but(body=body).with_header("Content-Length", str(len(body.encode())))

    def also(self, name: str, value: str, *, first: bool) -> Self:
        """Add the field a second time."""
        extra = ((name, value),)
        return self.but(headers=extra + self.headers if first else self.headers + extra)

    def resigned(self, *, secret: str | None = None, algorithm: str = "sha256") -> Self:
        """With the MAC of the current Signature-Input, in or out of the profile."""
        label, _, params = self.header("Signature-Input").partition("=")
        base = self.signature_base(params)
        mac = hmac.new((self.secret if secret is None else secret).encode(), base.encode(), algorithm).digest()
        return self.with_header("Signature", f"{label}=:{base64.b64encode(mac).decode()}:")

    def signature_base(self, params: str | None = None) -> str:
        """The signature base of RFC 9421, section 2.5, for the components used here."""
        params = params if params is not None else self.header("Signature-Input").partition("=")[2]
        names = params[1 : params.index(")")].split()
        return "".join(f"{name}: {self._component(name)}\n" for name in names) + f'"@signature-params": {params}'

    def _component(self, name: str) -> str:
        derived = {"@method": self.method, "@target-uri": self.url, "@authority": self.url.split("/")[2]}
        plain = name.strip('"')
        return derived[plain] if plain in derived else {each.lower(): value for each, value in self.headers}[plain]


def content_digest(body: str, algorithm: str = "sha256") -> str:
    name = {"sha256": "sha-256", "sha512": "sha-512"}[algorithm]
    return f"{name}=:{base64.b64encode(hashlib.new(algorithm, body.encode()).digest()).decode()}:"
