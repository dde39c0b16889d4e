"""All verifiers agree on what is genuine: a request is accepted by every one of them, or by none."""

import random

from tests.signatures.judges import ALL, Case, judge
from tests.signatures.mutations import mutated

from checklist_dev.verifiers import Programs
from checklist_dev.webhook_vectors.requests import Request

NUMBER = 2000


def test_what_one_verifier_accepts_all_accept_whatever_was_done_to_the_request(programs: Programs) -> None:
    request, source = Request.signed(), random.Random(20261121)
    raws = [mutated(request.raw(), source) for _ in range(NUMBER)]
    judged = judge(programs, [Case(request.url, request.secret, raw, request.now) for raw in raws])
    accepting = [frozenset(name for name, verdict in verdicts.items() if verdict.accepted) for verdicts in judged]
    torn = [(raw, sorted(some)) for raw, some in zip(raws, accepting, strict=True) if some and some != ALL]
    assert torn == []
    # Both happen often: order, spaces around a value and the case of a name mean nothing, all else does.
    assert all(accepting.count(verdict) > NUMBER // 10 for verdict in (ALL, frozenset()))
