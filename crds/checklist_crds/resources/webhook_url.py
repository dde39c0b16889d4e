"""The canonical form of a webhook's URL (contract section 10; delivery profile, "Canonical URL").

A signature covers the URL, so sender, receiver and every library in between must spell it alike. The result of
`canonical_url` is stored, signed and sent, byte for byte. It is a fixpoint of the WHATWG URL standard (a browser or
Node would not change it), valid by RFC 3986 (a strict signature library accepts it), and what aiohttp sends for
`yarl.URL(url, encoded=True)`.

The host rules refuse names that only exist inside a private network. They give early feedback, not protection:
`checklist_operator.transport.addresses` checks the resolved address at every attempt. Likewise, most IP literals pass
here, since the operator's settings decide on denied ranges; only loopback, unspecified, link-local and multicast
addresses are refused at once.
"""

import re
import unicodedata
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

import idna

from .internal_hosts import InternalHosts

InsecureTargets = bool | InternalHosts
"""Hosts for which http and internal names are allowed: all (development), none, or these."""

MAX_URL_LENGTH: Final = 2048

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_INTERNAL_ZONES: Final = (".localhost", ".local", ".internal", ".svc", ".cluster.local")

_UNRESERVED = r"A-Za-z0-9._~\-"
# RFC 3986 pchar without the apostrophe: WHATWG encodes it in a query, but not in a path, so only %27 is stable in both.
_SEGMENT: Final = re.compile(rf"%([0-9A-Fa-f]{{2}})|[^{_UNRESERVED}!$&()*+,;=:@]")
_QUERY: Final = re.compile(rf"%([0-9A-Fa-f]{{2}})|[^{_UNRESERVED}!$&()*+,;=:@/?]")
_START: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/\\?#]*)(?P<rest>.*)", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_LABEL: Final = re.compile(r"[a-z0-9_-]{1,63}")
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")


