"""Two organizations, two namespaces, one run id: nothing of the one opens, shows or deletes anything of the other.

The second run is made as an editor of a namespace could make it before ids were unique, with what the operator would
have found at its admission.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.contract.conftest import Account, Api, StartApi, owned, until_status
from tests.contract.executor_client import Person, error_of, person_for, step
from tests.contract.pictures import picture
from tests.waiting import eventually, until_the_next_second

from checklist_api.executor.access import LinkOwners
from checklist_api.index.runs import RunIndex
from checklist_api.organizations.directory import OrganizationDirectory
from checklist_api.runs.access import RunAccess
from checklist_crds.errors import ServiceUnavailable
from checklist_crds.ids import new_id, object_id
from checklist_crds.kube.seal_record import SEALED_SINCE, SEALS_EXPIRE_SINCE
from checklist_crds.photos.keys import PhotoFolder
from checklist_crds.resources.kinds import CONFIG_MAP, NAMESPACE, RUN
from checklist_crds.runs import seal as run_seal
from checklist_crds.runs.seal import SEAL_ANNOTATION
from checklist_crds.secrets.sealing import _EXECUTOR_LINK, url_safe
from checklist_crds.times import format_timestamp, parse_timestamp, utc_now


def unbound_token(api: Api, run_id: str) -> str:
    """As versions before 0.1.0 made it."""
    return url_safe(api.services.settings.server_key.mac(_EXECUTOR_LINK, run_id.encode()))


async def in_their_own(api: Api) -> Account:
    """An organization with a namespace of its own."""
    home = f"test-{new_id('r')[2:14]}"
    await api.kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
    return await api.make_account(home=home)


@pytest.fixture
async def api(start_api: StartApi) -> Api:
    return await start_api(CHECKLISTS_WATCH_NAMESPACES="")


async def made_again(api: Api, body: dict[str, Any]) -> None:
    """The same run without its seal, as the version before or an editor makes it."""
    metadata = {name: body["metadata"][name] for name in ("name", "namespace", "labels")}
    await api.kube.delete(RUN, metadata["name"], metadata["namespace"])
    await api.kube.create(RUN, {**body, "metadata": metadata}, metadata["namespace"])
    await api.kube.patch_status(RUN, metadata["name"], body["status"], metadata["namespace"])


async def test_a_run_of_the_same_id_in_another_organization_opens_nothing_of_it(api: Api) -> None:
    theirs, mine = await in_their_own(api), await in_their_own(api)
    template = await theirs.create_template()
    run_id = str((await theirs.dispatch(template["id"]))["run_id"])
    person = Person(run_id, api, api.token(run_id, theirs))
    assert (await person.answer("clean")).status_code == 200

    example = await api.kube.get(RUN, await mine.new_run(), mine.namespace)
    spec = {"templateId": example["spec"]["templateId"], "createdAt": format_timestamp(utc_now())}
    body = owned(RUN, run_id, mine.organization, mine.namespace, spec)
    await api.kube.create(RUN, body, mine.namespace)
    await api.kube.patch_status(RUN, run_id, {"resolved": example["spec"]["resolved"]}, mine.namespace)
    both = {theirs.namespace: theirs.organization, mine.namespace: mine.organization}
    await eventually(lambda: api.services.index.owners_of(run_id) == both)

    intruder = Person(run_id, api, api.token(run_id, mine))
    assert person.token != intruder.token
    for who, answered in ((person, ["s-clean"]), (intruder, [])):
        assert list((await who.call("GET")).json()["answers"]) == answered
    assert (await intruder.call("POST", "/cancel")).status_code == 200
    assert (await person.call("GET")).json()["status"] == "in_progress"
    assert (await person.call("PUT", "/answers/s-clean", json={"value": False})).status_code == 200
    statuses = [(await one.http.get(f"/v1/runs/{run_id}")).json()["status"] for one in (theirs, mine)]
    assert statuses == ["in_progress", "cancelled"]
    preview = (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).json()
    assert preview["status"] == "in_progress", "the older one is shown"
    # A link of the version before was made for one run; it opens none of those that were admitted since.
    assert error_of(await Person(run_id, api, unbound_token(api, await theirs.new_run())).call("GET"))[0] == 401


async def test_a_process_that_is_starting_refuses_no_link_that_it_cannot_know_yet(api: Api) -> None:
    theirs = await in_their_own(api)
    run_id = await theirs.new_run()
    services, token = api.services, api.token(run_id, theirs)
    await eventually(lambda: services.index.owners_of(run_id))
    unread = OrganizationDirectory(services.client, services.watcher, services.settings.namespace)
    read, empty = services.index, RunIndex(services.watcher)
    runs = RunAccess(
        services.client,
        runs=services.runs,
        index=empty,
        organizations=unread,
        archived=services.archived,
        clock=services.clock,
    )
    with pytest.raises(ServiceUnavailable):
        await LinkOwners(services.settings.server_key, unread, empty, runs).of(run_id, token)
    owners = LinkOwners(services.settings.server_key, unread, read, runs)
    assert await owners.of(run_id, "A" * 43) is None
    owner = await owners.of(run_id, token)
    assert owner is not None
    assert owner.name == theirs.organization


async def test_fields_of_the_api_are_ignored_in_a_run_that_it_did_not_make(api: Api) -> None:
    theirs, mine = await in_their_own(api), await in_their_own(api)
    sealed = await api.kube.get(RUN, await theirs.new_run(), theirs.namespace)
    seal = sealed["metadata"]["annotations"][SEAL_ANNOTATION]
    copied, spec = new_id("r"), sealed["spec"]
    for name, home in (
        (copied, mine.namespace),
        (copied, theirs.namespace),
        (sealed["metadata"]["name"], mine.namespace),
    ):
        body = owned(RUN, name, theirs.organization, home, spec)
        body["metadata"]["annotations"] = {SEAL_ANNOTATION: seal}
        await api.kube.create(RUN, body, home)
        for account in (theirs, mine):
            expected = 200 if (name, account) == (sealed["metadata"]["name"], theirs) else 404
            assert (await account.http.get(f"/v1/runs/{name}")).status_code == expected
    assert error_of(await Person(copied, api, api.token(copied, theirs)).call("GET")) == (404, "run_not_found")
    listed = (await theirs.http.get("/v1/runs")).json()["data"]
    assert [run["run_id"] for run in listed] == [sealed["metadata"]["name"]]


async def test_a_run_of_the_api_that_is_created_again_with_its_seal_is_not_believed(
    start_api: StartApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an editor of the namespace can do where no admission policy forbids it: the run was answered and is over, and
    would be open again under its link, without being counted."""
    monkeypatch.setattr(run_seal, "CREATED_WITHIN", timedelta(seconds=4))
    api = await start_api()
    person = await person_for(api, step("a"))
    assert (await person.answer("a")).status_code == 200
    body = await api.kube.get(RUN, person.run_id, api.namespace)
    used = (await api.http.get("/v1/usage")).json()["used"]
    await api.kube.delete(RUN, person.run_id, api.namespace)
    too_late = parse_timestamp(body["spec"]["createdAt"]) + timedelta(seconds=5.1)
    await eventually(lambda: utc_now() > too_late)
    metadata = {name: body["metadata"][name] for name in ("name", "namespace", "labels", "annotations")}
    again = await api.kube.create(RUN, {**body, "metadata": metadata}, api.namespace)
    assert again["spec"] == body["spec"]
    # To the API it is a run that was made with kubectl and that no operator has admitted yet.
    await until_status(404, lambda: api.http.get(f"/v1/runs/{person.run_id}"))
    assert error_of(await person.call("GET")) == (404, "run_not_found")
    assert error_of(await person.call("PUT", "/answers/s-a", json={"value": True})) == (404, "run_not_found")
    assert (await api.http.get("/v1/runs")).json()["data"] == []
    assert (await api.http.get("/v1/usage")).json()["used"] == used


