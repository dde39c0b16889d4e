"""Versions of templates outlive their replacement, and are collected when there are too many."""

from tests.cluster.operator_lab import Lab, OperatorProcess
from tests.waiting import eventually

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.resources.kinds import RUN, TEMPLATE, TEMPLATE_REVISION
from checklist_crds.runs.snapshot import revision_of
from checklist_crds.times import parse_timestamp, utc_now
from checklist_operator.controllers.revisions import RevisionCollector


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
