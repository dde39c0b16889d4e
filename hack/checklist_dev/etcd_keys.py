"""etcd's own HTTP interface (its gRPC gateway), for tests that look behind the API server."""

import base64
import json

from checklist_dev.controlplane import ControlPlane


def gateway(control_plane: ControlPlane) -> str:
    """Where its keys are read (`/range`) and written (`/put`)."""
    port = json.loads((control_plane.folder / "ports.json").read_text())["etcd"]
    return f"http://127.0.0.1:{port}/v3/kv"


def encoded(raw: bytes) -> str:
    """A key or a value as it takes them."""
    return base64.b64encode(raw).decode()
