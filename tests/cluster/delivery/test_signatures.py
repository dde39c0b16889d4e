"""What the operator itself sends, with the secrets that it opens and finds, is genuine to everybody else."""

import asyncio
import json

from tests.cluster.operator_lab import OTHER_SECRET, WEBHOOK_SECRET, Lab, OperatorProcess
from tests.raw_receiver import ReceivedRequest, raw_receiver
from tests.signatures.judges import ALL, Case, judge

from checklist_crds.resources.webhook_url import canonical_url
from checklist_dev.programs.verifiers import make_programs


async def fails_first(request: ReceivedRequest) -> None:
    """The first attempt of each event is answered with 503."""
    status = b"503 Not Now" if json.loads(request.body)["delivery_attempt"] == 1 else b"200 OK"
    request.writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    request.writer.close()


async def test_every_verifier_accepts_requests_of_the_operator(lab: Lab, operator: OperatorProcess) -> None:
    async with raw_receiver(fails_first) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/a/../hook/it's?q=ü&&r"
        sealed = await lab.dispatch(canonical_url(url, allow_insecure=True))
        await lab.answer(sealed)
        await lab.submit(sealed)
        await lab.until_settled(sealed)
        count = len(receiver.requests)
        referenced = await lab.apply_run_with_secret(url, events=["run.cancelled"])
        await lab.cancel(referenced)
        await lab.until_settled(referenced)
    received = [request.raw for request in receiver.requests]
    secrets = [WEBHOOK_SECRET] * count + [OTHER_SECRET] * (len(received) - count)
    sent_to = canonical_url(url, allow_insecure=True)
    cases = [Case(sent_to, secret, raw) for secret, raw in zip(secrets, received, strict=True)]
    programs = make_programs()
    assert (count, len(received)) == (4, 6)  # two events and one, each in two attempts
    for verdicts in await asyncio.to_thread(judge, programs, cases):
        assert {name for name, verdict in verdicts.items() if verdict.accepted} == ALL, verdicts
    wrong = [Case(case.url, case.secret[::-1], case.raw) for case in cases]
    for verdicts in await asyncio.to_thread(judge, programs, wrong):
        assert not any(verdict.accepted for verdict in verdicts.values())
