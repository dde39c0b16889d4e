"""Rotation of the sealing key without downtime: `checklist-dispatch reseal` on a live service."""

import asyncio
import base64
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.operator_lab import SEALING_KEYS, WEBHOOK_SECRET, Lab, Receiver, StartOperator, resource
from tests.waiting import eventually

from checklist_cli.console import progress
from checklist_cli.maintenance.resealing import NOT_SEALED, Resealing
from checklist_cli.program import main
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeGone, KubeUnavailable
from checklist_crds.resources.kinds import LOCAL_ACCOUNT, RUN
from checklist_crds.secrets.account_links import account_name, password_owner
from checklist_crds.secrets.sealing import KeyRing, run_owner, sealing_key_of
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.controlplane import ControlPlane

NEW_KEY = "k2:" + base64.b64encode(bytes(range(32, 64))).decode()
BOTH = f"{SEALING_KEYS},{NEW_KEY}"
ROTATED = f"{NEW_KEY},{SEALING_KEYS}"
Meddling = Callable[[int], Awaitable[None]]
Reseal = Callable[..., Awaitable[tuple[int, str]]]


async def sealed_secrets(client: KubeClient, namespace: str) -> dict[str, str]:
    items, _ = await client.list_all(RUN, namespace)
    return {item["metadata"]["name"]: item["spec"]["webhook"]["sealedSecret"] for item in items}


async def dispatched(lab: Lab, count: int = 1) -> list[str]:
    return [await lab.dispatch("https://hooks.example.com/") for _ in range(count)]


def resealing(lab: Lab, keys: str = ROTATED, **options: Any) -> Resealing:
    return Resealing(options.pop("client", lab.client), KeyRing.parse(keys), namespaces=[lab.namespace], **options)


async def test_every_secret_is_sealed_again_and_is_the_same_secret(lab: Lab) -> None:
    runs = await dispatched(lab, 5)
    await lab.dispatch()  # without a webhook
    name = account_name("ada@example.com")
    owner = password_owner(lab.namespace, name)
    sealed = KeyRing.parse(SEALING_KEYS).seal("$argon2id$...", owner=owner)
    spec = {"email": "ada@example.com", "name": "Ada", "sealedPassword": sealed}
    await lab.client.create(LOCAL_ACCOUNT, resource("LocalAccount", name, spec), lab.namespace)
    before = {run: await lab.get(RUN, run) for run in runs}
    assert await resealing(lab).count() == {"k1": 6}
    loop = asyncio.get_running_loop()
    started = loop.time()
    result = await resealing(lab, parallel=4, per_second=10).run()
    assert loop.time() - started >= 0.39, "there are four gaps of a tenth of a second between five writes"
    assert (result.seen, result.resealed, result.left, result.is_still_used) == (6, 6, Counter(), False)
    new_only = KeyRing.parse(NEW_KEY)
    for run in runs:
        now = await lab.get(RUN, run)
        sealed = now["spec"]["webhook"]["sealedSecret"]
        assert new_only.open(sealed, owner=run_owner(lab.namespace, run)) == WEBHOOK_SECRET
        webhook = {**before[run]["spec"]["webhook"], "sealedSecret": sealed}
        assert now["spec"] == {**before[run]["spec"], "webhook": webhook}
        assert now.get("status") == before[run].get("status")
    assert (await resealing(lab).run()).resealed == 0
    assert new_only.open((await lab.get(LOCAL_ACCOUNT, name))["spec"]["sealedPassword"], owner=owner) == "$argon2id$..."
    assert await resealing(lab).count() == {"k2": 6}


class Meddled:
    """The cluster, where something happens before or after each patch and before each list: called with the number of
    patches, it may raise or hang."""

    def __init__(self, client: KubeClient, **meddling: Meddling) -> None:
        self._client = client
        self._meddling = meddling
        self.patches = 0

    async def _meddle(self, when: str) -> None:
        if when in self._meddling:
            await self._meddling[when](self.patches)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def patch(self, *arguments: Any, **options: Any) -> JsonObject:
        self.patches += 1
        await self._meddle("before")
        body = await self._client.patch(*arguments, **options)
        await self._meddle("after")
        return body

    async def pages(self, *arguments: Any, **options: Any) -> Any:
        await self._meddle("listing")
        async for page in self._client.pages(*arguments, **options):
            yield page


