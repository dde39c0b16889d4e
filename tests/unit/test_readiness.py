"""What /readyz answers: every check with its reason, in the same shape for both programs."""

import asyncio
import json

import aiohttp

from checklist_crds.readiness import Check, readiness_body, reasons_of
from checklist_dev.ports import free_ports
from checklist_operator.health import HealthServer
from checklist_operator.metrics import Metrics


def test_a_check_that_fails_says_why_and_the_shape_is_the_same_when_none_does() -> None:
    well = Check("kubernetes", None)
    checks = [Check("runs", "runs are not read yet"), well]
    assert reasons_of(checks) == ["runs are not read yet"]
    well_body = {"name": "kubernetes", "ok": True, "reason": None}
    assert readiness_body("not ready", checks, ["a note"]) == {
        "status": "not ready",
        "reasons": ["runs are not read yet"],
        "notes": ["a note"],
        "checks": [{"name": "runs", "ok": False, "reason": "runs are not read yet"}, well_body],
    }
    assert readiness_body("ok", [well]) == {"status": "ok", "reasons": [], "notes": [], "checks": [well_body]}


async def test_an_operator_that_does_not_do_its_work_is_not_ready_and_says_why() -> None:
    checks = [Check("lease", None), Check("watches", "the watches are not open yet")]
    (port,) = free_ports(1)
    server = HealthServer("127.0.0.1", port, Metrics(), lambda: ("leading", checks, []))
    await server.start()
    try:
        async with aiohttp.ClientSession() as session:

            async def asked() -> tuple[int, dict[str, object]]:
                async with session.get(f"http://127.0.0.1:{port}/readyz") as response:
                    return response.status, json.loads(await response.text())

            status, body = await asked()
            assert (status, body["status"], body["reasons"]) == (503, "leading", ["the watches are not open yet"])
            checks[1] = Check("watches", None)
            status, body = await asked()
            assert (status, body["status"], body["reasons"]) == (200, "leading", [])
            assert body["checks"] == [{"name": name, "ok": True, "reason": None} for name in ("lease", "watches")]
    finally:
        await asyncio.shield(server.stop())
