"""Exports of runs that the operator's own archiver has moved are, byte for byte, what they were in the cluster."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import pytest
from tests.cluster.archive_lab import Archiving

from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import ORGANIZATION, RUN, TEMPLATE_REVISION
from checklist_crds.times import utc_now

from .archive_lab import ArchiveLab
from .conftest import Api
from .executor_client import person_for, step
from .test_exports import answered

LATER: Final = timedelta(days=40)


async def move_to_the_archive(api: Api, *runs: str) -> None:
    """As the operator does it forty days later; of the cluster's objects that the runs were made of nothing stays."""
    for run in runs:
        await api.kube.patch_status(RUN, run, {"settled": True}, api.namespace)
    await api.kube.patch(ORGANIZATION, api.organization, {"spec": {"retention": {"finishedRunsDays": 30}}})
    store = ArchiveStore.open(api.services.settings.archive_store)
    await Archiving.over(api.kube, store, api.namespace, clock=lambda: utc_now() + LATER).retention.sweep()
    lab = ArchiveLab(api)
    for run in runs:
        with pytest.raises(KubeNotFound):
            await api.kube.get(RUN, run, api.namespace)
        lab.deleted.add((api.namespace, run))
    revisions, _ = await api.kube.list_all(TEMPLATE_REVISION, api.namespace)
    for revision in revisions:
        await api.kube.delete(TEMPLATE_REVISION, revision["metadata"]["name"], api.namespace)
    await lab.loaded()


async def exports(api: Api, queries: Mapping[str, Mapping[str, str]]) -> dict[str, bytes]:
    found = {}
    for path, query in queries.items():
        response = await api.http.get(path.partition(" ")[0], params=query, timeout=120)
        assert response.status_code == 200, (path, response.text)
        assert "Export-Incomplete" not in response.headers
        found[path] = response.content
    return found


async def test_every_export_of_archived_runs_is_what_it_was_before(api: Api) -> None:
    person = await answered(api)
    stopped = await person_for(api, step("note", "text", label="Noté, да, 記"), step("where", geo=True))
    assert (await stopped.answer("note", "half way")).status_code == 200
    assert (await api.http.post(f"/v1/runs/{stopped.run_id}/cancel")).status_code == 200
    template = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["template_id"]
    queries: dict[str, dict[str, str]] = {
        "/v1/exports a row an answer": {"format": "csv"},
        "/v1/exports a row a run": {"format": "csv", "rows": "runs", "template_id": template},
        "/v1/exports lines": {"format": "jsonl"},
        "/v1/exports of a status": {"format": "jsonl", "status": "cancelled"},
        "/v1/exports places": {"format": "geojson"},
        f"/v1/runs/{person.run_id}/export paper": {"format": "pdf"},
        f"/v1/runs/{person.run_id}/export document": {"format": "json"},
        f"/v1/runs/{stopped.run_id}/export paper": {"format": "pdf"},
    }
    before = await exports(api, queries)
    assert before["/v1/exports lines"].count(b"\n") == 2
    assert before["/v1/exports of a status"].count(b"\n") == 1
    assert person.run_id.encode() in before["/v1/exports places"]

    await move_to_the_archive(api, person.run_id, stopped.run_id)
    after = await exports(api, queries)
    assert [path for path in queries if after[path] != before[path]] == []


async def test_an_export_has_archived_runs_and_those_of_the_cluster_once_each_newest_first(api: Api) -> None:
    old = [await api.account.new_run() for _ in range(3)]
    for run in old:
        assert (await api.http.post(f"/v1/runs/{run}/cancel")).status_code == 200
    new = [await api.account.new_run() for _ in range(2)]
    await move_to_the_archive(api, *old)
    response = await api.http.get("/v1/exports", params={"format": "csv"})
    rows = response.content.decode().splitlines()[1:]
    assert [row.partition(",")[0] for row in rows] == [*reversed(new), *reversed(old)]
    assert response.headers["Export-Runs"] == "5"
