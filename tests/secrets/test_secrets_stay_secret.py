"""No secret leaves its place: the whole service works, fails and is misused for a while, then everything it wrote is
searched.

Two processes at debug level, real requests, a cluster of its own: runs whose secret is sealed and runs with a
`secretRef`, deliveries that arrive, fail and cannot be signed, and requests with secrets where none belong.
"""

import asyncio
import base64
import json
import os
import secrets
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver
from tests.contract.conftest import definition, http_client, key_object
from tests.dashboard_auth.person import PersonAt
from tests.replicas.api_processes import ApiProcess, api_processes
from tests.secrets.needles import Needle
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError
from checklist_crds.resources.account import LocalAccountSpec
from checklist_crds.resources.base import API_VERSION
from checklist_crds.resources.kinds import ALL_KINDS, API_KEY, LOCAL_ACCOUNT, SECRET
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.account_links import account_name, one_time_link, token_to
from checklist_crds.times import utc_now
from checklist_dev.local import etcd
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.crd_install import install_crds
from checklist_dev.local.kubectl import Kubectl


def new_secret(name: str) -> str:
    return f"{name}-{secrets.token_urlsafe(24)}"


@dataclass
class Evidence:
    """Secrets by name, and what was written, by place. `run` is an id that must be found: the search sees something."""

    run: str = ""
    needles: dict[str, Needle] = field(default_factory=dict)
    places: dict[str, bytes] = field(default_factory=dict)
    secrets_in_etcd: bytes = b""

    def need(self, name: str, secret: str | bytes, **known: bool) -> None:
        self.needles[name] = Needle(name, secret if isinstance(secret, bytes) else secret.encode(), **known)


NEEDLES = (
    "sealed webhook secret", "secret of a secretRef", "secret that is too short", "secret instead of a sealed one",
    "secret in a refused request", "API key", "sealing key", "server key", "executor token", "token in a webhook's URL",
    "password", "refused password", "one-time link", "session cookie",
)  # fmt: skip
PLACES = (
    "etcd", "files of etcd", "log of the API", "log of the operator", "metrics of the API", "metrics of the operator",
    "Kubernetes Events", "answers of the API", "kubectl get", "kubectl describe", "log of kube-apiserver",
)  # fmt: skip
BELONGS = {
    # What is found here is where it belongs.
    ("secret instead of a sealed one", "etcd"): "it was written there in the clear",
    ("secret instead of a sealed one", "files of etcd"): "the same",
    ("secret instead of a sealed one", "kubectl get"): "the same",
    ("secret instead of a sealed one", "kubectl describe"): "the same",
    ("secret of a secretRef", "files of etcd"): "the Secret itself is there; whether etcd encrypts it is the cluster's",
    ("secret that is too short", "files of etcd"): "the same",
    ("token in a webhook's URL", "etcd"): "a URL is part of the run, for those who may read runs",
    ("token in a webhook's URL", "files of etcd"): "the same",
    ("token in a webhook's URL", "kubectl get"): "the same",
    ("token in a webhook's URL", "kubectl describe"): "the same",
    ("executor token", "answers of the API"): "the link, once, for the caller who dispatched",
    ("session cookie", "answers of the API"): "Set-Cookie, once, for the browser that signed in",
}


