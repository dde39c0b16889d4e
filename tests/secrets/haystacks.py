"""Where a secret could be: everything that the service and the cluster write, as bytes."""

import asyncio
import base64
import json
import urllib.request

from checklist_dev.controlplane import ControlPlane

SECRETS_IN_ETCD = b"/registry/secrets/"


def etcd_values(control_plane: ControlPlane) -> dict[bytes, bytes]:
    """All keys and values of etcd, read through etcd itself (its gRPC gateway)."""
    port = json.loads((control_plane.folder / "ports.json").read_text())["etcd"]
    values: dict[bytes, bytes] = {}
    start = b"\0"
    while True:
        query = {"key": _encoded(start), "range_end": _encoded(b"\0"), "limit": 500}
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v3/kv/range", json.dumps(query).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        for pair in answer.get("kvs", []):
            values[base64.b64decode(pair["key"])] = base64.b64decode(pair.get("value", ""))
        if not answer.get("more"):
            return values
        start = max(values) + b"\0"


def etcd_files(control_plane: ControlPlane) -> bytes:
    """Its files on the disk: former versions of objects, too, until they are compacted and written over."""
    # Its log is as long as it may become from the start, filled with zeros.
    files = (path for path in (control_plane.folder / "etcd").rglob("*") if path.is_file())
    return b"\n".join(path.read_bytes().rstrip(b"\0") for path in files)


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


class Wiretap:
    """Stands before a port of this machine and keeps every byte that it answers, heads and all."""

    def __init__(self, port: int) -> None:
        self.behind = port
        self.port = 0
        self.answered = bytearray()

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", self.behind)
        except OSError:  # it has not started yet
            writer.close()
            return
        there = self._copy(reader, behind_writer, bytearray())
        back = self._copy(behind_reader, writer, self.answered)
        await asyncio.gather(there, back, return_exceptions=True)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, record: bytearray) -> None:
        try:
            while chunk := await reader.read(65_536):
                record += chunk
                writer.write(chunk)
                await writer.drain()
        finally:
            writer.close()
