"""The setup of cases: one organization, one template, and runs with events in their outbox."""

import base64
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.kube.run_store import RunStore
from checklist_crds.resources.base import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.resources.kinds import ORGANIZATION, RUN, SECRET, TEMPLATE
from checklist_crds.resources.run import Run
from checklist_crds.runs.seal import RunSeals
from checklist_crds.runs.snapshot import Snapshot, snapshot
from checklist_crds.secrets.sealing import KeyRing, ServerKeys, run_owner
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.faults.cuts.scenarios import Scenario
from checklist_operator.settings import Settings

GAP: Final = timedelta(milliseconds=50)
_SIGNING_SECRET: Final = "a secret of the caller"  # noqa: S105 - for tests
_SECRET_NAME: Final = "cuts"  # noqa: S105 - a name


class Ground:
    """Call `prepare` once; all runs are planted in the same namespace."""

    def __init__(self, client: KubeClient, namespace: str, folder: Path) -> None:
        self.client = client
        self.namespace = namespace
        self.organization = f"org-{uuid.uuid4()}"
        self._folder = folder
        self._key_ring = KeyRing({"k1": bytes(range(32))})
        self._server_keys = ServerKeys(bytes(range(1, 33)))
        self.seals = RunSeals(self._server_keys)
        self.seals.since = self.seals.expire_since = utc_now()
        self._revisions = RevisionStore(client)
        self._runs = RunStore(client, self._revisions, utc_now)
        self._snapshot: Snapshot | None = None

    async def prepare(self) -> None:
        labels = {ORGANIZATION_LABEL: self.organization}
        await self.client.create(
            ORGANIZATION,
            {
                "apiVersion": API_VERSION,
                "kind": "Organization",
                "metadata": {"name": self.organization, "labels": labels},
                "spec": {"displayName": "Cuts", "namespace": self.namespace},
            },
        )
        steps = [{"id": f"s-{number}", "type": "number", "label": "How many?"} for number in range(3)]
        template = {
            "apiVersion": API_VERSION,
            "kind": "Template",
            "metadata": {"name": f"t-{uuid.uuid4()}", "namespace": self.namespace, "labels": labels},
            "spec": {
                "organizationRef": {"name": self.organization},
                "name": "Opening",
                "sections": [{"id": "g-1", "title": "Kitchen", "steps": steps}],
            },
        }
        self._snapshot = snapshot(await self.client.create(TEMPLATE, template, self.namespace))
        await self._revisions.ensure(self._snapshot.revision, self._snapshot.definition)
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": _SECRET_NAME, "namespace": self.namespace},
            "data": {"secret": base64.b64encode(_SIGNING_SECRET.encode()).decode()},
        }
        await self.client.create(SECRET, secret, self.namespace)

    async def plant(self, name: str, scenario: Scenario, url: str) -> Run:
        """Create the run after the scenario's commands, with all of its events in the outbox."""
        if self._snapshot is None:
            raise RuntimeError("the ground is not prepared")
        webhook: JsonObject = {"url": url, "events": ["*"]}
        if scenario.secret_ref:
            webhook["secretRef"] = {"name": _SECRET_NAME}
        else:
            webhook["sealedSecret"] = self._key_ring.seal(_SIGNING_SECRET, owner=run_owner(self.namespace, name))
        labels = {ORGANIZATION_LABEL: self.organization}
        body = {
            "apiVersion": API_VERSION,
            "kind": "Run",
            "metadata": {"name": name, "namespace": self.namespace, "labels": labels},
            "spec": {
                "organizationRef": {"name": self.organization},
                "templateId": self._snapshot.resolved.template_id,
                "createdAt": format_timestamp(utc_now()),
                "resolved": self._snapshot.resolved.to_kube(),
                "webhook": webhook,
            },
        }
        run = Run.parse(await self.client.create(RUN, self.seals.sealed(body), self.namespace))
        for command in scenario.commands:
            run = (await self._runs.change(self.namespace, name, command, known=run)).run
        return run

    def settings(self, operator_id: str, *, overloaded: bool) -> Settings:
        """Settings of an operator without sweeps, with very short retry gaps."""
        gap = GAP.total_seconds()
        return Settings(
            namespace=self.namespace,
            watch_namespaces=(self.namespace,),
            operator_id=operator_id,
            sealing=self._key_ring,
            server_key=self._server_keys,
            photo_store=(self._folder / "photos").absolute().as_uri(),
            retry_gaps=(gap, gap, gap, gap),
            retry_jitter=0.0,
            allow_insecure_targets=True,
            claims_per_s=0 if overloaded else 1_000_000,
            resync_every_s=86_400.0,
            sweep_every_s=86_400.0,
            photo_sweep_every_s=86_400.0,
        )
