"""What an editor of one namespace may write and the service cannot read: no other organization notices.

Moments that no calendar has, which the API server takes for dates and times; and values that are nested deeper than
parsers go, which it takes in fields of any shape.
"""

from typing import Any

import pytest
from tests.contract.conftest import ALL_NAMESPACES, Account, Api, StartApi, definition, owned
from tests.contract.executor_client import error_of
from tests.nested_templates import NESTED, apply_nested
from tests.waiting import eventually

from checklist_crds.ids import new_id, object_id
from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.base import CREATED_AT_ANNOTATION, SIZE_ANNOTATION, VERSION_OFFSET_ANNOTATION
from checklist_crds.resources.kinds import API_KEY, DELIVERY_REPLAY, MEMBER, NAMESPACE, RUN, TEMPLATE, Kind
from checklist_dev.local.controlplane import ControlPlane

BEFORE_YEAR_1, AFTER_YEAR_9999 = "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"


@pytest.fixture
async def api(start_api: StartApi) -> Api:
    return await start_api(**ALL_NAMESPACES)


async def _neighbour(api: Api) -> Account:
    home = f"test-{new_id('r')[2:14]}"
    await api.kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
    return await api.make_account(home=home)


class Editor:
    """Of the namespace of an organization. What they make says that it was made at `moment`."""

    def __init__(self, api: Api, account: Account, moment: str) -> None:
        self._api = api
        self._account = account
        self._moment = moment

    async def create(self, kind: Kind, name: str, spec: dict[str, Any]) -> None:
        body = owned(kind, name, self._account.organization, self._account.namespace, spec)
        body["metadata"]["annotations"] = {CREATED_AT_ANNOTATION: self._moment}
        await self._api.kube.create(kind, body, self._account.namespace)


@pytest.mark.parametrize("moment", [BEFORE_YEAR_1, AFTER_YEAR_9999])
async def test_an_impossible_time_ends_no_watch(api: Api, moment: str) -> None:
    theirs = await _neighbour(api)
    editor = Editor(api, theirs, moment)
    run = await api.kube.get(RUN, await theirs.new_run(), theirs.namespace)
    dated, expiring = new_id("r"), new_id("r")
    for name, times in ((dated, {"createdAt": moment}), (expiring, {"expiresAt": moment})):
        await editor.create(RUN, name, {"templateId": run["spec"]["templateId"], **times})
        await api.kube.patch_status(RUN, name, {"resolved": run["spec"]["resolved"]}, theirs.namespace)
    await editor.create(TEMPLATE, "odd", definition())
    await editor.create(DELIVERY_REPLAY, "odd", {"filter": {"finishedAfter": moment}})
    await editor.create(MEMBER, "odd", {"email": "odd@example.com", "name": "Odd", "role": "viewer"})
    await editor.create(API_KEY, "odd", {"sha256": "0" * 64, "name": "odd"})

    # What others bring into the cluster afterwards, past this process, is seen all the same.
    name = f"t-{new_id('r')[2:]}"
    await api.kube.create(TEMPLATE, owned(TEMPLATE, name, api.organization, api.namespace, definition()), api.namespace)
    later = new_id("r")
    body = owned(RUN, later, api.organization, api.namespace, {"templateId": run["spec"]["templateId"]})
    await api.kube.create(RUN, body, api.namespace)
    resolved = run["spec"]["resolved"] | {"organization": api.organization}
    await api.kube.patch_status(RUN, later, {"resolved": resolved}, api.namespace)

    async def ids(path: str, member: str) -> set[str]:
        return {str(one[member]) for one in (await api.http.get(path)).json()["data"]}

    async def all_seen() -> bool:
        return name in await ids("/v1/templates", "id") and later in await ids("/v1/runs", "run_id")

    await eventually(all_seen)
    services = api.services
    readers = (
        services.templates,
        services.index,
        services.deliveries,
        services.replays,
        services.keys,
        services.members,
        services.audit_index,
        services.organizations,
    )
    await eventually(lambda: all(one.informer.connected for one in readers))
    assert (await theirs.http.get("/v1/templates")).status_code == 200
    assert (await theirs.http.get("/v1/runs")).status_code == 200


@pytest.mark.parametrize("nested", NESTED)
async def test_a_value_that_is_nested_too_deeply_hides_no_templates(
    api: Api, control_plane: ControlPlane, nested: str
) -> None:
    editor = await _neighbour(api)
    connection = await KubeConnection.load(str(control_plane.kubeconfig))
    await apply_nested(connection, editor.organization, editor.namespace, nested)
    name = f"t-{new_id('r')[2:]}"
    await api.kube.create(TEMPLATE, owned(TEMPLATE, name, api.organization, api.namespace, definition()), api.namespace)

    async def listed(account: Account) -> set[str]:
        return {str(one["id"]) for one in (await account.http.get("/v1/templates")).json()["data"]}

    async def is_listed() -> bool:
        return name in await listed(api.account)

    await eventually(is_listed)
    (deep,) = await listed(editor)
    assert (await editor.http.delete(f"/v1/templates/{deep}")).status_code == 204


async def test_a_run_with_an_invalid_time_is_not_found(api: Api) -> None:
    theirs = await _neighbour(api)
    for times in ({"createdAt": BEFORE_YEAR_1}, {"expiresAt": "2026-01-01T00:00:00+99:99"}):
        run_id = new_id("r")
        await Editor(api, theirs, "").create(RUN, run_id, {"templateId": "t", **times})
        answers = [
            await theirs.http.get(f"/v1/runs/{run_id}"),
            await api.http.get(f"/v1/runs/{run_id}"),
            await api.anonymous.get(f"/v1/runs/{run_id}/preview"),
        ]
        assert [error_of(one) for one in answers] == [(404, "run_not_found")] * 3


async def test_a_size_that_is_no_number_stops_no_template_of_its_organization(api: Api) -> None:
    body = owned(TEMPLATE, "odd", api.organization, api.namespace, definition())
    body["metadata"]["annotations"] = {SIZE_ANNOTATION: "9" * 5000, VERSION_OFFSET_ANNOTATION: "9" * 30}
    await api.kube.create(TEMPLATE, body, api.namespace)
    await api.account.create_template()
    await api.account.dispatch(object_id("t", "odd", api.organization))
