"""A real redis-server on loopback, with a password, which can be killed, paused and restarted."""

import socket
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from checklist_dev.system.ports import free_ports
from checklist_dev.system.processes import Child

READY_S = 20.0
PASSWORD = "a password: of Redis / with signs"  # noqa: S105 - for tests


class RedisServer:
    """Keeps no data after it ends. Raises Failure if it does not start."""

    def __init__(self, folder: Path, *, password: str = PASSWORD, tls: Path | None = None) -> None:
        """`tls`: a file with key and certificate; then only TLS is served. Both may change while it is down."""
        self.password = password
        self.tls = tls
        self._folder = folder
        self._child = Child("redis-server", ["redis-server", folder / "redis.conf"], log=folder / "redis.log")
        self.port = free_ports(1)[0]

    def settings(self) -> dict[str, str]:
        secret = self._folder / "redis-password"
        secret.write_text(self.password + "\n")
        return {
            "CHECKLISTS_REDIS_URL": f"redis://127.0.0.1:{self.port}/0",
            "CHECKLISTS_REDIS_PASSWORD_FILE": str(secret),
        }

    def url(self) -> str:
        """The URL with the password."""
        return f"redis://:{quote(self.password, safe='')}@127.0.0.1:{self.port}/0"

    def start(self) -> Self:
        configuration = self._folder / "redis.conf"
        lines = ["bind 127.0.0.1", 'save ""', "appendonly no", f'requirepass "{self.password}"', f"dir {self._folder}"]
        if self.tls is None:
            lines.append(f"port {self.port}")
        else:
            lines += ["port 0", f"tls-port {self.port}", "tls-auth-clients no"]
            lines += [f"tls-cert-file {self.tls}", f"tls-key-file {self.tls}"]
        configuration.write_text("\n".join(lines) + "\n")
        self._child.start()
        self._child.wait_until(self._listens, timeout_s=READY_S)
        return self

    def pause(self) -> None:
        """Keep connections open without answering."""
        self._child.pause()

    def resume(self) -> None:
        self._child.resume()

    def stop(self) -> None:
        """Kill it with SIGKILL."""
        self._child.stop(grace_s=0)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False
