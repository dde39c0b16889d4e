"""Templates made with kubectl count for the caps of their organization, and are not admitted beyond them."""

from collections.abc import Awaitable, Callable

from tests.waiting import eventually

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import ORGANIZATION, RUN, TEMPLATE, TEMPLATE_REVISION, Kind

from .operator_lab import Lab, StartOperator


async def _refusal(lab: Lab, kind: Kind, name: str) -> str | None:
    """The message of the condition Admitted, while it is False."""
    body: JsonObject = await lab.client.get(kind, name, lab.namespace)
    conditions = (body.get("status") or {}).get("conditions") or ()
    return next((one["message"] for one in conditions if one["type"] == "Admitted" and one["status"] == "False"), None)


async def test_a_template_beyond_the_cap_is_not_admitted_until_there_is_room(
    lab: Lab, start_operator: StartOperator
) -> None:
    names = [str(lab.template["metadata"]["name"])]
    await start_operator(CHECKLISTS_MAX_TEMPLATES="3")
    for number in range(4):
        body = lab.template_body(f"by-hand-{number}")
        del body["metadata"]["labels"]
        names.append(str((await lab.client.create(TEMPLATE, body, lab.namespace))["metadata"]["name"]))

    async def are_refused(count: int) -> list[str]:
        found = [name for name in names if await _refusal(lab, TEMPLATE, name)]
        return found if len(found) == count else []

    first, second = await eventually(lambda: are_refused(2))
    message = "The organization may have 3 templates. Delete some that are no longer needed."
    assert await _refusal(lab, TEMPLATE, first) == message

    async def revisions() -> int:
        return len((await lab.client.list_all(TEMPLATE_REVISION, lab.namespace))[0])

    await eventually(lambda: _has(revisions, 3))
    run = await lab.apply_run(templateRef={"name": first})
    assert message in await eventually(lambda: _refusal(lab, RUN, run))

    admitted = next(name for name in names if name not in (first, second))
    await lab.client.delete(TEMPLATE, admitted, lab.namespace)
    names.remove(admitted)
    await eventually(lambda: are_refused(1))
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": {"limits": {"templates": 4}}})

    async def is_admitted() -> bool:
        return not any([await _refusal(lab, TEMPLATE, name) for name in names])

    await eventually(is_admitted)
    await eventually(lambda: _has(revisions, 5))


async def _has(count: Callable[[], Awaitable[int]], wanted: int) -> bool:
    return await count() == wanted
