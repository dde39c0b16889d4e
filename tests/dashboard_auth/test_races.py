"""What two replicas do at once: both have read before either writes, which only a conditional write survives."""

import asyncio
import uuid
from typing import Any

import pytest
from tests.waiting import eventually

from checklist_api.dashboard.sign_in.binding import Binding
from checklist_crds.resources.kinds import DASHBOARD_SESSION, LOCAL_ACCOUNT, MEMBER, Kind
from checklist_crds.times import utc_now
from checklist_dev.local.people import make_member

from .conftest import Api, MakeLink, StartApi
from .person import PersonAt

MEET_WITHIN_S = 90.0
"""On a machine that is busy with something else."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """There a cluster that is slow is not taken for one that is down."""
    monkeypatch.setattr("checklist_api.cluster.guard._SILENT_S", MEET_WITHIN_S)


def _meet_before_writing(monkeypatch: pytest.MonkeyPatch, kind: Kind, *apis: Api) -> None:
    """The first write of each API to `kind` waits for that of the others."""
    barrier = asyncio.Barrier(len(apis))
    for api in apis:
        plain, met = api.services.client.patch, []

        async def patch(of: Kind, *given: Any, _plain: Any = plain, _met: list[bool] = met, **named: Any) -> Any:
            if of is kind and not _met:
                _met.append(True)
                async with asyncio.timeout(MEET_WITHIN_S):
                    await barrier.wait()
            return await _plain(of, *given, **named)

        monkeypatch.setattr(api.services.client, "patch", patch)


async def test_one_link_used_at_two_replicas_at_once_lets_one_in(
    start_api: StartApi, make_link: MakeLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    apis = [await start_api(), await start_api()]
    token = await make_link("ada@example.com")
    _meet_before_writing(monkeypatch, LOCAL_ACCOUNT, *apis)
    responses = await asyncio.gather(*(PersonAt(api.anonymous).post("sign-in/link", {"secret": token}) for api in apis))
    assert sorted(response.status_code for response in responses) == [200, 401]
    assert len((await apis[0].kube.list_all(DASHBOARD_SESSION, apis[0].namespace))[0]) == 1


def _binding(api: Api) -> Binding:
    return Binding(api.services.client, api.services.members, api.services.organizations, utc_now)


async def test_concurrent_binding_binds_one_person(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    apis = [await start_api(), await start_api()]
    # For this test alone: a person is bound wherever the address was invited, so also where other tests did.
    email = f"{uuid.uuid4().hex}@example.com"
    member = await make_member(
        apis[0].kube, organization=apis[0].organization, namespace=apis[0].namespace, role="viewer", email=email
    )
    for api in apis:
        await eventually(lambda api=api: api.services.members.with_email(email))
    _meet_before_writing(monkeypatch, MEMBER, *apis)
    people = [("https://one.example", "one"), ("https://one.example", "two")]
    await asyncio.gather(*(_binding(api).bind(person, email) for api, person in zip(apis, people, strict=True)))
    first = (await apis[0].kube.get(MEMBER, member, apis[0].namespace))["status"]["binding"]
    # The second one stays out, also at the replica that had not heard of it.
    assert first["subject"] in ("one", "two")
    loser = apis[1] if first["subject"] == "one" else apis[0]
    late = people[1] if first["subject"] == "one" else people[0]
    await _binding(loser).bind(late, email)
    assert (await apis[0].kube.get(MEMBER, member, apis[0].namespace))["status"]["binding"] == first
