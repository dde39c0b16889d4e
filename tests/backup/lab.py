"""Two clusters, with the same API in front of both."""

import base64
import re
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

from checklist_api.settings.service import Settings
from checklist_api.wiring.services import Services
from checklist_cli.backup.format import BackupManifest
from checklist_cli.backup.restoring import Restore, Result
from checklist_cli.backup.store import BackupStore
from checklist_cli.backup.taking import Backup, Stores
from checklist_cli.console.progress import Progress
from checklist_crds.archive import Folder, Record, encode_part, month_of
from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import (
    ALL_KINDS,
    API_KEY,
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
    DELIVERY_REPLAY,
    IDEMPOTENCY_RECORD,
    LOCAL_ACCOUNT,
    NAMESPACE,
    RUN,
    TEMPLATE_REVISION,
    WEBHOOK_DELIVERY,
    Kind,
)
from checklist_crds.resources.pause import is_paused
from checklist_crds.resources.run import Run
from checklist_crds.runs.seal import SEAL_ANNOTATION
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.account_links import password_owner
from checklist_crds.secrets.digest import digest
from checklist_crds.secrets.sealing import KeyRing, ServerKeys
from checklist_crds.times import Clock, utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.crd_install import install_crds


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

    def environment(self) -> dict[str, str]:
        """As a pod has it: for the command line."""
        return {
            "KUBECONFIG": str(self.plane.kubeconfig),
            "CHECKLISTS_SERVER_KEY": base64.b64encode(self.server_key).decode(),
            "CHECKLISTS_SEALING_KEYS": self.sealing_keys,
            "CHECKLISTS_PHOTO_STORE": self.photos,
        }

    def _options(self) -> dict[str, Any]:
        server_keys, ring = ServerKeys(self.server_key), KeyRing.parse(self.sealing_keys)
        quiet = Progress(lambda _: None)
        return {"stores": self.stores, "server_keys": server_keys, "ring": ring, "progress": quiet}

    async def backup(
        self, url: str, *, client: KubeClient | None = None, store: BackupStore | None = None, **options: Any
    ) -> BackupManifest:
        wanted = self._options() | {"written_by": "a test"} | options
        return await Backup(client or self.kube, store or BackupStore.open(url), **wanted).take()

    async def restore(self, url: str, *, client: KubeClient | None = None, **options: Any) -> Result:
        store, wanted = BackupStore.open(url), self._options() | {"namespaces": {}} | options
        return await Restore(client or self.kube, store, await store.snapshot(None), **wanted).run()

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
        services = self.services = Services(settings, connection, clock=clock)
        async with serving(services) as base_url:
            yield base_url

    async def stored(self) -> dict[str, bytes | None]:
        """Photos and archive."""
        store = self.stores.photos
        keys = [found.key for prefix in ("photos", "archive") async for found in store.listed(prefix)]
        return {key: await store.get(key) for key in keys}

    async def objects(self) -> dict[str, dict[str, Any]]:
        """All of ours, by kind, namespace and name."""
        found = {}
        for kind in ALL_KINDS:
            for body in (await self.kube.list_all(kind))[0]:
                metadata = body["metadata"]
                found[f"{kind.plural}/{metadata.get('namespace', '')}/{metadata['name']}"] = body
        return found


def _status_of_restored(body: JsonObject) -> JsonObject | None:
    """A run that is created now has its admission in the status: its seal is no longer believed."""
    status: JsonObject | None = body.get("status")
    if SEAL_ANNOTATION not in (body["metadata"].get("annotations") or {}):
        return status
    return {"resolved": {**body["spec"]["resolved"], "bound": True}, **(status or {})}


async def assert_restored(source: Site, target: Site, *, without: str = "") -> None:
    """Target has the objects of source but `without`, with the same specification and status, and none is paused."""
    mine, theirs = await source.objects(), await target.objects()
    mine.pop(without, None)
    assert theirs.keys() == mine.keys()
    differing = [(key, theirs[key]["spec"]) for key, body in mine.items() if theirs[key]["spec"] != body["spec"]]
    assert differing == [], differing
    for key, body in mine.items():
        if not key.startswith("organizations/"):
            assert theirs[key].get("status") == _status_of_restored(body), key
    assert not any(is_paused(body["metadata"]) for body in theirs.values())
    assert await target.stored() == await source.stored()


