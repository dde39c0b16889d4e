"""The sealing key is rotated under the feet of callers and of people who answer: nobody notices."""

import asyncio
import base64
import os

from checklist_cli.resealing import Resealing
from checklist_crds.kube.kinds import RUN
from checklist_crds.sealing import KeyRing, run_owner, sealing_key_of

from .conftest import WEBHOOK_SECRET, Api, StartApi

WEBHOOK = {"url": "https://hooks.example.com/", "secret": WEBHOOK_SECRET, "events": ["*"]}


async def dispatch(api: Api, template: str, number: int) -> tuple[str, str]:
    """Run id and executor token."""
    dispatched = await api.account.dispatch(template, webhook=WEBHOOK, executor_ref=f"number {number}")
    return dispatched["run_id"], dispatched["link"].partition("#")[2]


async def answer(api: Api, run: str, token: str, *, value: bool) -> int:
    response = await api.anonymous.put(
        f"/v1/executor/runs/{run}/answers/s-clean",
        json={"value": value},
        headers={"Authorization": f"Executor {token}"},
    )
    return response.status_code


async def test_people_answer_while_their_runs_are_sealed_anew(start_api: StartApi, sealing_keys: str) -> None:
    new_key = "k2:" + base64.b64encode(os.urandom(32)).decode()
    old = await start_api()
    template = (await old.account.create_template())["id"]
    runs = dict([await dispatch(old, template, number) for number in range(6)])
    for run, token in runs.items():
        assert await answer(old, run, token, value=False) == 200  # the process remembers this state of the run
    new = await start_api(CHECKLISTS_SEALING_KEYS=f"{new_key},{sealing_keys}")
    runs |= dict([await dispatch(new, template, 6)])
    ring = KeyRing.parse(f"{new_key},{sealing_keys}")

    async def everybody_answers(api: Api) -> list[int]:
        return [await answer(api, run, token, value=True) for run, token in runs.items()]

    resealing = Resealing(old.kube, ring, namespaces=[old.namespace])
    result, *statuses = await asyncio.gather(resealing.run(), everybody_answers(old), everybody_answers(new))
    assert (result.left, result.is_still_used) == ({}, False)
    assert statuses == [[200] * len(runs)] * 2
    assert (await resealing.count()) == {"k2": len(runs)}
    assert await everybody_answers(old) == [200] * len(runs), "and after that, with what was remembered before"
    without_old_key = KeyRing.parse(new_key)
    for run in runs:
        body = await old.kube.get(RUN, run, old.namespace)
        sealed = body["spec"]["webhook"]["sealedSecret"]
        assert sealing_key_of(sealed) == "k2"
        assert without_old_key.open(sealed, owner=run_owner(old.namespace, run)) == WEBHOOK_SECRET
        assert body["status"]["answers"]["s-clean"]["value"] == "true"
        read = (await new.http.get(f"/v1/runs/{run}")).json()
        assert read["answers"]["s-clean"]["value"] is True
        assert WEBHOOK_SECRET not in str(read)