class Stage:
    """API and operator at debug level, for one namespace."""

    def __init__(self, control_plane: ControlPlane, client: KubeClient, folder: Path, evidence: Evidence) -> None:
        self.evidence = evidence
        self.client = client
        self.kubectl = control_plane.run_kubectl
        self.namespace = f"test-{uuid.uuid4().hex[:12]}"
        self.lab = Lab(client, self.namespace)
        self.receiver = Receiver()
        sealing_key, server_key = os.urandom(32), os.urandom(32)
        evidence.need("sealing key", sealing_key)
        evidence.need("server key", server_key)
        keys = {
            "CHECKLISTS_SEALING_KEYS": f"k1:{base64.b64encode(sealing_key).decode()}",
            "CHECKLISTS_SERVER_KEY": base64.b64encode(server_key).decode(),
            "CHECKLISTS_LOG_LEVEL": "DEBUG",
            "CHECKLISTS_ALLOW_INSECURE_TARGETS": "1",
            "CHECKLISTS_PHOTO_STORE": (folder / "photos").as_uri(),
        }
        self.operator = OperatorProcess(folder, control_plane.kubeconfig, self.namespace, **keys)
        keys |= {"CHECKLISTS_ACCESS_LOG": "1", "CHECKLISTS_RATE_LIMIT": "off"}
        self.starting = api_processes(1, folder, control_plane.kubeconfig, self.namespace, **keys)
        self.api: ApiProcess
        self.http: httpx.AsyncClient
        self.answered = bytearray()

    async def start(self, stack: AsyncExitStack) -> None:
        await self.receiver.start()
        stack.push_async_callback(self.receiver.stop)
        (self.api,) = await stack.enter_async_context(self.starting)
        stack.push_async_callback(self.operator.stop)
        await self.operator.start()
        await self.lab.prepare()
        key = api_keys.new_key()
        self.evidence.need("API key", key, digest_is_public=True)
        body = key_object(key, self.lab.organization, self.namespace)
        await self.client.create(API_KEY, body, self.namespace)
        self.http = await stack.enter_async_context(http_client(self.api.url, key))
        self.http.event_hooks["response"].append(self._keep)

    async def _keep(self, response: httpx.Response) -> None:
        """Every answer, head and all."""
        head = (name + b": " + value for name, value in response.headers.raw)
        self.answered += b"\r\n".join([*head, await response.aread(), b""])

    async def work(self) -> None:
        """A run by REST that is delivered, and one whose deliveries fail for good."""
        secret, token = new_secret("sealed"), new_secret("url")
        self.evidence.need("sealed webhook secret", secret)
        self.evidence.need("token in a webhook's URL", token)
        template = (await self.http.post("/v1/templates", json=definition())).json()["id"]
        self.receiver.answer = lambda delivered: 500 if delivered.path == "/fails" else 204
        runs = []
        for path in ("/hook", "/fails"):
            url = f"http://127.0.0.1:{self.receiver.port}{path}?token={token}"
            body = {"template_id": template, "webhook": {"url": url, "secret": secret, "events": ["*"]}}
            once = {"Idempotency-Key": f"once-{path}"}
            dispatched = await self.http.post("/v1/runs", json=body, headers=once)
            assert dispatched.status_code == 201, dispatched.text
            runs.append(dispatched.json()["run_id"])
            executor = dispatched.json()["link"].partition("#")[2]
            self.evidence.need("executor token", executor)
            as_executor = {"Authorization": f"Executor {executor}"}
            run = f"/v1/executor/runs/{runs[-1]}"
            answer = await self.http.put(f"{run}/answers/s-clean", json={"value": True}, headers=as_executor)
            assert answer.status_code == 200, answer.text
            await self.http.post(f"{run}/submit", json={}, headers=as_executor)
            # The same key with another payload is refused by a fingerprint.
            refused = await self.http.post("/v1/runs", json={**body, "executor_ref": "other"}, headers=once)
            assert refused.status_code == 422, refused.text
        self.evidence.run = runs[0]
        for path in ("", f"/{runs[0]}", f"/{runs[1]}", f"/{runs[0]}?include=webhook"):
            assert (await self.http.get(f"/v1/runs{path}")).status_code == 200
        for run in runs:
            await self.lab.until_settled(run)
        await self._look_at_history(runs[1])
        signed = [one for one in self.receiver.received if one.envelope["run_id"] in runs]
        assert len(signed) >= 2 + 2 * 5, "delivered, and all attempts of what fails"
        assert (await self.http.get("/v1/runs/r-" + str(uuid.uuid4()))).status_code == 404

    async def _look_at_history(self, run: str) -> None:
        """Deliveries with their attempts, hosts with their errors, and events of `run` that are sent again."""

        async def failed() -> list[str]:
            listed = (await self.http.get(f"/v1/runs/{run}/deliveries")).json()["data"]
            return [one["event_id"] for one in listed if one["status"] == "failed"]

        event_id, *_ = await eventually(failed)
        for path in ("/v1/deliveries", f"/v1/deliveries/{event_id}", "/v1/endpoints", "/v1/deliveries/replays"):
            assert (await self.http.get(path)).status_code == 200, path
        for path, body in ((f"/v1/deliveries/{event_id}/replay", {}), ("/v1/deliveries/replay", {"filter": {}})):
            replayed = await self.http.post(path, json=body)
            assert replayed.status_code in (202, 409), (path, replayed.text)
        secret = self.evidence.needles["sealed webhook secret"].secret.decode()
        wrong = await self.http.post("/v1/deliveries/replay", json={"filter": {"host": [secret], "status": secret}})
        assert wrong.status_code >= 400

        async def delivery_failed() -> bool:
            printed = await asyncio.to_thread(self.kubectl, "get", "events", "-n", self.namespace, "-o", "json")
            return "DeliveryFailed" in printed

        await eventually(delivery_failed, every_s=1.0)

    async def work_by_kubectl(self) -> None:
        """Runs with a secretRef: a good one, and all sorts of bad ones; and a secret where a sealed one belongs."""
        secret, short, clear = new_secret("referred"), "short-" + secrets.token_hex(4), new_secret("clear")
        self.evidence.need("secret of a secretRef", secret)
        self.evidence.need("secret that is too short", short)
        self.evidence.need("secret instead of a sealed one", clear)
        await self.lab.secret("good", secret)
        await self.lab.secret("short", short)
        metadata = {"name": "binary", "namespace": self.namespace}
        data = {"secret": base64.b64encode(b"\xff" + secret.encode()).decode()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        await self.client.create(SECRET, body, self.namespace)

        async def apply(**webhook: Any) -> str:
            template = {"name": self.lab.template["metadata"]["name"]}
            target = {"url": self.receiver.url, "events": ["*"]}
            return await self.lab.apply_run(templateRef=template, webhook=target | webhook)

        good = await apply(secretRef={"name": "good"})
        await eventually(lambda: self._is_admitted(good))
        await self.lab.answer(good)
        await eventually(lambda: self.receiver.events(good))
        for webhook in (
            {"secretRef": {"name": "short"}},
            {"secretRef": {"name": "binary"}},
            {"secretRef": {"name": "absent"}},
            {"secretRef": {"name": "good", "key": "other"}},
            {"sealedSecret": clear},
            {"sealedSecret": "k1:" + clear},
        ):
            run = await apply(**webhook)
            await eventually(lambda run=run: self._is_refused(run))
        with pytest.raises(KubeError) as refused:
            await apply(sealedSecret=clear, secretRef={"name": "good"})
        self.evidence.places["answers of the API"] = str(refused.value).encode()

    async def _is_admitted(self, run: str) -> bool:
        return (await self.lab.run(run)).resolved is not None

    async def _is_refused(self, run: str) -> bool:
        conditions = (await self.lab.run(run)).status.conditions
        return any(one.reason == "SecretNotFound" for one in conditions)

    async def sign_in(self) -> None:
        """By a link and with a password; with wrong ones, and with secrets where none belong."""
        email, password, wrong = "ada@example.com", new_secret("password"), new_secret("wrong")
        name = account_name(email)
        token = token_to(name)
        self.evidence.need("password", password)
        self.evidence.need("refused password", wrong)
        self.evidence.need("one-time link", token.partition(".")[2], digest_is_public=True)
        spec = LocalAccountSpec(email=email, name="Ada", link=one_time_link(token, now=utc_now())).to_kube()
        metadata = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": API_VERSION, "kind": LOCAL_ACCOUNT.kind, "metadata": metadata, "spec": spec}
        await self.client.create(LOCAL_ACCOUNT, body, self.namespace)
        person = PersonAt(self.http)
        assert (await person.post("sign-in/link", {"secret": token + "x"})).status_code == 401
        assert (await person.post("sign-in/link", {"secret": token})).status_code == 200
        assert (await person.post("sign-in/link", {"secret": token})).status_code == 401
        await person.session()
        for refused in ({"new_password": [wrong]}, {wrong: 1}, {"new_password": wrong * 5}, wrong):
            assert (await person.post("account/password", refused)).status_code in (400, 422)
        assert (await person.post("account/password", {"new_password": password})).status_code == 200
        for given in (wrong, wrong * 50, password + wrong):
            answer = await PersonAt(self.http).post("sign-in/password", {"email": email, "password": given})
            assert answer.status_code == 401
        swapped = await PersonAt(self.http).post("sign-in/password", {"email": password, "password": email})
        assert swapped.status_code == 401
        assert (await person.post("sign-in/password", {"email": email, "password": password})).status_code == 200
        self.evidence.need("session cookie", str(person.secret), digest_is_public=True)
        await person.session()
        for path in ("sessions", "sign-in"):
            await person.get(path)

    async def misuse(self) -> None:
        """Secrets in requests that are refused: too long, of another type, misnamed, in the wrong place, in no JSON."""
        secret = new_secret("refused")
        self.evidence.need("secret in a refused request", secret)
        template = "t-" + str(uuid.uuid4())
        url = "https://hooks.example.com/"
        good = {"url": url, "secret": secret, "events": ["*"]}
        hooks: list[Any] = [
            *({"secret": wrong} for wrong in (secret * 10, [secret], secret + "\x00")),
            {"url": f"https://user:{secret}@hooks.example.com/"},
            {"url": f"https://{secret}"},
            {"url": f"http://hooks.example.com:{secret}/"},
        ]
        bodies: list[Any] = [
            {"template_id": template, "webhook": good},  # no such template
            *({"template_id": template, "webhook": {**good, **hook}} for hook in hooks),
            {"template_id": template, "webhook": {"url": url, "secert": secret, "events": ["*"]}},
            {"template_id": template, "webhook": secret},
            {"template_id": secret, "webhook": good},
            {"template_id": template, "webhook": good, "expires_in_hours": secret},
            {"template_id": template, "webhook": good, secret: 1},
        ]
        texts = [json.dumps(body) for body in bodies]
        texts += [texts[0][:-1], texts[0].replace('"events"', '"secret": "x", "secret"'), f'"{secret}"', secret]
        texts += [texts[0].replace(secret, f"{secret}\\ud800")]
        for text in texts:
            answer = await self.http.post("/v1/runs", content=text, headers={"Content-Type": "application/json"})
            assert 400 <= answer.status_code < 500, (text, answer.text)
        await self._hang_up_in_the_middle_of(texts[0])
        plain = await self.http.post("/v1/runs", content=texts[0], headers={"Content-Type": "text/plain"})
        assert plain.status_code == 415
        for header in (f"Bearer {secret}", f"Basic {secret}", f"Executor {secret}", secret):
            answer = await self.http.get("/v1/runs", headers={"Authorization": header})
            assert answer.status_code == 401
        keyed = await self.http.post("/v1/runs", json={}, headers={"Idempotency-Key": secret * 20})
        assert keyed.status_code >= 400

    async def _hang_up_in_the_middle_of(self, text: str) -> None:
        """What was sent until then is of no use to anybody; at debug level, that it happened is logged."""
        _, writer = await asyncio.open_connection(self.http.base_url.host, self.http.base_url.port)
        head = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: {self.http.headers['Authorization']}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(text) + 100}\r\n\r\n"
        writer.write((head + text).encode())
        await writer.drain()
        writer.transport.abort()
        await eventually(lambda: "caller.gone" in self.api.child.output())

    async def collect(self, control_plane: ControlPlane, kubectl: Kubectl) -> None:
        places, here = self.evidence.places, ("-n", self.namespace)
        kinds = ",".join(kind.plural for kind in ALL_KINDS)
        forms = (("yaml", "--show-managed-fields"), ("json", "--show-managed-fields"), ("wide",))
        printed = [await asyncio.to_thread(kubectl, "get", kinds, *here, "-o", *form) for form in forms]
        places["kubectl get"] = "\n".join(printed).encode()
        places["kubectl describe"] = (await asyncio.to_thread(kubectl, "describe", kinds, *here)).encode()
        events = await asyncio.to_thread(kubectl, "get", "events,events.events.k8s.io", "-A", "-o", "json")
        places["Kubernetes Events"] = events.encode()
        places["metrics of the API"] = (await self.http.get("/metrics")).content
        places["metrics of the operator"] = (await self.operator.get("/metrics"))[1].encode()
        places["log of the API"] = self.api.child.output().encode()
        places["log of the operator"] = self.operator.output.encode()
        places["answers of the API"] += bytes(self.answered)
        values = await asyncio.to_thread(etcd_values, control_plane)
        pairs = {key: key + b" " + value for key, value in values.items()}
        secret = {key: pair for key, pair in pairs.items() if key.startswith(b"/registry/secrets/")}
        self.evidence.secrets_in_etcd = b"\n".join(secret.values())
        places["etcd"] = b"\n".join(pair for key, pair in pairs.items() if key not in secret)
        places["files of etcd"] = await asyncio.to_thread(etcd_files, control_plane)
        places["log of kube-apiserver"] = control_plane.apiserver.output().encode()