async def make_namespace(kube: KubeClient, name: str) -> None:
    await kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


async def seen(base_url: str, key: str, paths: list[str], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Status and body of each path, as the bearer of the key gets them."""
    wanted = headers or {"Authorization": f"Bearer {key}"}
    found = {}
    async with httpx.AsyncClient(base_url=base_url, headers=wanted, timeout=30, trust_env=False) as client:
        for path in paths:
            response = await client.get(path)
            found[path] = (response.status_code, response.headers.get("etag"), without_times_of_reading(response.text))
    return found


def without_times_of_reading(text: str) -> str:
    """URLs of photos are signed at each read: their keys stay, their time does not. A request has its own id."""
    return re.sub(r'(/photos/[^"?]+)\?[^"]*', r"\1", re.sub(r'"request_id": ?"[^"]*"', "", text))


def planes(folder: Path) -> Iterator[ControlPlane]:
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


async def simple_source(source: Site, runs: int = 3, **members: Any) -> tuple[Account, list[JsonObject]]:
    """An organization with a template and runs with these `members`, one of which is answered."""
    async with source.api() as base_url:
        account = await account_of(source, base_url)
        template = await account.create_template()
        made = [await account.dispatch(template["id"], executor_ref=f"ref {n}", **members) for n in range(runs)]
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
    """At least one of each kind that the API does not make, with what only the operator writes."""
    where, now, later = site.namespace, "2026-11-22T07:18:22.123Z", "2027-11-22T07:18:22.123Z"

    async def make(kind: Kind, called: str, owner: Account | None, **spec: Any) -> None:
        await site.kube.create(kind, made_by_hand(kind, called, owner, where, **spec), where)

    password = KeyRing.parse(site.sealing_keys).seal("a hash", owner=password_owner(where, "ada"))
    person = {"email": "ada@example.com", "name": "Ada"}
    await make(LOCAL_ACCOUNT, "ada", None, **person, sealedPassword=password)
    sign_in = {"sha256": "0" * 64, "issuer": "local", "subject": "ada", "method": "password"}
    await make(DASHBOARD_SESSION, "session", None, **person, **sign_in, createdAt=now, expiresAt=later)
    actor, run = {"kind": "system", "name": "the service"}, {"kind": "run", "id": run_id}
    await make(AUDIT_ENTRY, "entry", account, at=now, actor=actor, action="run.cancelled", target=run)
    await make(IDEMPOTENCY_RECORD, "used", account, expiresAt=later)
    for name in ("running", "ended"):
        await make(DELIVERY_REPLAY, name, account, filter={"phase": "Failed"})
    event = {"eventId": f"evt-{uuid.uuid4()}", "event": "step.completed", "seq": 1, "ts": now, "payload": "{}"}
    url = "https://hooks.example.com/x"
    await make(WEBHOOK_DELIVERY, "delivery", account, runRef={"name": run_id}, url=url, **event)
    running = {"phase": "Running", "total": 3, "done": 1, "delivered": 1, "startedAt": now}
    ended = {"phase": "Completed", "total": 1, "done": 1, "refused": 1, "settled": True, "finishedAt": now}
    failed = {"phase": "Failed", "attempt": 5, "finishedAt": now, "settled": True}
    key = api_keys.object_name(digest(account.key))
    for kind, name, status in (
        (DELIVERY_REPLAY, "running", running),
        (DELIVERY_REPLAY, "ended", ended),
        (LOCAL_ACCOUNT, "ada", {"lastSignInAt": now}),
        (WEBHOOK_DELIVERY, "delivery", failed),
        (API_KEY, key, {"lastUsedAt": now}),
    ):
        await site.kube.patch_status(kind, name, status, where)
    await site.kube.patch(API_KEY, key, {"spec": {"revoked": True}}, where)