async def test_when_it_is_stopped_in_the_middle_it_goes_on_where_it_was(lab: Lab) -> None:
    await dispatched(lab, 6)
    reached = asyncio.Event()

    async def hang(number: int) -> None:
        if number == 3:
            reached.set()
            await asyncio.Event().wait()

    first = asyncio.create_task(resealing(lab, client=Meddled(lab.client, before=hang), parallel=1).run())
    await reached.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert await resealing(lab).count() == {"k1": 4, "k2": 2}
    assert (await resealing(lab).run()).resealed == 4
    assert await resealing(lab).count() == {"k2": 6}


async def test_a_cluster_that_pauses_or_forgets_its_list_and_writes_in_between_cost_nothing_but_time(lab: Lab) -> None:
    runs = await dispatched(lab, 3)
    errors: dict[str, list[Exception]] = {
        "before": [KubeConflict("changed"), KubeUnavailable("pause")],
        "after": [KubeConflict("changed"), KubeUnavailable("pause")],
        "listing": [KubeGone("too old")],
    }

    def failing(when: str) -> Meddling:
        async def fail(_: int) -> None:
            if errors[when]:
                raise errors[when].pop()

        return fail

    result = await resealing(lab, client=Meddled(lab.client, **{when: failing(when) for when in errors})).run()
    assert not any(errors.values())
    assert (result.left, result.is_still_used) == (Counter(), False)
    secrets = await sealed_secrets(lab.client, lab.namespace)
    ring = KeyRing.parse(NEW_KEY)
    assert [ring.open(secrets[run], owner=run_owner(lab.namespace, run)) for run in runs] == [WEBHOOK_SECRET] * 3


async def test_concurrent_changes_are_kept_and_use_of_the_old_key_is_reported(
    lab: Lab,
) -> None:
    changing, going, staying = await dispatched(lab, 3)

    async def meddle(number: int) -> None:
        if number == 1:
            await lab.answer(changing)
            await lab.client.delete(RUN, going, lab.namespace)

    result = await resealing(lab, client=Meddled(lab.client, before=meddle), parallel=1).run()
    assert (result.left, result.resealed) == (Counter(), 2)
    assert "s-0" in (await lab.run(changing)).status.answers, "what the person answered meanwhile is kept"
    assert set(await sealed_secrets(lab.client, lab.namespace)) == {changing, staying}

    async def seal_under_k1(_: int) -> None:
        await dispatched(lab)

    await dispatched(lab)
    assert (await resealing(lab, client=Meddled(lab.client, after=seal_under_k1)).run()).is_still_used


async def test_what_cannot_be_opened_is_left_as_it_is_and_named(lab: Lab) -> None:
    (good,) = await dispatched(lab)
    foreign = KeyRing.parse("other:" + base64.b64encode(bytes(32)).decode())
    bodies = {}
    for text in (foreign.seal(WEBHOOK_SECRET, owner="r-1"), "a secret in the clear"):
        name = await lab.apply_run(webhook={"url": "https://a.example/", "events": ["*"], "sealedSecret": text})
        bodies[name] = text
    result = await resealing(lab).run()
    assert (result.resealed, result.left) == (1, {"other": 1, NOT_SEALED: 1})
    assert set(result.unreadable) == {f"{lab.namespace}/{name}" for name in bodies}
    assert "clear" not in repr(result), "what is not sealed may be a secret, and is not repeated"
    secrets = await sealed_secrets(lab.client, lab.namespace)
    assert {name: secrets[name] for name in bodies} == bodies
    assert sealing_key_of(secrets[good]) == "k2"


@pytest.fixture
def reseal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Reseal:
    """`checklist-dispatch reseal` with its keys in the environment: its status, and what it printed."""

    async def run(kubeconfig: Path, keys: str, *options: str) -> tuple[int, str]:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        monkeypatch.setenv("CHECKLISTS_SEALING_KEYS", keys)
        status = await asyncio.to_thread(main, ["reseal", *options])
        return status, "".join(capsys.readouterr())

    return run


