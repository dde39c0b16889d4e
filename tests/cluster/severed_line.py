"""A TCP proxy in front of the API server, so that a test can cut the line, keep it down or let it fall silent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from checklist_dev.local.controlplane import ControlPlane


class SeveredLine:
    """Connections go on to the control plane, unless the line is `down`; `kubeconfig` leads to the line."""

    def __init__(self, cluster: ControlPlane, folder: Path) -> None:
        self._cluster = cluster
        self._target_port = int(cluster.server.rsplit(":", 1)[1])
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows: set[asyncio.Event] = set()
        self.kubeconfig = folder / "kubeconfig-by-proxy"
        self.down = False

    @contextlib.asynccontextmanager
    async def standing(self) -> AsyncIterator["SeveredLine"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        text = self._cluster.kubeconfig.read_text()
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self.kubeconfig.write_text(text.replace(self._cluster.server, address))
        try:
            yield self
        finally:
            server.close()
            self.cut()

    def cut(self) -> None:
        """Every connection breaks at once, in the middle of whatever is being sent."""
        for writer in list(self._writers):
            writer.transport.abort()

    def freeze(self) -> None:
        """Connections that there are stay open and carry nothing any more; new ones do."""
        for flow in self._flows:
            flow.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.down:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
            self._writers.add(far_writer)
            flow = asyncio.Event()
            flow.set()
            self._flows.add(flow)
            try:
                await asyncio.gather(_carry(reader, far_writer, flow), _carry(far_reader, writer, flow))
            finally:
                self._flows.discard(flow)
                self._writers.discard(far_writer)
                far_writer.transport.abort()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter, flow: asyncio.Event) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            await flow.wait()
            sink.write(data)
            await sink.drain()
    sink.transport.abort()
