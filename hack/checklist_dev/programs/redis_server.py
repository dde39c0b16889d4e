"""A real redis-server on loopback, with a password, which can be killed, paused and restarted."""

import contextlib
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from checklist_dev.failures import Failure
from checklist_dev.system.ports import free_ports

PASSWORD = "a password: of Redis / with signs"  # noqa: S105 - for tests


class RedisServer:
    """Keeps no data after it ends. Raises Failure if it does not start."""

    def __init__(self, folder: Path, *, password: str = PASSWORD, tls: Path | None = None) -> None:
        """`tls`: a file with key and certificate; then only TLS is served. Both may change while it is down."""
        self.password = password
        self.tls = tls
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
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
        self._process = subprocess.Popen(["redis-server", str(configuration)], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return self
            time.sleep(0.02)
        raise Failure("redis-server does not listen")

    def pause(self) -> None:
        """Keep connections open without answering."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def stop(self) -> None:
        """Kill it with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