async def test_what_an_earlier_version_restored_stays_believed(start_api: StartApi) -> None:
    before = await start_api()
    person = await person_for(before, step("a"))
    body = await before.kube.get(RUN, person.run_id, before.namespace)
    long_ago = {**body["spec"], "createdAt": format_timestamp(utc_now() - timedelta(days=1))}
    metadata = {name: body["metadata"][name] for name in ("name", "namespace", "labels")}
    late = before.services.seals.sealed({**body, "metadata": metadata, "spec": long_ago})
    await before.kube.delete(RUN, person.run_id, before.namespace)
    await before.kube.create(RUN, late, before.namespace)
    await until_status(404, lambda: before.http.get(f"/v1/runs/{person.run_id}"))
    await before.kube.delete(CONFIG_MAP, SEALS_EXPIRE_SINCE, before.namespace)
    await until_the_next_second()
    api = await start_api()
    await until_status(200, lambda: api.http.get(f"/v1/runs/{person.run_id}"))
    bearer = Person(person.run_id, api, person.token)
    assert (await bearer.look())["status"] == "pending"


async def test_runs_links_and_photos_of_the_version_before_go_on(start_api: StartApi, tmp_path: Path) -> None:
    before = await start_api()
    person = await person_for(before, step("a", "photo"))
    run_id = person.run_id
    assert (await person.upload("a", picture())).status_code == 201
    body = await before.kube.get(RUN, run_id, before.namespace)
    (photo,) = body["status"]["answers"]["s-a"]["photos"]
    photo["key"] = photo["key"].replace(f"/{object_id('org', before.organization)}", "")
    (tmp_path / "photos" / PhotoFolder(object_id("org", before.organization), run_id).path).rename(
        tmp_path / "photos" / PhotoFolder("", run_id).path
    )
    await made_again(before, body)
    await before.kube.delete(CONFIG_MAP, SEALED_SINCE, before.namespace)
    await until_the_next_second()

    api = await start_api()
    await eventually(lambda: api.services.index.owners_of(run_id))
    for token in (unbound_token(api, run_id), api.token(run_id)):
        bearer = Person(run_id, api, token)
        (seen,) = (await bearer.look())["answers"]["s-a"]["photos"]
        assert (await bearer.fetch(seen["url"])).status_code == 200
    owned_by = (await api.http.get(f"/v1/runs/{run_id}/photos/{photo['key'].rpartition('/')[2]}")).headers["Location"]
    assert (await bearer.fetch(owned_by)).status_code == 200
    # One that is made since, and says the same of itself, is not of the version before.
    late = new_id("r")
    await api.kube.create(RUN, owned(RUN, late, api.organization, api.namespace, body["spec"]), api.namespace)
    assert (await api.http.get(f"/v1/runs/{late}")).status_code == 404
    assert error_of(await Person(late, api, unbound_token(api, late)).call("GET"))[0] in (401, 404)
