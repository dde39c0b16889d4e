"""The secret that deliveries are signed with: where it comes from, how long it is remembered, what is wrong with it."""

import asyncio
import base64
import re
from typing import Any

import pytest

from checklist_crds.kube.errors import KubeError, KubeForbidden, KubeNotFound, KubeUnavailable
from checklist_crds.resources.run import SecretRef, Webhook
from checklist_crds.secrets.sealing import KeyRing
from checklist_operator.attempts.signing_secrets import SigningSecrets
from checklist_operator.faults import LocalFault

RING = KeyRing({"k1": b"1" * 32})
SECRET = "a secret of sixteen"
REFERRING = Webhook(url="https://a.example/", events=["*"], secret_ref=SecretRef(name="hooks"))


class Cluster:
    """Secrets by name, as the cluster gives them; counts how often it is asked."""

    def __init__(self, **secrets: str) -> None:
        self.data = {name: text.encode() for name, text in secrets.items()}
        self.error: KubeError | None = None
        self.asked = 0

    async def get(self, kind: object, name: str, namespace: str) -> dict[str, Any]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        if name not in self.data:
            raise KubeNotFound("no such secret")
        return {"data": {"secret": base64.b64encode(self.data[name]).decode()}}


def secrets_of(cluster: Cluster) -> SigningSecrets:
    return SigningSecrets(cluster, RING)  # type: ignore[arg-type]


def sealed(text: str, owner: str = "ns/r-1") -> str:
    return RING.seal(text, owner=owner)


def holding(sealed_secret: str) -> Webhook:
    return Webhook(url="https://a.example/", events=["*"], sealed_secret=sealed_secret)


@pytest.mark.looptime
async def test_a_secret_is_read_once_in_ten_seconds_by_namespace_and_a_sealed_one_never() -> None:
    cluster = Cluster(hooks=SECRET)
    signing = secrets_of(cluster)
    assert await signing.of("ns", "r-1", holding(sealed(SECRET))) == SECRET.encode()
    assert cluster.asked == 0
    for _ in range(5):
        assert await signing.of("ns", "r-1", REFERRING) == SECRET.encode()
    assert cluster.asked == 1
    cluster.data["hooks"] = b"another secret of sixteen"
    assert await signing.of("other", "r-1", REFERRING) == b"another secret of sixteen"
    await asyncio.sleep(10)
    assert await signing.of("ns", "r-2", REFERRING) == b"another secret of sixteen"
    assert cluster.asked == 3


async def test_a_secret_that_cannot_be_used_is_a_fault_of_ours_that_does_not_repeat_it() -> None:
    cluster = Cluster()
    signing = secrets_of(cluster)
    for data, reason in (
        (None, "SecretNotFound"),
        (b"too short", "SecretInvalid"),
        (b"x" * 257, "SecretInvalid"),
        (b"\xff" * 20, "SecretInvalid"),
    ):
        if data is not None:
            cluster.data["hooks"] = data
        with pytest.raises(LocalFault) as fault:
            await signing.of("ns", "r-1", REFERRING)
        assert fault.value.reason == reason
        assert "'hooks'" in fault.value.message
        assert "too short" not in fault.value.message
        assert "xxx" not in fault.value.message
    cluster.data["hooks"] = SECRET.encode()
    assert await signing.of("ns", "r-1", REFERRING) == SECRET.encode(), "a failure is not remembered"
    for error, raised in ((KubeForbidden("no"), LocalFault), (KubeUnavailable("away"), KubeUnavailable)):
        cluster.error = error
        with pytest.raises(raised):
            await secrets_of(cluster).of("ns", "r-1", REFERRING)


async def test_a_sealed_secret_that_cannot_be_opened_is_reported_without_any_part_of_it() -> None:
    for text, message in (
        (sealed(SECRET, owner="ns/r-2"), "altered or belongs to another run"),
        (sealed(SECRET, owner="other/r-1"), "altered or belongs to another run"),
        (sealed("short"), "must have 16 to 256 characters"),
        ("in the clear: abc", "not a sealed text"),
        ("k0:" + "A" * 60, "unknown key 'k0'"),
    ):
        with pytest.raises(LocalFault, match=message) as fault:
            await secrets_of(Cluster()).of("ns", "r-1", holding(text))
        assert not re.search("abc|AAA", fault.value.message)
