"""`kubectl checklists` while no operator runs, and while the Kubernetes API is away."""

import asyncio

import pytest
from tests.cluster.conftest import line
from tests.cluster.operator_lab import Lab, Receiver, StartOperator
from tests.cluster.replay_lab import failed
from tests.cluster.severed_line import SeveredLine
from tests.kubectl.plugin_lab import Shell, kubeconfig_for

__all__ = ["line"]


async def test_an_expiry_ends_the_wait_although_no_operator_records_it(lab: Lab, shell: Shell) -> None:
    run = await lab.dispatch(expires_in_s=1)
    done = await shell("wait", run)
    assert (done.code, done.out) == (4, f"{run} expired\n"), done.err
    assert (await lab.run(run)).status.phase.value == "Pending"


async def test_what_waits_for_the_operator_says_so(
    lab: Lab, shell: Shell, receiver: Receiver, start_operator: StartOperator
) -> None:
    operator = await start_operator()
    _, event_id = await failed(lab, receiver)
    await operator.stop()
    run = await lab.apply_run(linkSecretRef={"name": "opening"})
    link = await shell("link", run, "--timeout", "1s")
    assert link.code == 1 and "is the operator running?" in link.err
    replay = await shell("replay", event_id, "--timeout", "1s")
    assert replay.code == 5 and "is the operator running?" in replay.err
    open_run = await shell("wait", run, "--timeout", "1s")
    assert open_run.code == 5 and f"{run} is not admitted" in open_run.err


@pytest.mark.usefixtures("operator")
async def test_a_wait_survives_an_outage_of_the_kubernetes_api(lab: Lab, shell: Shell, line: SeveredLine) -> None:
    kubeconfig_for(line.kubeconfig, line.kubeconfig, lab.namespace)
    run = await lab.dispatch()
    waiting = Shell(shell.kubectl, line.kubeconfig).start("wait", run)
    assert waiting.stderr is not None
    assert "pending" in await asyncio.to_thread(waiting.stderr.readline)
    line.down = True
    line.cut()
    await lab.submit(run)
    line.down = False
    out, err = await asyncio.to_thread(waiting.communicate, timeout=120)
    assert (waiting.returncode, out) == (0, f"{run} completed\n"), err
