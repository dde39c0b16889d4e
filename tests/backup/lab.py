"""Two clusters, with the same API in front of both: what a backup and a restore are seen by."""

import base64
import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.cluster.operator_lab import OperatorProcess
from tests.contract.conftest import Account, _make_account, http_client
from tests.serving import serving

from checklist_api.services import Services
from checklist_api.settings import Settings
from checklist_cli.backup.format import BackupManifest
from checklist_cli.backup.restoring import Restore, Result
from checklist_cli.backup.store import BackupStore
from checklist_cli.backup.taking import Backup, Stores
from checklist_cli.progress import Progress
from checklist_crds import api_keys
from checklist_crds.account_links import password_owner
from checklist_crds.archive import Folder, Record, encode_part, month_of
from checklist_crds.ids import object_id
from checklist_crds.kube.client import JsonObject, KubeClient, KubeConnection
from checklist_crds.kube.kinds import (
    ALL_KINDS,
    API_KEY,
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
    DELIVERY_REPLAY,
    LOCAL_ACCOUNT,
    NAMESPACE,
    RUN,
    TEMPLATE_REVISION,
    WEBHOOK_DELIVERY,
    Kind,
)
from checklist_crds.resource_types import ORGANIZATION_LABEL
from checklist_crds.run_types import Run
from checklist_crds.sealing import KeyRing, ServerKeys
from checklist_crds.secret_digest import digest
from checklist_crds.times import Clock, utc_now
from checklist_dev.controlplane import ControlPlane


@dataclass
class Site:
    """A cluster with its stores. `keys` are the same on both."""

    plane: ControlPlane
    kube: KubeClient
    namespace: str
    folder: Path
    server_key: bytes
    sealing_keys: str
    services: Services | None = None
    """Of the API that was started last."""
    elsewhere: str = ""
    """URL of its photos, when they are in no folder."""

    @property
    def photos(self) -> str:
        return self.elsewhere or (self.folder / "photos").as_uri()

    @property
    def stores(self) -> Stores:
        store = BackupStore.open(self.photos)
        return Stores(store, store)

    def keys(self) -> tuple[ServerKeys, KeyRing]:
        return ServerKeys(self.server_key), KeyRing.parse(self.sealing_keys)

    def environment(self) -> dict[str, str]:
        """As a pod has it: for the command line."""
        return {
            "KUBECONFIG": str(self.plane.kubeconfig),
            "CHECKLISTS_SERVER_KEY": base64.b64encode(self.server_key).decode(),
            "CHECKLISTS_SEALING_KEYS": self.sealing_keys,
            "CHECKLISTS_PHOTO_STORE": self.photos,
        }

    async def backup(self, url: str, **options: Any) -> BackupManifest:
        keys, ring = self.keys()
        wanted = {"stores": self.stores, "server_keys": keys, "ring": ring, "written_by": "a test"} | options
        return await Backup(self.kube, BackupStore.open(url), progress=Progress(lambda _: None), **wanted).take()

    async def restoring(self, url: str, **options: Any) -> Restore:
        store = BackupStore.open(url)
        keys, ring = self.keys()
        wanted = {"stores": self.stores, "server_keys": keys, "ring": ring, "namespaces": {}} | options
        manifest = await store.snapshot(None)
        return Restore(options.pop("client", self.kube), store, manifest, progress=Progress(lambda _: None), **wanted)

    async def restore(self, url: str, **options: Any) -> Result:
        return await (await self.restoring(url, **options)).run()

    @asynccontextmanager
    async def api(self, *, clock: Clock = utc_now) -> AsyncIterator[str]:
        """Its base URL."""
        settings = Settings.from_environment(
            {
                "CHECKLISTS_NAMESPACE": self.namespace,
                "CHECKLISTS_SERVER_KEY": base64.b64encode(self.server_key).decode(),
                "CHECKLISTS_SEALING_KEYS": self.sealing_keys,
                "CHECKLISTS_BASE_URL": "https://checklists.example",
                "CHECKLISTS_RATE_LIMIT": "off",
                "CHECKLISTS_PHOTO_STORE": self.photos,
                "CHECKLISTS_UPLOAD_FOLDER": str(self.folder),
                "CHECKLISTS_ALLOW_INSECURE_TARGETS": "1",
            }
        )
        connection = await KubeConnection.load(str(self.plane.kubeconfig))
        services = self.services = Services.build(settings, connection, clock=clock)
        async with serving(services) as base_url:
            yield base_url

    async def objects(self) -> dict[str, dict[str, Any]]:
        """All of ours, by kind, namespace and name."""
        found = {}
        for kind in ALL_KINDS:
            for body in (await self.kube.list_all(kind))[0]:
                metadata = body["metadata"]
                found[f"{kind.plural}/{metadata.get('namespace', '')}/{metadata['name']}"] = body
        return found


