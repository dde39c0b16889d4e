import socket

from aiohttp.abc import AbstractResolver, ResolveResult


class Loopback(AbstractResolver):
    """Every name is this machine."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass
