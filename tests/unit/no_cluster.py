"""What indexes are made with where nothing is ever asked of a cluster."""

from typing import cast

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.kinds import Kind


class _NoCluster:
    def places(self, kind: Kind, namespace: str | None = None) -> tuple[str | None, ...]:
        return (namespace,)


NO_CLUSTER = cast(KubeClient, _NoCluster())
