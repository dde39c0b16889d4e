"""The chart with all that it has a role for, installed in a cluster whose API server keeps an audit log."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from tests.chart.install.conftest import VALUES, WITHOUT_PODS
from tests.chart.install.installed import RELEASE, Installation
from tests.chart.rbac.rights import POLICY, Audited

from checklist_dev.generate.chart_files import CHART
from checklist_dev.local.controlplane import ControlPlane

HOME: Final = "dispatch"
"""The release's namespace."""
BRANCH: Final = "branch"
"""Of an organization that keeps its objects in a namespace of its own."""
ANNEX: Final = "annex"
"""Of another one."""
ELSEWHERE: Final = "elsewhere"
"""A namespace that no value names."""
WEBHOOK_SECRETS: Final = {HOME: "hook", BRANCH: "branch-hook"}
OTHER_SECRET: Final = "foreign"
WITH_EVERYTHING: Final[dict[str, Any]] = {
    **VALUES,
    # (With photos that go with their pod nothing would be archived.)
    "photos": {"persistentVolume": {"existingClaim": "photos"}},
    "organizationNamespaces": [{"name": BRANCH, "webhookSecrets": [WEBHOOK_SECRETS[BRANCH]]}, {"name": ANNEX}],
    "webhookSecrets": [WEBHOOK_SECRETS[HOME]],
    "linkSecrets": {"enabled": True},
    "backup": {"existingClaim": "backups", "keepDays": 30},
    "maintenance": {"enabled": True},
    # What takes minutes or hours otherwise.
    "settings": {
        "allowInsecureTargets": True,
        "retryGaps": "0.2,0.2,0.2,0.2",
        "retryJitter": 0,
        "sweepSeconds": 0.5,
        "revisionGraceSeconds": 0.5,
        "photoSweepSeconds": 0.5,
        "photoOrphanSeconds": 0,
        "resyncSeconds": 5,
    },
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """With further Secrets in its namespaces, which no value names. Nothing runs yet."""
    folder = tmp_path_factory.mktemp("rbac")
    policy, log = folder / "policy.yaml", folder / "audit.log"
    policy.write_text(POLICY)
    options = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]
    with ControlPlane(folder / "cluster", ephemeral=True, apiserver_options=options) as cluster:
        installation = Installation(cluster, folder, namespace=HOME)
        for name in (BRANCH, ANNEX, ELSEWHERE):
            cluster.run_kubectl("create", "namespace", name)
        installation.helm("install", RELEASE, CHART, *WITHOUT_PODS, values=WITH_EVERYTHING)
        for namespace, name in WEBHOOK_SECRETS.items():
            for secret in (name, OTHER_SECRET):
                literal = "--from-literal=secret=a secret of this receiver"
                cluster.run_kubectl("create", "secret", "generic", secret, "--namespace", namespace, literal)
        yield Audited(installation, installation.objects(), log)
        installation.stop()
