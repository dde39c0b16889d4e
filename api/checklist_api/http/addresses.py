"""Addresses of clients behind trusted proxies."""

import ipaddress

from aiohttp import web


def rate_limit_address(request: web.BaseRequest, trusted_proxies: int) -> str:
    """Return `remote_address` for rate limits: IPv6 reduced to the /64, one customer's network."""
    address = remote_address(request, trusted_proxies)
    if ":" not in address:
        return address
    try:
        v6 = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(v6.ipv4_mapped or ipaddress.IPv6Network((v6, 64), strict=False).network_address)


def remote_address(request: web.BaseRequest, trusted_proxies: int) -> str:
    """Return the address of the client; empty if unknown.

    X-Forwarded-For is trusted for the `trusted_proxies` rightmost entries.
    """
    address = request.remote or ""
    if trusted_proxies:
        written = [part.strip() for value in request.headers.getall("X-Forwarded-For", ()) for part in value.split(",")]
        if len(written) >= trusted_proxies:
            address = written[-trusted_proxies]
    return address