async def make_namespace(kube: KubeClient, name: str) -> None:
    await kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


async def seen(base_url: str, key: str, paths: list[str], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Status and body of each path, as the bearer of the key gets them."""
    wanted = {"Authorization": f"Bearer {key}"} if headers is None else dict(headers)
    found = {}
    async with httpx.AsyncClient(base_url=base_url, headers=wanted, timeout=30, trust_env=False) as client:
        for path in paths:
            response = await client.get(path)
            found[path] = (response.status_code, response.headers.get("etag"), without_times_of_reading(response.text))
    return found


def without_times_of_reading(text: str) -> str:
    """Urls of photos are signed anew at each read: their keys stay, their time does not. A request has its own id."""
    try:
        document = json.loads(text)
    except ValueError:
        return text
    if isinstance(document, dict):
        document.pop("request_id", None)
    return json.dumps(_plain(document))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if isinstance(value, str) and "/photos/" in value:
        return value.partition("?")[0]
    return value


def planes(folder: Path) -> Iterator[ControlPlane]:
    from checklist_dev.crd_install import install_crds

    with ControlPlane(folder, ephemeral=True) as cluster:
        install_crds(cluster.run_kubectl)
        yield cluster


async def clear(kube: KubeClient) -> None:
    """Deletes all objects of ours."""
    for kind in ALL_KINDS:
        for body in (await kube.list_all(kind))[0]:
            await kube.delete(kind, body["metadata"]["name"], body["metadata"].get("namespace"))


def operator_of(site: Site, **settings: str) -> OperatorProcess:
    return OperatorProcess(
        site.folder,
        site.plane.kubeconfig,
        site.namespace,
        name=f"operator-{site.folder.name}",
        CHECKLISTS_PHOTO_STORE=site.photos,
        **settings,
    )


async def account_of(site: Site, base_url: str, **spec: Any) -> Account:
    organization, member, key, where = await _make_account(site.kube, site.namespace, None, spec)
    return Account(organization, member, key, where, http_client(base_url, key))


def token_of(run: JsonObject) -> str:
    return str(run["link"]).partition("#")[2]


async def execute(base_url: str, run: JsonObject, method: str, path: str, **arguments: Any) -> JsonObject:
    headers = {"Authorization": f"Executor {token_of(run)}"} | arguments.pop("headers", {})
    async with httpx.AsyncClient(base_url=base_url, trust_env=False, timeout=30) as client:
        response = await client.request(
            method, f"/v1/executor/runs/{run['run_id']}{path}", headers=headers, **arguments
        )
    assert response.status_code < 300, response.text
    return dict(response.json()) if response.content else {}


async def simple_source(source: Site, runs: int = 3) -> tuple[Account, list[JsonObject]]:
    """An organization with a template and runs, one of which is answered."""
    async with source.api() as base_url:
        account = await account_of(source, base_url)
        template = await account.create_template()
        made = [await account.dispatch(template["id"], executor_ref=f"ref {n}") for n in range(runs)]
        await execute(base_url, made[0], "PUT", "/answers/s-clean", json={"value": True})
        await account.http.aclose()
    return account, made


async def archive_run(site: Site, account: Account, run_id: str, *, stays: bool = False) -> None:
    """As the operator moves a run; `stays`: it was killed before it could delete what it had archived."""
    run = await site.kube.get(RUN, run_id, account.namespace)
    name = Run.parse(run).admitted_as.revision_ref.name
    revision = await site.kube.get(TEMPLATE_REVISION, name, account.namespace)
    record = Record.of(run, revision, ())
    folder = Folder(object_id("org", account.organization), month_of(record.created_at))
    part = encode_part(folder, [record], written_at=utc_now(), written_by="a test")
    await site.stores.archive.put(part.place.key, part.content)
    await site.stores.archive.put(part.place.manifest_key, part.manifest.encoded())
    if not stays:
        await site.kube.delete(RUN, run_id, account.namespace)


def made_by_hand(kind: Kind, called: str, account: Account | None, namespace: str, **spec: Any) -> JsonObject:
    owner = {"organizationRef": {"name": account.organization}} if account else {}
    labels = {"labels": {ORGANIZATION_LABEL: account.organization}} if account else {}
    metadata = {"name": called, "namespace": namespace, **labels}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {**owner, **spec}}


async def every_kind(site: Site, account: Account, run_id: str) -> None:
    """One at least of each kind beside those that the API makes, with what only the operator writes."""
    where, now = site.namespace, "2026-11-22T07:18:22.123Z"
    ring = KeyRing.parse(site.sealing_keys)
    spec_of_session = {
        "sha256": "0" * 64,
        "issuer": "local",
        "subject": "ada",
        "email": "ada@example.com",
        "name": "Ada",
        "method": "password",
        "createdAt": now,
        "expiresAt": "2027-11-22T07:18:22.123Z",
    }
    password = {"sealedPassword": ring.seal("a hash", owner=password_owner(where, "ada"))}
    delivery = {
        "runRef": {"name": run_id},
        "eventId": f"evt-{uuid.uuid4()}",
        "event": "step.completed",
        "seq": 1,
        "ts": now,
        "url": "https://hooks.example.com/x",
        "payload": "{}",
    }
    made = [
        (
            LOCAL_ACCOUNT,
            made_by_hand(LOCAL_ACCOUNT, "ada", None, where, email="ada@example.com", name="Ada", **password),
        ),
        (DASHBOARD_SESSION, made_by_hand(DASHBOARD_SESSION, "session", None, where, **spec_of_session)),
        (
            AUDIT_ENTRY,
            made_by_hand(
                *(AUDIT_ENTRY, "entry", account, where),
                at=now,
                actor={"kind": "system", "name": "the service"},
                action="run.cancelled",
                target={"kind": "run", "id": run_id},
            ),
        ),
        (DELIVERY_REPLAY, made_by_hand(DELIVERY_REPLAY, "running", account, where, filter={"phase": "Failed"})),
        (DELIVERY_REPLAY, made_by_hand(DELIVERY_REPLAY, "ended", account, where, filter={"phase": "Failed"})),
        (WEBHOOK_DELIVERY, made_by_hand(WEBHOOK_DELIVERY, "delivery", account, where, **delivery)),
    ]
    for kind, body in made:
        await site.kube.create(kind, body, where)
    running = {"phase": "Running", "total": 3, "done": 1, "delivered": 1, "startedAt": now}
    ended = {"phase": "Completed", "total": 1, "done": 1, "refused": 1, "settled": True, "finishedAt": now}
    await site.kube.patch_status(DELIVERY_REPLAY, "running", running, where)
    await site.kube.patch_status(DELIVERY_REPLAY, "ended", ended, where)
    await site.kube.patch_status(LOCAL_ACCOUNT, "ada", {"lastSignInAt": now}, where)
    failed = {"phase": "Failed", "attempt": 5, "finishedAt": now, "settled": True}
    await site.kube.patch_status(WEBHOOK_DELIVERY, "delivery", failed, where)
    key = api_keys.object_name(digest(account.key))
    await site.kube.patch_status(API_KEY, key, {"lastUsedAt": now}, where)
    await site.kube.patch(API_KEY, key, {"spec": {"revoked": True}}, where)