def etcd_values(control_plane: ControlPlane) -> dict[bytes, bytes]:
    """All keys and values of etcd, read through etcd itself (its gRPC gateway)."""
    everything = {"key": etcd.encoded(b"\0"), "range_end": etcd.encoded(b"\0")}
    answer = etcd.call(control_plane.etcd_url, "kv/range", everything)
    assert not answer.get("more")
    return {base64.b64decode(pair["key"]): base64.b64decode(pair.get("value", "")) for pair in answer["kvs"]}


def etcd_files(control_plane: ControlPlane) -> bytes:
    """Its files on the disk: former versions of objects, too, until they are compacted and written over."""
    # Its log is as long as it may become from the start, filled with zeros.
    files = (path for path in (control_plane.folder / "etcd").rglob("*") if path.is_file())
    return b"\n".join(path.read_bytes().rstrip(b"\0") for path in files)


async def play(control_plane: ControlPlane, folder: Path) -> Evidence:
    evidence = Evidence()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(KubeClient(await KubeConnection.load(str(control_plane.kubeconfig))))
        stage = Stage(control_plane, client, folder, evidence)
        await asyncio.to_thread(control_plane.run_kubectl, "create", "namespace", stage.namespace)
        await stage.start(stack)
        await stage.work()
        await stage.work_by_kubectl()
        await stage.sign_in()
        await stage.misuse()
        await stage.collect(control_plane, control_plane.run_kubectl)
    return evidence


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """What there is after the play, in a cluster of its own: the data of all other tests need not be searched."""
    folder = tmp_path_factory.mktemp("secrets")
    with ControlPlane(folder / "cluster", ephemeral=True) as control_plane:
        install_crds(control_plane.run_kubectl)
        return asyncio.run(play(control_plane, folder))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NEEDLES)
