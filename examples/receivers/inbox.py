"""What a receiver has to remember: nonces for as long as a signature holds, events for good, work until it is done.

The first attempts of one run may overlap, and a retry may arrive after a later event: order events by `seq`.
"""

import json
import os
import queue
import re
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVENT_ID = re.compile(r"evt-[0-9A-Za-z-]{1,64}")


def read_event(body: bytes, key_id: str) -> dict[str, Any]:
    """The event in a verified body; raises ValueError when it is none, or of another run than the signature's keyid."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        event = None
    if not (
        isinstance(event, dict)
        and all(isinstance(event.get(name), str) for name in ("event_id", "event", "run_id"))
        and type(event.get("delivery_attempt")) is int
        and EVENT_ID.fullmatch(event["event_id"])
    ):
        raise ValueError("event: the body is none")
    if event["run_id"] != key_id:
        raise ValueError("run_id: not the run of the signature's keyid")
    return event


class Nonces:
    """The nonces of the last 310 s, which is how long `verify` takes a signature: 300 s, and 5 s of skew either way.

    Each transmission has a nonce of its own, a repeated attempt too. One that comes twice is a copy made on the way.
    """

    def __init__(self, keep_s: float = 310) -> None:
        self._keep_s = keep_s
        self._seen: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_new(self, nonce: str, now: float) -> bool:
        with self._lock:
            while self._seen and next(iter(self._seen.values())) < now - self._keep_s:
                del self._seen[next(iter(self._seen))]
            if nonce in self._seen:
                return False
            self._seen[nonce] = now
            return True


class Inbox:
    """One file for each event, named by its event_id: it is there whole or not at all, and no event is there twice.

    `work` is called in a thread of its own, after the answer, once for each event, and at the next start for those
    whose work had not come to its end. With several machines, use a table with a unique event_id in the same way.
    """

    def __init__(self, folder: Path, work: Callable[[dict[str, Any]], None]) -> None:
        self._events, self._done = folder / "events", folder / "done"
        self._events.mkdir(parents=True, exist_ok=True)
        self._done.mkdir(exist_ok=True)
        self._work = work
        self._queue: queue.Queue[str] = queue.Queue()
        for file in sorted(self._events.glob("*.json"), key=lambda file: file.stat().st_mtime):
            if not (self._done / file.stem).exists():
                self._queue.put(file.stem)
        threading.Thread(target=self._run, daemon=True).start()

    def add(self, event_id: str, body: bytes) -> bool:
        """Whether the event is new. When this returns, it is stored and may be acknowledged."""
        if not EVENT_ID.fullmatch(event_id):
            raise ValueError("event_id: not one of ours, and it is to be the name of a file")
        with tempfile.NamedTemporaryFile(dir=self._events) as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
            try:
                os.link(file.name, self._events / f"{event_id}.json")  # fails when it is there; replaces nothing
            except FileExistsError:
                return False
        self._queue.put(event_id)
        return True

    def _run(self) -> None:
        while True:
            event_id = self._queue.get()
            try:
                self._work(json.loads((self._events / f"{event_id}.json").read_bytes()))
                (self._done / event_id).touch()
            except Exception:
                traceback.print_exc()  # it stays undone, and is tried again at the next start
