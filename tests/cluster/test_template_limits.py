"""Templates made with kubectl count for the caps of their organization, and are not admitted beyond them."""

from typing import Any

from tests.waiting import eventually

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import ORGANIZATION, TEMPLATE, TEMPLATE_REVISION

from .operator_lab import Lab, StartOperator


async def _refusal(lab: Lab, kind: Any, name: str) -> str | None:
    """The message of the condition Admitted, while it is False."""
    body: JsonObject = await lab.client.get(kind, name, lab.namespace)
    conditions = (body.get("status") or {}).get("conditions") or ()
    return next((one["message"] for one in conditions if one["type"] == "Admitted" and one["status"] == "False"), None)


async def test_a_template_beyond_the_cap_is_not_admitted_until_there_is_room(
    lab: Lab, start_operator: StartOperator
) -> None:
    names = [str(lab.template["metadata"]["name"])]
    operator = await start_operator(CHECKLISTS_MAX_TEMPLATES="3")
    for number in range(4):
        body = lab.template_body(f"by-hand-{number}")
        del body["metadata"]["labels"]
        names.append(str((await lab.client.create(TEMPLATE, body, lab.namespace))["metadata"]["name"]))

    async def refused() -> list[str]:
        return [name for name in names if await _refusal(lab, TEMPLATE, name)]

    [first, second] = await eventually(refused, until=lambda found: len(found) == 2)
    message = "The organization may have 3 templates. Delete some that are no longer needed."
    assert await _refusal(lab, TEMPLATE, first) == message
    kept, _ = await lab.client.list_all(TEMPLATE_REVISION, lab.namespace)
    assert len(kept) == 3
    run = await lab.apply_run(templateRef={"name": first})
    from checklist_crds.kube.kinds import RUN

    assert message in str(await eventually(lambda: _refusal(lab, RUN, run)))
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": {"limits": {"templates": 5}}})
    await operator.stop()
    await operator.start()
    assert await eventually(refused, until=lambda found: not found) == []