def test_a_secret_is_nowhere_but_where_it_belongs(evidence: Evidence, name: str, place: str) -> None:
    found = evidence.needles[name].found_in(evidence.places[place])
    if (name, place) in BELONGS:
        assert found, f"the search is blind here, or it is there no more ({BELONGS[name, place]})"
    else:
        assert not found


def test_every_secret_and_every_place_was_searched(evidence: Evidence) -> None:
    assert set(evidence.needles) == set(NEEDLES)
    assert set(evidence.places) == set(PLACES)
    for place in ("etcd", "files of etcd", "log of the API", "answers of the API", "kubectl get", "kubectl describe"):
        assert evidence.run.encode() in evidence.places[place], f"nothing of the run is in {place}"
    for place in ("metrics of the API", "metrics of the operator"):
        assert b"checklists_" in evidence.places[place]
    assert b"DeliveryFailed" in evidence.places["Kubernetes Events"]
    assert b'"level": "debug"' in evidence.places["log of the API"]
    assert b'"level": "debug"' in evidence.places["log of the operator"]
    assert evidence.needles["secret of a secretRef"].found_in(evidence.secrets_in_etcd), "the reader of etcd is blind"
    # What is sealed is there as it should be.
    for text in (b'"sealedSecret":"k1:', b'"sealedPassword":"k1:', b'"method":"password"'):
        assert text in evidence.places["etcd"]
