"""The seal of a run: proof that this installation's API has admitted it.

`spec.resolved` contains the run's organization and template, and means that it was counted. Anyone who may create runs
in a namespace can write that field, so it is only trusted with a seal: a MAC under the server key over the field and
the run's namespace and name, in an annotation. A run without a valid seal counts as made with kubectl: the operator
admits or refuses it, and writes the result to the status, which only the service may write.

A seal is only valid for an object that was created when its run was dispatched: otherwise anyone who may delete a run
could create it again with its seal, open and uncounted. `restore` writes the admission to the status. Runs that an
earlier version restored lack it: they are older than the record of the first start with expiring seals.

Runs of versions without seals are recognized by their creation time, which the API server sets: they are older than the
record of the installation's first start with seals (`checklist_crds.kube.seal_record`).
"""

import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ..resources.base import GROUP
from ..resources.kinds import RUN, Kind
from ..secrets.sealing import ServerKeys, from_url_safe, url_safe
from ..times import later, parse_timestamp
from ..values.json_text import JsonObject

SEAL_ANNOTATION: Final = f"{GROUP}/seal"
_PURPOSE: Final = "run-seal"
_OLD_REPLICAS_WORK_FOR: Final = timedelta(minutes=15)
_REMEMBERED: Final = 8192
CREATED_WITHIN: Final = timedelta(minutes=5)
"""How long after `spec.createdAt` the API server may have created a sealed run: its clock may be ahead, and it may be
slow."""


class RunSeals:
    """Seals runs, and removes `spec.resolved` from runs without a valid seal."""

    def __init__(self, server_keys: ServerKeys) -> None:
        self._keys = server_keys
        self._valid: dict[tuple[str, int, str], None] = {}
        """Uid, generation and seal of validly sealed runs, oldest first: a generation has one spec."""
        self._valid_under = server_keys.all
        self.since: datetime | None = None
        """When this installation began to seal runs; None: unknown, so no unsealed run is trusted."""
        self.expire_since: datetime | None = None
        """When this installation's seals began to expire; None: unknown, so no run created later than its seal allows
        is trusted."""

    def seal(self, body: Mapping[str, Any]) -> str:
        """Returns the annotation for a Run to be created with this `metadata.namespace`, `metadata.name` and `spec`."""
        return url_safe(self._keys.mac(_PURPOSE, _sealed_part(body)))

    def sealed(self, body: JsonObject) -> JsonObject:
        """Returns `body` with its seal."""
        metadata = body["metadata"]
        annotations = {**metadata.get("annotations", {}), SEAL_ANNOTATION: self.seal(body)}
        return {**body, "metadata": {**metadata, "annotations": annotations}}

    def check(self, kind: Kind, body: JsonObject) -> None:
        """Checks an object from the cluster; call it before anything else uses the object.

        A sealed run is marked `bound` (in memory): its link was made for its organization.
        """
        resolved = (body.get("spec") or {}).get("resolved") if kind is RUN else None
        if resolved is None:
            return
        if self._has_valid_seal(body):
            body["spec"]["resolved"] = {**resolved, "bound": True}
        elif _was_created_before(self.since, body["metadata"]):
            body["spec"]["resolved"] = {name: value for name, value in resolved.items() if name != "bound"}
        else:
            del body["spec"]["resolved"]

    def _has_valid_seal(self, body: Mapping[str, Any]) -> bool:
        """Whether the API server's object is sealed in time; cached for each generation."""
        if self._valid_under != self._keys.all:
            self._valid, self._valid_under = {}, self._keys.all
        identity = _identity(body["metadata"])
        if identity is None or identity in self._valid:
            return identity is not None or self._is_sealed_in_time(body)
        if not self._is_sealed_in_time(body):
            return False
        self._valid[identity] = None
        if len(self._valid) > _REMEMBERED:
            del self._valid[next(iter(self._valid))]
        return True

    def _is_sealed_in_time(self, body: Mapping[str, Any]) -> bool:
        return self.is_sealed(body) and (
            was_created_in_time(body) or _was_created_before(self.expire_since, body["metadata"])
        )

    def is_sealed(self, body: Mapping[str, Any]) -> bool:
        """Whether a run with `spec.resolved` has a seal for its name, by any of the server keys."""
        given = _seal_of(body)
        return given is not None and self._keys.is_mac(_PURPOSE, _sealed_part(body), given)

    def links_are_unbound(self, created: datetime) -> bool:
        """Whether the link of an unsealed run created then may be for its id alone: made by a replica of the previous
        version during an upgrade."""
        return self.since is not None and created < self.since + _OLD_REPLICAS_WORK_FOR

    def is_current(self, body: Mapping[str, Any]) -> bool:
        """Whether the run, which has passed `check`, is sealed with the current key and was created in time."""
        given = _seal_of(body) if body["spec"]["resolved"].get("bound") else None
        if given is None or not was_created_in_time(body):
            return False
        if len(self._keys.all) == 1:
            return True
        return hmac.compare_digest(given, self._keys.mac(_PURPOSE, _sealed_part(body)))


def was_created_in_time(body: Mapping[str, Any]) -> bool:
    """Whether the API server created the run at `spec.createdAt`, when it was dispatched, or soon after."""
    dispatched, created = body["spec"].get("createdAt"), body["metadata"].get("creationTimestamp")
    if dispatched is None or created is None:
        return False
    return parse_timestamp(created) <= later(parse_timestamp(dispatched), CREATED_WITHIN)


def _was_created_before(moment: datetime | None, metadata: Mapping[str, Any]) -> bool:
    created = metadata.get("creationTimestamp")
    return moment is not None and created is not None and parse_timestamp(created) < moment


def _identity(metadata: Mapping[str, Any]) -> tuple[str, int, str] | None:
    """Returns uid, generation and seal; None if one is missing."""
    uid, generation = metadata.get("uid"), metadata.get("generation")
    seal = (metadata.get("annotations") or {}).get(SEAL_ANNOTATION)
    return (uid, generation, seal) if uid and generation and isinstance(seal, str) else None


def _seal_of(body: Mapping[str, Any]) -> bytes | None:
    text = (body["metadata"].get("annotations") or {}).get(SEAL_ANNOTATION)
    return None if not isinstance(text, str) else from_url_safe(text)


def _sealed_part(body: Mapping[str, Any]) -> bytes:
    metadata, spec = body["metadata"], body["spec"]
    resolved = {name: value for name, value in spec["resolved"].items() if name != "bound"}
    part = [metadata.get("namespace", ""), metadata["name"], spec.get("createdAt"), resolved]
    # Not RFC 8785, which takes ten times as long: only this program computes it, at every read.
    return json.dumps(part, sort_keys=True, separators=(",", ":")).encode()
