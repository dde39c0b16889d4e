"""Templates made with kubectl: limits of their organization, and versions."""

from collections.abc import Awaitable, Callable

from tests.cluster.operator_lab import Lab, OperatorProcess, StartOperator
from tests.waiting import eventually

from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.resources.base import SIZE_ANNOTATION
from checklist_crds.resources.kinds import ORGANIZATION, RUN, TEMPLATE, TEMPLATE_REVISION, Kind
from checklist_crds.resources.template import counted_size, definition_of
from checklist_crds.runs.snapshot import revision_of
from checklist_crds.templates.validation import canonical_size
from checklist_crds.times import parse_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_operator.controllers.revision_collector import RevisionCollector


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


async def test_an_annotation_makes_no_room_beyond_the_cap(lab: Lab, start_operator: StartOperator) -> None:
    await start_operator(CHECKLISTS_MAX_TEMPLATES="2")
    # As its author could work it out, in place of the service.
    own_size = str(canonical_size(definition_of(lab.template["spec"])))
    first = str(lab.template["metadata"]["name"])
    await lab.until(TEMPLATE, first, counts)
    for number in range(3):
        body = lab.template_body(f"by-hand-{number}")
        body["metadata"]["annotations"] = {SIZE_ANNOTATION: own_size}
        await lab.client.create(TEMPLATE, body, lab.namespace)
        await lab.until(TEMPLATE, f"by-hand-{number}", lambda one: (one.get("status") or {}).get("conditions"))
    refused = [bool(await _refusal(lab, TEMPLATE, f"by-hand-{number}")) for number in range(3)]
    assert refused == [False, True, True]
    await lab.until(TEMPLATE, "by-hand-2", lambda one: not counts(one))

    # One that counts no longer, by another's hand, makes no room for another one.
    for number in (1, 2):
        await lab.client.delete(TEMPLATE, f"by-hand-{number}", lab.namespace)
    for name in (first, "by-hand-0"):
        without = {"metadata": {"annotations": {SIZE_ANNOTATION: None}}}
        await lab.client.patch(TEMPLATE, name, without, lab.namespace)
        await lab.until(TEMPLATE, name, counts)
    await lab.client.create(TEMPLATE, lab.template_body("by-hand-3"), lab.namespace)
    assert await eventually(lambda: _refusal(lab, TEMPLATE, "by-hand-3"))
    assert not any([await _refusal(lab, TEMPLATE, name) for name in (first, "by-hand-0")])


def counts(body: JsonObject) -> bool:
    return counted_size(body["metadata"]) > 0


async def _revisions(lab: Lab) -> dict[int, JsonObject]:
    selector = f"spec.templateId={lab.template['metadata']['name']}"
    found, _ = await lab.client.list_all(TEMPLATE_REVISION, lab.namespace, field_selector=selector)
    return {revision["spec"]["version"]: revision for revision in found}


async def _rename(lab: Lab, name: str) -> None:
    lab.template = await lab.client.patch(
        TEMPLATE, lab.template["metadata"]["name"], {"spec": {"name": name}}, lab.namespace
    )


async def test_the_operator_keeps_what_kubectl_writes(lab: Lab, operator: OperatorProcess) -> None:
    async def has(version: int) -> bool:
        return version in await _revisions(lab)

    await eventually(lambda: has(1))
    for number, name in ((2, "Second"), (3, "Third")):
        await _rename(lab, name)
        await eventually(lambda wanted=number: has(wanted))
    kept = await _revisions(lab)
    assert [kept[number]["spec"]["definition"]["name"] for number in (1, 2, 3)] == ["Opening", "Second", "Third"]
    assert "checklists.dev/changed-by" not in kept[2]["metadata"]["annotations"]
    at = kept[2]["metadata"]["annotations"]["checklists.dev/created-at"]
    assert parse_timestamp(at) >= parse_timestamp(lab.template["metadata"]["creationTimestamp"])


async def test_the_newest_versions_stay_and_those_that_runs_were_made_of(lab: Lab) -> None:
    store = RevisionStore(lab.client)
    removed: list[str] = []
    collector = RevisionCollector(
        client=lab.client,
        store=store,
        clock=utc_now,
        grace_s=0,
        kept=3,
        namespaces=(lab.namespace,),
        on_removed=removed.append,
    )
    run = await lab.dispatch()
    for number in range(2, 8):
        await _rename(lab, f"Version {number}")
        await lab.client.create(TEMPLATE_REVISION, revision_of(lab.template), lab.namespace)

    async def left() -> set[int]:
        for _ in range(2):
            await collector.sweep()
        return set(await _revisions(lab))

    assert await left() == {1, 5, 6, 7}
    assert removed == [TEMPLATE_REVISION.kind] * 3
    await lab.client.delete(RUN, run, lab.namespace)
    assert await left() == {5, 6, 7}
    await lab.client.delete(TEMPLATE, lab.template["metadata"]["name"], lab.namespace)
    assert await left() == set()
