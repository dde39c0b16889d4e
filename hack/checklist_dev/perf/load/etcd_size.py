"""How much etcd holds, and how much of that is history and free pages: its own maintenance calls, over JSON."""

import json
import urllib.request
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, Final

_WITHIN_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class EtcdSize:
    """Bytes. `file`: of its database, free pages included; `in_use`: without them."""

    file: int
    in_use: int


def size_of(url: str) -> EtcdSize:
    """As it is. Raises OSError."""
    status = _call(url, "maintenance/status", {})
    file = int(status["dbSize"])
    return EtcdSize(file, int(status.get("dbSizeInUse") or file))


def tidied(url: str) -> EtcdSize:
    """After compaction (its history goes) and defragmentation (its file shrinks). Raises OSError."""
    revision = _call(url, "kv/range", {"key": b64encode(b"\0").decode(), "limit": 1})["header"]["revision"]
    _call(url, "kv/compaction", {"revision": revision, "physical": True})
    _call(url, "maintenance/defragment", {})
    return size_of(url)


def _call(url: str, call: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(f"{url}/v3/{call}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=_WITHIN_S) as response:
        answer: dict[str, Any] = json.loads(response.read())
    return answer