async def test_the_key_is_rotated_while_events_go_on_being_delivered(
    control_plane: ControlPlane, lab: Lab, receiver: Receiver, reseal: Reseal, start_operator: StartOperator
) -> None:
    """The four steps of docs/secrets.md; the operator is replaced by a standby each time, as a rollout does."""
    runs: list[str] = []
    stopping = asyncio.Event()

    async def people() -> None:
        """A run is dispatched and answered all the time, under the key that the API has at that moment."""
        while not stopping.is_set():
            run = await lab.dispatch(receiver.url)
            await lab.answer(run)
            runs.append(run)
            await asyncio.sleep(0.2)

    def heard() -> set[str]:
        return {one.envelope["run_id"] for one in receiver.received}

    async def all_of_now_are_delivered_and_one_more() -> None:
        now = len(runs)
        await eventually(lambda: len(heard()) > now, within_s=120, every_s=0.1)

    working = asyncio.create_task(people())
    try:
        first = await start_operator("step-1", CHECKLISTS_SEALING_KEYS=BOTH)
        await all_of_now_are_delivered_and_one_more()
        second = await start_operator("step-2", word="standby", CHECKLISTS_SEALING_KEYS=ROTATED)
        await first.stop()
        lab.key_ring = KeyRing.parse(ROTATED)  # the API's rollout
        await all_of_now_are_delivered_and_one_more()
        here = ["--namespace", lab.namespace]
        assert (await reseal(control_plane.kubeconfig, ROTATED, *here, "--count"))[0] == 1
        status, said = await reseal(control_plane.kubeconfig, ROTATED, *here)
        assert (status, "left: 0; k1 can be removed" in said) == (0, True), said
        status, said = await reseal(control_plane.kubeconfig, ROTATED, *here, "--count")
        assert (status, said.splitlines()[1].split()) == (0, ["0", "under", "k1", "(opens)"])
        final = await start_operator("step-4", word="standby", CHECKLISTS_SEALING_KEYS=NEW_KEY)
        await second.stop()
        lab.key_ring = KeyRing.parse(NEW_KEY)
        await all_of_now_are_delivered_and_one_more()
        for run in runs[:3]:  # sealed again: their next event is signed, too
            await lab.answer(run, step=1)
    finally:
        stopping.set()
        await working

    def everything_is_delivered() -> bool:
        return heard() == set(runs) and all(len(receiver.events(run)) >= 2 for run in runs[:3])

    await eventually(everything_is_delivered, within_s=120, every_s=0.2)
    assert {one.attempt for one in receiver.received} == {1}
    for process in (first, second, final):
        assert "SecretUnreadable" not in process.output


async def test_the_keys_may_be_in_a_file_and_wrong_ones_and_no_cluster_are_one_clear_line(
    control_plane: ControlPlane, lab: Lab, reseal: Reseal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await dispatched(lab)
    (tmp_path / "keys").write_text(ROTATED + "\n")
    monkeypatch.setattr(progress, "_INTERVAL_S", 0.0)
    options = ["--namespace", lab.namespace, "--keys-file"]
    assert await reseal(control_plane.kubeconfig, "", *options, str(tmp_path / "keys")) == (
        0,
        "sealed secrets: 1; resealed with k2: 1\nleft: 0; k1 can be removed\n"
        "pass 1: 1 secrets read, 1 resealed, 0 unreadable\n"
        "pass 2: 1 secrets read, 1 resealed, 0 unreadable\n",
    )
    assert (await reseal(control_plane.kubeconfig, "", *options, str(tmp_path)))[0] == 2
    key = NEW_KEY.partition(":")[2]
    for kubeconfig, keys, why in (
        (control_plane.kubeconfig, f"k1:{key},k1:{key}", "sealing key number 2 has the id of another one"),
        (control_plane.kubeconfig, key, "sealing key number 1 must be written as id:base64"),
        (control_plane.kubeconfig, "", "is empty"),
        (tmp_path / "none", NEW_KEY, "no usable Kubernetes configuration"),
    ):
        status, said = await reseal(kubeconfig, keys)
        assert (status, said.count("\n")) == (2, 1), said
        assert why in said
        assert key not in said
