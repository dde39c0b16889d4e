"""Rotation of the sealing key without downtime: `checklist-dispatch reseal` on a live service."""

import asyncio
import base64
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.operator_lab import SEALING_KEYS, WEBHOOK_SECRET, Delivered, Lab, OperatorProcess, Receiver
from tests.waiting import eventually

from checklist_cli import progress
from checklist_cli.program import main
from checklist_cli.resealing import NOT_SEALED, Resealing
from checklist_crds.account_links import account_name, password_owner
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeGone, KubeUnavailable
from checklist_crds.kube.kinds import LOCAL_ACCOUNT, RUN, Kind
from checklist_crds.sealing import KeyRing, run_owner, sealing_key_of
from checklist_dev.controlplane import ControlPlane

NEW_KEY = "k2:" + base64.b64encode(bytes(range(32, 64))).decode()
BOTH = f"{SEALING_KEYS},{NEW_KEY}"
ROTATED = f"{NEW_KEY},{SEALING_KEYS}"


async def sealed_secrets(client: KubeClient, namespace: str) -> dict[str, str]:
    items, _ = await client.list_all(RUN, namespace)
    return {item["metadata"]["name"]: item["spec"]["webhook"]["sealedSecret"] for item in items}


def resealing(lab: Lab, keys: str = ROTATED, **options: Any) -> Resealing:
    return Resealing(options.pop("client", lab.client), KeyRing.parse(keys), namespaces=[lab.namespace], **options)


async def test_every_secret_is_sealed_anew_and_is_the_same_secret(lab: Lab) -> None:
    runs = [await lab.dispatch("https://hooks.example.com/") for _ in range(5)]
    await lab.dispatch()  # without a webhook
    before = {run: await lab.client.get(RUN, run, lab.namespace) for run in runs}
    result = await resealing(lab).run()
    assert (result.seen, result.resealed, result.left, result.is_still_used) == (5, 5, Counter(), False)
    new_only = KeyRing.parse(NEW_KEY)
    for run in runs:
        now = await lab.client.get(RUN, run, lab.namespace)
        webhook = now["spec"]["webhook"]
        assert new_only.open(webhook["sealedSecret"], owner=run_owner(lab.namespace, run)) == WEBHOOK_SECRET
        old = before[run]["spec"]["webhook"]
        assert now["spec"] == {**before[run]["spec"], "webhook": {**old, "sealedSecret": webhook["sealedSecret"]}}
        assert now.get("status") == before[run].get("status")
    assert (await resealing(lab).run()).resealed == 0
    assert await resealing(lab).count() == {"k2": 5}


class Moody:
    """A cluster that fails on demand: each error of `errors` is raised by one patch, after or instead of the write."""

    def __init__(self, client: KubeClient, errors: list[Exception], *, after: bool = False) -> None:
        self._client = client
        self.errors = errors
        self._after = after
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def patch(self, kind: Kind, name: str, patch: Mapping[str, Any], *rest: Any, **options: Any) -> JsonObject:
        if self.errors and not self._after:
            raise self.errors.pop()
        self.writes += 1
        body = await self._client.patch(kind, name, patch, *rest, **options)
        if self.errors:
            raise self.errors.pop()
        return body


async def test_when_it_is_stopped_in_the_middle_it_goes_on_where_it_was(lab: Lab) -> None:
    for _ in range(6):
        await lab.dispatch("https://hooks.example.com/")
    reached = asyncio.Event()

    class Slow(Moody):
        async def patch(self, *arguments: Any, **options: Any) -> JsonObject:
            if self.writes == 2:
                reached.set()
                await asyncio.Event().wait()
            return await super().patch(*arguments, **options)

    first = asyncio.create_task(resealing(lab, client=Slow(lab.client, []), parallel=1).run())
    await reached.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert Counter(map(sealing_key_of, (await sealed_secrets(lab.client, lab.namespace)).values())) == {
        "k1": 4,
        "k2": 2,
    }
    assert (await resealing(lab).run()).resealed == 4
    assert await resealing(lab).count() == {"k2": 6}


async def test_it_writes_no_faster_than_it_was_told(lab: Lab) -> None:
    for _ in range(4):
        await lab.dispatch("https://hooks.example.com/")
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert (await resealing(lab, parallel=4, per_second=10).run()).resealed == 4
    assert loop.time() - started >= 0.29, "there are three gaps of a tenth of a second between four writes"


@pytest.mark.parametrize("after", [False, True], ids=["instead of the write", "after the write"])
async def test_a_cluster_that_pauses_or_writes_in_between_costs_nothing_but_time(lab: Lab, after: bool) -> None:
    runs = [await lab.dispatch("https://hooks.example.com/") for _ in range(3)]
    moody = Moody(lab.client, [KubeConflict("changed"), KubeUnavailable("pause")], after=after)
    result = await resealing(lab, client=moody).run()
    assert moody.errors == []
    assert (result.left, result.is_still_used) == (Counter(), False)
    secrets = await sealed_secrets(lab.client, lab.namespace)
    ring = KeyRing.parse(NEW_KEY)
    assert [ring.open(secrets[run], owner=run_owner(lab.namespace, run)) for run in runs] == [WEBHOOK_SECRET] * 3


