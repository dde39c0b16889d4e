"""Addresses and names, with the operator as a process and its settings as an installation has them."""

import asyncio
import json

from tests.cluster.operator_lab import Lab, Receiver, StartOperator
from tests.delivery.name_server import NameServer, Reply, addresses
from tests.waiting import eventually

from checklist_crds.kube.kinds import RUN
from checklist_dev.ports import free_ports


async def test_a_name_that_leads_into_our_network_is_tried_five_times_and_never_dialled(
    lab: Lab, start_operator: StartOperator
) -> None:
    fallen: list[str] = []

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fallen.append("connected")
        writer.close()

    flips = iter([["10.11.12.13"], ["::1", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"]])
    now = {"A": ["127.0.0.1"], "AAAA": ["::1"]}

    def answer(name: str, kind: str) -> Reply:
        if kind == "A":
            now["A"] = now["AAAA"] = next(flips, ["127.0.0.1", "fd00:ec2::254"])
        return addresses(*now[kind])

    async with NameServer(answer) as name_server, await asyncio.start_server(accept, "127.0.0.1", 0) as trap:
        port = trap.sockets[0].getsockname()[1]
        await start_operator(CHECKLISTS_ALLOW_INSECURE_TARGETS="0", CHECKLISTS_DNS_SERVERS=name_server.address)
        run = await lab.cancelled(f"https://rebind.example:{port}/hook")
        assert {name for name, _ in name_server.asked} == {"rebind.example"}
    (body,) = await lab.deliveries(run)
    attempts = body["status"]["attempts"]
    assert [(one["number"], one["outcome"]) for one in attempts] == [(n, "blocked_address") for n in range(1, 6)]
    assert {one["detail"] for one in attempts} == {"the address is not allowed"}
    assert fallen == []
    told = json.dumps([body, await lab.client.get(RUN, run, lab.namespace)])
    assert not any(address in told for address in ("127.0.0.1", "10.11.12.13", "169.254", "::1", "fd00"))


async def test_no_attempt_is_used_up_while_our_name_server_is_gone(
    lab: Lab, receiver: Receiver, start_operator: StartOperator
) -> None:
    (port,) = free_ports(1)
    operator = await start_operator(CHECKLISTS_DNS_SERVERS=f"127.0.0.1:{port}")
    run = await lab.dispatch(f"http://hooks.example:{receiver.port}/hook")
    await lab.cancel(run)

    async def has_tried() -> bool:
        return await operator.metric("checklists_own_faults_total") >= 2

    await eventually(has_tried)
    assert not (await lab.run(run)).status.settled
    async with NameServer(lambda name, kind: addresses("127.0.0.1"), port=port):
        await lab.until_settled(run, within_s=90)
    (envelope,) = receiver.events(run)
    assert (envelope["event"], envelope["delivery_attempt"]) == ("run.cancelled", 1)