class InvalidTarget(ValueError):
    """A URL that cannot be a webhook's target.

    `code` is one of `invalid_url`, `invalid_host`, `invalid_port`, `invalid_escape`, `too_long`, `insecure_scheme`,
    `user_info`, `internal_host`, `denied_address`; `message` is a sentence. Neither contains the URL, which may include
    the receiver's token.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


def canonical_url(url: str, *, allow_insecure: InsecureTargets = False) -> str:
    """Returns `url` in canonical form; `canonical_url(canonical_url(u)) == canonical_url(u)`.

    `allow_insecure` allows http and internal hosts and addresses, for all (development only) or the given hosts; the
    form stays the same. Raises InvalidTarget, whose code and message are for the caller.
    """
    text = url.strip(" ")
    if len(text) > MAX_URL_LENGTH:
        raise _too_long()
    if _CONTROL.search(text):
        raise InvalidTarget("invalid_url", "The URL contains control characters.")
    start = _START.fullmatch(text)
    if start is None:
        raise InvalidTarget("invalid_url", "The URL must be absolute: https://host/path.")
    is_open = _is_open(start["authority"], allow_insecure)
    scheme = start["scheme"].lower()
    if scheme not in ("http", "https"):
        raise InvalidTarget("insecure_scheme", "The URL must start with https://.")
    if scheme == "http" and not is_open:
        raise InvalidTarget("insecure_scheme", "The URL must use https, not http.")
    if "@" in start["authority"]:
        raise InvalidTarget("user_info", "The URL must not contain a user name or password.")
    host, port = _split_authority(start["authority"])
    canonical_host = _canonical_host(host, allow_insecure=is_open)
    canonical_port = _canonical_port(port, scheme)
    path, _, query = start["rest"].partition("#")[0].partition("?")
    canonical = f"{scheme}://{canonical_host}{canonical_port}{_canonical_path(path)}"
    if query:
        canonical += "?" + _escape(_QUERY, query)
    if len(canonical) > MAX_URL_LENGTH:
        raise _too_long()
    return canonical


@lru_cache(maxsize=4096)
def host_of(url: str) -> str:
    """Returns the host of a canonical URL, without the port. Show only this: path and query may contain secrets."""
    return urlsplit(url).hostname or ""


def _is_open(authority: str, allow_insecure: InsecureTargets) -> bool:
    if isinstance(allow_insecure, bool) or not allow_insecure:
        return bool(allow_insecure)
    try:
        return _canonical_host(_split_authority(authority)[0], allow_insecure=True) in allow_insecure
    except InvalidTarget:
        return False


def _too_long() -> InvalidTarget:
    return InvalidTarget("too_long", f"The URL is longer than {MAX_URL_LENGTH} characters in its encoded form.")


def _split_authority(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise InvalidTarget("invalid_host", "The IPv6 address in the URL is not closed by a bracket.")
        return host + bracket, rest[1:]
    host, _, port = authority.partition(":")
    return host, port


def _canonical_port(port: str, scheme: str) -> str:
    if not port:
        return ""
    if not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise InvalidTarget("invalid_port", "The port must be a number from 1 to 65535.")
    return "" if int(port) == _DEFAULT_PORTS[scheme] else f":{int(port)}"


def _canonical_host(host: str, *, allow_insecure: bool) -> str:
    if host.startswith("["):
        v6 = _parse_ipv6(host[1:-1])
        if not allow_insecure:
            _refuse_local_address(v6.ipv4_mapped or v6)
        return f"[{_format_ipv6(v6)}]"
    name = _mapped_name(host)
    if _ends_in_a_number(name):
        v4 = _parse_ipv4(name)
        if not allow_insecure:
            _refuse_local_address(v4)
        return str(v4)
    name = _ascii_name(name)
    if not allow_insecure and ("." not in name or f".{name}".endswith(_INTERNAL_ZONES)):
        raise InvalidTarget("internal_host", "The host must be a public name, not one of an internal network.")
    return name


def _mapped_name(host: str) -> str:
    """WHATWG "domain to ASCII", first half: percent-decoded and mapped by UTS #46, without one trailing dot.

    Mapping comes first, since it turns full-width digits and dots into an IPv4 address.
    """
    try:
        decoded = unquote_to_bytes(host).decode()
        mapped = idna.uts46_remap(decoded, std3_rules=False)
    except (UnicodeError, idna.IDNAError) as error:
        raise InvalidTarget("invalid_host", "The host is not a valid name.") from error
    return mapped.removesuffix(".")


def _ascii_name(name: str) -> str:
    """WHATWG "domain to ASCII", second half: A-labels of 1 to 63 characters, at most 253 in all."""
    try:
        pairs = [_label_pair(label) for label in name.split(".")]
        if any(_is_right_to_left(unicode_label) for unicode_label, _ in pairs):
            for unicode_label, _ in pairs:
                idna.check_bidi(unicode_label, check_ltr=True)
    except (UnicodeError, idna.IDNAError) as error:
        raise InvalidTarget("invalid_host", "The host is not a valid name.") from error
    ascii_name = ".".join(ascii_label for _, ascii_label in pairs)
    if len(ascii_name) > 253:
        raise InvalidTarget("invalid_host", "The host is longer than 253 characters.")
    return ascii_name


def _label_pair(label: str) -> tuple[str, str]:
    """Returns a label as Unicode and as ASCII. ASCII labels keep underscores and unusual hyphens, as in browsers."""
    if label.isascii() and not label.startswith("xn--"):
        if not _LABEL.fullmatch(label):
            raise idna.IDNAError("not a host label")
        return label, label
    unicode_label = idna.ulabel(label)
    return unicode_label, idna.alabel(unicode_label).decode()


def _is_right_to_left(label: str) -> bool:
    return any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in label)


def _ends_in_a_number(name: str) -> bool:
    return _NUMBER.fullmatch(name.rpartition(".")[2]) is not None


def _parse_ipv4(name: str) -> IPv4Address:
    """The WHATWG IPv4 parser: one to four parts, decimal, octal or hexadecimal; the last fills the rest."""
    parts = name.split(".")
    try:
        if len(parts) > 4:
            raise ValueError("more than four parts")
        *leading, last = [_parse_ipv4_number(part) for part in parts]
        if any(number > 255 for number in leading) or last >= 256 ** (4 - len(leading)):
            raise ValueError("a part is too large")
    except ValueError as error:
        raise InvalidTarget("invalid_host", "The host ends in a number and is no IPv4 address.") from error
    value = last
    for position, number in enumerate(leading):
        value += number << (8 * (3 - position))
    return IPv4Address(value)


def _parse_ipv4_number(part: str) -> int:
    if not _NUMBER.fullmatch(part):
        raise ValueError("not a number")
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if part.startswith("0") else int(part)


def _parse_ipv6(text: str) -> IPv6Address:
    try:
        if "%" in text:
            raise ValueError("a zone has no meaning in a URL")
        return IPv6Address(text)
    except ValueError as error:
        raise InvalidTarget("invalid_host", "The host is no valid IPv6 address.") from error


def _format_ipv6(address: IPv6Address) -> str:
    """Formats as WHATWG does: RFC 5952, but always hexadecimal, unlike `str()` of newer Pythons (mapped v4)."""
    value = int(address)
    groups = [f"{value >> shift & 0xFFFF:x}" for shift in range(112, -1, -16)]
    runs = re.findall(r"(?:^|(?<=,))0(?:,0)+(?=,|$)", ",".join(groups))
    if not runs:
        return ":".join(groups)
    longest = max(runs, key=len)
    before, _, after = f",{','.join(groups)},".partition(f",{longest},")
    return f"{before.strip(',').replace(',', ':')}::{after.strip(',').replace(',', ':')}"


def _refuse_local_address(address: IPv4Address | IPv6Address) -> None:
    if address.is_loopback or address.is_unspecified or address.is_link_local or address.is_multicast:
        raise InvalidTarget("denied_address", "The host is an address that no receiver can have.")


def _canonical_path(path: str) -> str:
    """Escapes the path and removes dot segments (WHATWG "path state"; a backslash is a slash in http URLs)."""
    segments: list[str] = []
    parts = [_escape(_SEGMENT, part) for part in path.replace("\\", "/")[1:].split("/")]
    for position, part in enumerate(parts):
        if part == "..":
            del segments[-1:]
        elif part != ".":
            segments.append(part)
        if part in (".", "..") and position == len(parts) - 1:
            segments.append("")
    return "/" + "/".join(segments)


def _escape(pattern: re.Pattern[str], text: str) -> str:
    """Escapes what is not allowed, in upper case, and unescapes what never needs an escape."""
    return pattern.sub(_escape_one, text)


def _escape_one(match: re.Match[str]) -> str:
    if match[1] is not None:
        character = chr(int(match[1], 16))
        return character if re.fullmatch(f"[{_UNRESERVED}]", character) else f"%{match[1].upper()}"
    if match[0] == "%":
        raise InvalidTarget("invalid_escape", "The URL contains a % that starts no escape of two hexadecimal digits.")
    try:
        return "".join(f"%{byte:02X}" for byte in match[0].encode())
    except UnicodeEncodeError as error:
        raise InvalidTarget("invalid_url", "The URL contains characters that are no text.") from error