async def test_a_list_that_grew_too_old_is_begun_anew(lab: Lab) -> None:
    await lab.dispatch("https://hooks.example.com/")

    class OldList(Moody):
        async def pages(self, *arguments: Any, **options: Any) -> Any:
            if self.errors:
                raise self.errors.pop()
            async for page in self._client.pages(*arguments, **options):
                yield page

    assert (await resealing(lab, client=OldList(lab.client, [KubeGone("too old")])).run()).resealed == 1


async def test_a_run_that_is_written_and_one_that_is_deleted_meanwhile_do_no_harm(lab: Lab) -> None:
    changing, going, staying = [await lab.dispatch("https://hooks.example.com/") for _ in range(3)]

    class Meddled(Moody):
        async def patch(self, kind: Kind, name: str, *rest: Any, **options: Any) -> JsonObject:
            self.writes += 1
            if self.writes == 1:
                await lab.answer(changing)
                await lab.client.delete(RUN, going, lab.namespace)
            return await self._client.patch(kind, name, *rest, **options)

    result = await resealing(lab, client=Meddled(lab.client, []), parallel=1).run()
    assert (result.left, result.resealed) == (Counter(), 2)
    assert "s-0" in (await lab.run(changing)).status.answers, "what the person answered meanwhile is kept"
    assert set(await sealed_secrets(lab.client, lab.namespace)) == {changing, staying}


async def test_what_cannot_be_opened_is_left_as_it_is_and_named(lab: Lab) -> None:
    good = await lab.dispatch("https://hooks.example.com/")
    foreign = KeyRing.parse("other:" + base64.b64encode(bytes(32)).decode())
    bodies = {}
    for text in (foreign.seal(WEBHOOK_SECRET, owner="r-1"), "a secret that somebody wrote here in the clear"):
        name = await lab.apply_run(
            templateRef={"name": "t"}, webhook={"url": "https://a.example/", "events": ["*"], "sealedSecret": text}
        )
        bodies[name] = text
    result = await resealing(lab).run()
    assert (result.resealed, result.left) == (1, {"other": 1, NOT_SEALED: 1})
    assert set(result.unreadable) == {f"{lab.namespace}/{name}" for name in bodies}
    assert "clear" not in repr(result), "what is not sealed may be a secret, and is not repeated"
    secrets = await sealed_secrets(lab.client, lab.namespace)
    assert {name: secrets[name] for name in bodies} == bodies
    assert sealing_key_of(secrets[good]) == "k2"


async def test_a_process_that_still_seals_under_the_old_key_is_noticed(lab: Lab) -> None:
    await lab.dispatch("https://hooks.example.com/")

    class OldProcess(Moody):
        async def patch(self, *arguments: Any, **options: Any) -> JsonObject:
            body = await self._client.patch(*arguments, **options)
            await lab.dispatch("https://hooks.example.com/")  # sealed under k1
            return body

    result = await resealing(lab, client=OldProcess(lab.client, [])).run()
    assert result.is_still_used


