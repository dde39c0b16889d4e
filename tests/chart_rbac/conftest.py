"""A cluster whose API server keeps an audit log, with the chart's RBAC in it and API and operator at work."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.chart_rbac.audit_log import AuditLog
from tests.chart_rbac.life import BRANCH_ORGANIZATION
from tests.chart_rbac.processes import Program, programs, without_settings
from tests.chart_rbac.release import BRANCH, HOME, RELEASE, WEBHOOK_SECRETS, Release

from checklist_crds.resource_types import API_VERSION
from checklist_dev.controlplane import ControlPlane
from checklist_dev.crd_install import install_crds

OTHER_SECRET = "somebody-s"


@dataclass(frozen=True)
class Installation:
    """The release, its processes, and the log of what they ask for."""

    release: Release
    programs: dict[str, Program]
    audit: AuditLog


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Release, AuditLog]]:
    """Applied, with Secrets beside it that are nobody's business."""
    folder = tmp_path_factory.mktemp("rbac")
    log = folder / "audit.log"
    options = AuditLog.options(folder / "policy.yaml", log)
    with ControlPlane(folder / "cluster", ephemeral=True, apiserver_options=options) as cluster:
        install_crds(cluster.run_kubectl)
        made = Release(cluster, folder)
        made.install()
        for namespace, name in WEBHOOK_SECRETS.items():
            for secret in (name, OTHER_SECRET):
                literal = "--from-literal=secret=a secret of this receiver"
                cluster.run_kubectl("create", "secret", "generic", secret, "--namespace", namespace, literal)
        yield made, AuditLog(log)


@pytest.fixture(scope="module")
def installation(release: tuple[Release, AuditLog], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """API and operator are started, not yet ready. What the chart's Job runs has made the first organization, and left
    it alone when it ran again, as at an upgrade."""
    made, audit = release
    for _ in ("install", "upgrade"):
        bootstrap = subprocess.run(
            [sys.executable, "-m", "checklist_cli", *made.bootstrap_command()],
            env={**without_settings(), "KUBECONFIG": str(made.kubeconfig("bootstrap")), "CHECKLISTS_NAMESPACE": HOME},
            capture_output=True,
            text=True,
            check=False,
        )
        assert bootstrap.returncode == 0, bootstrap.stderr
    spec = {"displayName": "Branch", "namespace": BRANCH}
    metadata = {"name": BRANCH_ORGANIZATION}
    branch = {"apiVersion": API_VERSION, "kind": "Organization", "metadata": metadata, "spec": spec}
    made.cluster.run_kubectl("create", "-f", "-", stdin=json.dumps(branch))
    started = programs(made, tmp_path_factory.mktemp(RELEASE))
    try:
        for program in started.values():
            program.child.start()
        yield Installation(made, started, audit)
    finally:
        for program in started.values():
            program.child.stop()
