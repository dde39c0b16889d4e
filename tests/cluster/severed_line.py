"""A TCP proxy in front of the API server, so that a test can cut the line or keep it down."""

import asyncio
import contextlib
from pathlib import Path


class SeveredLine:
    """Connections to `port` go on to `target`, unless the line is `down`."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.down = False

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self.cut()

    def cut(self) -> None:
        """Every connection breaks at once, in the middle of whatever is being sent."""
        for writer in list(self._writers):
            writer.transport.abort()

    def kubeconfig(self, original: Path, folder: Path) -> Path:
        """A kubeconfig whose server is this line."""
        text = original.read_text().replace(f"https://127.0.0.1:{self._target_port}", f"https://127.0.0.1:{self.port}")
        path = folder / "kubeconfig-by-proxy"
        path.write_text(text)
        return path

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.down:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
            self._writers.add(far_writer)
            try:
                await asyncio.gather(_carry(reader, far_writer), _carry(far_reader, writer))
            finally:
                self._writers.discard(far_writer)
                far_writer.transport.abort()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    sink.transport.abort()