class Shell:
    """`checklist-dispatch reseal` with its keys in the environment; `said` is what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch
        self.said = ""

    async def reseal(self, kubeconfig: Path, keys: str, *options: str) -> int:
        self._monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        self._monkeypatch.setenv("CHECKLISTS_SEALING_KEYS", keys)
        self._capsys.readouterr()
        status = await asyncio.to_thread(main, ["reseal", *options])
        self.said = "".join(self._capsys.readouterr())
        return status


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(capsys, monkeypatch)


async def test_the_key_is_rotated_while_events_go_on_being_delivered(
    control_plane: ControlPlane, lab: Lab, receiver: Receiver, shell: Shell, tmp_path: Path
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

    def operator(name: str, keys: str) -> OperatorProcess:
        return OperatorProcess(
            tmp_path, control_plane.kubeconfig, lab.namespace, name=name, CHECKLISTS_SEALING_KEYS=keys
        )

    heard: set[str] = set()
    numbers: set[int] = set()

    def take(delivered: Delivered) -> int:
        event = delivered.envelope
        heard.add(event["run_id"])
        numbers.add(event["delivery_attempt"])
        return 204

    async def all_of_now_are_delivered_and_one_more() -> None:
        now = len(runs)
        await eventually(lambda: len(heard) > now, within_s=120, every_s=0.1)

    receiver.answer = take
    working = asyncio.create_task(people())
    try:
        first = operator("step-1", BOTH)
        await first.start(within_s=90)
        await all_of_now_are_delivered_and_one_more()
        second = operator("step-2", ROTATED)
        await second.start(word="standby", within_s=90)
        await first.stop()
        lab.key_ring = KeyRing.parse(ROTATED)  # the API's rollout
        await all_of_now_are_delivered_and_one_more()
        here = ["--namespace", lab.namespace]
        assert await shell.reseal(control_plane.kubeconfig, ROTATED, *here, "--count") == 1, shell.said
        assert await shell.reseal(control_plane.kubeconfig, ROTATED, *here) == 0, shell.said
        assert "left: 0; k1 may go" in shell.said
        assert await shell.reseal(control_plane.kubeconfig, ROTATED, *here, "--count") == 0
        assert shell.said.splitlines()[1].split() == ["0", "under", "k1", "(opens)"]
        final = operator("step-4", NEW_KEY)
        await final.start(word="standby", within_s=90)
        await second.stop()
        lab.key_ring = KeyRing.parse(NEW_KEY)
        await all_of_now_are_delivered_and_one_more()
        for run in runs[:3]:  # sealed anew: their next event is signed, too
            await lab.answer(run, step=1)
    finally:
        stopping.set()
        await working

    def everything_is_delivered() -> bool:
        return heard == set(runs) and all(
            len({event["event_id"] for event in receiver.events(run)}) == 2 for run in runs[:3]
        )

    await eventually(everything_is_delivered, within_s=120, every_s=0.2)
    assert numbers == {1}, "every event at its first attempt"
    await final.stop()
    for process in (first, second, final):
        assert "SecretUnreadable" not in process.output


async def test_wrong_keys_and_no_cluster_are_one_clear_line(
    control_plane: ControlPlane, shell: Shell, tmp_path: Path
) -> None:
    key = NEW_KEY.partition(":")[2]
    for keys, why in (
        (f"k1:{key},k1:{key}", "sealing key number 2 has the id of another one"),
        (key, "sealing key number 1 must be written as id:base64"),
        ("", "is empty"),
    ):
        assert await shell.reseal(control_plane.kubeconfig, keys) == 2
        assert why in shell.said
        assert key not in shell.said
        assert shell.said.count("\n") == 1
    assert await shell.reseal(tmp_path / "none", NEW_KEY) == 2
    assert "no usable Kubernetes configuration" in shell.said
    assert shell.said.count("\n") == 1


async def test_the_keys_may_be_in_a_file_and_progress_is_told(
    control_plane: ControlPlane, lab: Lab, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lab.dispatch("https://hooks.example.com/")
    (tmp_path / "keys").write_text(ROTATED + "\n")
    monkeypatch.setattr(progress, "_SAY_EVERY_S", 0.0)
    options = ["--namespace", lab.namespace, "--keys-file", str(tmp_path / "keys")]
    assert await shell.reseal(control_plane.kubeconfig, "", *options) == 0
    assert shell.said == (
        "sealed secrets: 1; sealed anew under k2: 1\nleft: 0; k1 may go\n"
        "pass 1: 1 secrets looked at, 1 sealed anew, 0 unreadable\n"
        "pass 2: 1 secrets looked at, 1 sealed anew, 0 unreadable\n"
    )
    assert await shell.reseal(control_plane.kubeconfig, "", *options[:2], "--keys-file", str(tmp_path)) == 2


async def test_a_secret_under_a_key_that_is_not_there_yet_waits_and_costs_no_attempt(
    control_plane: ControlPlane, lab: Lab, receiver: Receiver, tmp_path: Path
) -> None:
    """The steps in the wrong order: nothing is lost, the event leaves when the operator has the key."""
    lab.key_ring = KeyRing.parse(NEW_KEY)
    first = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace, name="without")
    await first.start()
    run = await lab.dispatch(receiver.url)
    await lab.answer(run)

    async def is_told() -> Any:
        conditions = (await lab.run(run)).status.conditions
        return [one for one in conditions if one.reason == "SecretUnreadable"]

    (told,) = await eventually(is_told)
    assert "k2" in told.message
    await first.stop()
    assert receiver.received == []
    second = OperatorProcess(
        tmp_path, control_plane.kubeconfig, lab.namespace, name="with", CHECKLISTS_SEALING_KEYS=BOTH
    )
    await second.start()
    await eventually(lambda: receiver.events(run))
    assert [event["delivery_attempt"] for event in receiver.events(run)] == [1]
    await second.stop()


async def test_passwords_of_local_accounts_are_sealed_anew_too(lab: Lab) -> None:
    name = account_name("ada@example.com")
    owner = password_owner(lab.namespace, name)
    sealed = KeyRing.parse(SEALING_KEYS).seal("$argon2id$...", owner=owner)
    spec = {"email": "ada@example.com", "name": "Ada", "sealedPassword": sealed}
    metadata = {"name": name, "namespace": lab.namespace}
    body = {"apiVersion": LOCAL_ACCOUNT.api_version, "kind": LOCAL_ACCOUNT.kind, "metadata": metadata, "spec": spec}
    await lab.client.create(LOCAL_ACCOUNT, body, lab.namespace)
    assert await resealing(lab).count() == {"k1": 1}
    result = await resealing(lab).run()
    assert (result.resealed, result.left) == (1, Counter())
    resealed = (await lab.client.get(LOCAL_ACCOUNT, name, lab.namespace))["spec"]["sealedPassword"]
    assert sealing_key_of(resealed) == "k2"
    assert KeyRing.parse(ROTATED).open(resealed, owner=owner) == "$argon2id$..."
