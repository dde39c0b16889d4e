"""Client addresses behind trusted proxies."""

import ipaddress

from aiohttp import web


def client_address(request: web.BaseRequest, trusted_proxies: int) -> str:
    """The address that a request counts for. IPv6 counts by /64, since that is what one customer is given."""
    address = remote_address(request, trusted_proxies)
    if ":" not in address:
        return address
    try:
        v6 = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(v6.ipv4_mapped or ipaddress.IPv6Network((v6, 64), strict=False).network_address)


def remote_address(request: web.BaseRequest, trusted_proxies: int) -> str:
    """The address that a request comes from; empty when it is unknown.

    X-Forwarded-For is believed only as far as our own proxies wrote it: `trusted_proxies` entries from the right.
    """
    address = request.remote or ""
    if trusted_proxies:
        written = [part.strip() for value in request.headers.getall("X-Forwarded-For", ()) for part in value.split(",")]
        if len(written) >= trusted_proxies:
            address = written[-trusted_proxies]
    return address
