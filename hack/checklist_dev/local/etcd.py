"""etcd's HTTP gateway, bypassing the API server: sizes, and keys as the API server stored them."""

import asyncio
import base64
import json
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any, Final

from checklist_dev.local.bootstrap import NAMESPACE

_WITHIN_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class EtcdSize:
    """Sizes in bytes. `file`: of the database, with free pages; `in_use`: without them."""

    file: int
    in_use: int


def size_of(url: str) -> EtcdSize:
    """The current size. Raises OSError."""
    status = call(url, "maintenance/status", {})
    file = int(status["dbSize"])
    return EtcdSize(file, int(status.get("dbSizeInUse") or file))


def tidied(url: str) -> EtcdSize:
    """The size after compaction and defragmentation. Raises OSError."""
    revision = call(url, "kv/range", {"key": encoded(b"\0"), "limit": 1})["header"]["revision"]
    call(url, "kv/compaction", {"revision": revision, "physical": True})
    call(url, "maintenance/defragment", {})
    return size_of(url)


async def copy_template(url: str, template_id: str, count: int, *, namespace: str = NAMESPACE) -> list[str]:
    """Copy the template as the API server stored it; returns the ids of the template and `count` - 1 copies.

    Through the API server, validation of a large template would take half a second of processor time. Raises OSError.
    """
    return await asyncio.to_thread(_copied, url, f"/registry/checklists.dev/templates/{namespace}/", template_id, count)


def _copied(url: str, folder: str, template_id: str, count: int) -> list[str]:
    found = call(url, "kv/range", {"key": encoded(f"{folder}{template_id}".encode())})["kvs"]
    stored = base64.b64decode(found[0]["value"]).decode()
    uid = json.loads(stored)["metadata"]["uid"]
    ids = [template_id]
    for number in range(1, count):
        name = f"t-00000000-0000-4000-8000-{number:012}"
        copy = stored.replace(template_id, name).replace(uid, str(uuid.uuid4()))
        call(url, "kv/put", {"key": encoded(f"{folder}{name}".encode()), "value": encoded(copy.encode())})
        ids.append(name)
    return ids


def encoded(raw: bytes) -> str:
    """A key or value in the gateway's encoding."""
    return base64.b64encode(raw).decode()


def call(url: str, method: str, body: dict[str, Any]) -> dict[str, Any]:
    """One call of the gateway at `url` (`ControlPlane.etcd_url`). Raises OSError."""
    request = urllib.request.Request(f"{url}/v3/{method}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=_WITHIN_S) as response:
        answer: dict[str, Any] = json.loads(response.read())
    return answer
