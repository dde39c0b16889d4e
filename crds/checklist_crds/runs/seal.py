"""The seal of a run: proof that this installation's API has admitted it.

`spec.resolved` says whose a run is, what it was made of and that it was counted. Whoever may create runs in a namespace
may write that field, so it is believed only together with a seal: a MAC under the server key over the field and the
run's place, in an annotation. Without a valid seal a run counts as one made with kubectl: the operator admits it, or
refuses it, and what that admission finds is in the status, which only the service may write.

A seal is believed only of an object that was created when its run was dispatched: otherwise whoever may delete a run
could create it again with its seal, open once more and not counted. What `restore` creates again has its admission in
the status. Runs that an earlier version restored have not: they are older than the record of the first start with
seals that expire.

Runs that a version without seals has made are recognized by their creation time, which the API server sets: they are
older than the installation's record of its first start with seals (`checklist_crds.kube.seal_record`).
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

SEAL_ANNOTATION: Final = f"{GROUP}/seal"
_PURPOSE: Final = "run-seal"
_OLD_REPLICAS_WORK_FOR: Final = timedelta(minutes=15)
_REMEMBERED: Final = 8192
CREATED_WITHIN: Final = timedelta(minutes=5)
"""How long after `spec.createdAt` the API server may have created a run for its seal to be believed: its clock may be
ahead of the API's, and an API server may be slow."""

JsonObject = dict[str, Any]


class RunSeals:
    """Makes seals, and takes `spec.resolved` out of every run that has it without a right to it."""

    def __init__(self, server_keys: ServerKeys) -> None:
        self._keys = server_keys
        self._valid: dict[tuple[str, int, str], None] = {}
        """Uid, generation and seal of runs whose seal is valid, oldest first: a generation has one spec."""
        self._valid_under = server_keys.all
        self.since: datetime | None = None
        """When this installation began to seal runs; None: not known yet, so no run without a seal is believed."""
        self.expire_since: datetime | None = None
        """When this installation began to let seals expire; None: not known yet, so no run that was created later than
        its seal allows is believed."""

    def seal(self, body: Mapping[str, Any]) -> str:
        """The text of the annotation for a Run that the API makes: `metadata.namespace`, `metadata.name` and `spec` are
        those it is created with."""
        return url_safe(self._keys.mac(_PURPOSE, _sealed_part(body)))

    def sealed(self, body: JsonObject) -> JsonObject:
        """`body` with its seal."""
        metadata = body["metadata"]
        annotations = {**metadata.get("annotations", {}), SEAL_ANNOTATION: self.seal(body)}
        return {**body, "metadata": {**metadata, "annotations": annotations}}

    def check(self, kind: Kind, body: JsonObject) -> None:
        """To be called with every object that the cluster gives, before anything else looks at it.

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
        """`is_sealed` of an object that the API server gave, and in time; computed once for each generation of it."""
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
        """Whether a run with `spec.resolved` bears a seal for its place, under any of the server keys."""
        given = _seal_of(body)
        return given is not None and self._keys.is_mac(_PURPOSE, _sealed_part(body), given)

    def links_are_unbound(self, created: datetime) -> bool:
        """Whether the link of a run that was made then, and has no seal, may have been made for its id alone: by a
        replica of the version before, which was still at work while this one began."""
        return self.since is not None and created < self.since + _OLD_REPLICAS_WORK_FOR

    def is_current(self, body: Mapping[str, Any]) -> bool:
        """Whether the run, which `check` has seen, bears a seal under the key that signs now, and was created in
        time."""
        given = _seal_of(body) if body["spec"]["resolved"].get("bound") else None
        if given is None or not was_created_in_time(body):
            return False
        if len(self._keys.all) == 1:
            return True
        return hmac.compare_digest(given, self._keys.mac(_PURPOSE, _sealed_part(body)))


def was_created_in_time(body: Mapping[str, Any]) -> bool:
    """Whether the API server created the run when it was dispatched, `spec.createdAt`, or soon after."""
    dispatched, created = body["spec"].get("createdAt"), body["metadata"].get("creationTimestamp")
    if dispatched is None or created is None:
        return False
    return parse_timestamp(created) <= later(parse_timestamp(dispatched), CREATED_WITHIN)


def _was_created_before(moment: datetime | None, metadata: Mapping[str, Any]) -> bool:
    created = metadata.get("creationTimestamp")
    return moment is not None and created is not None and parse_timestamp(created) < moment


def _identity(metadata: Mapping[str, Any]) -> tuple[str, int, str] | None:
    """What the API server gives a run of one spec, and its seal; None where one is missing."""
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
    # Not RFC 8785, which takes ten times as long: nobody else computes it, and it is computed at every read.
    return json.dumps(part, sort_keys=True, separators=(",", ":")).encode()
