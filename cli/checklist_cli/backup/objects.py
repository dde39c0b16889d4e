"""Converts objects from the cluster to a snapshot and back. Pure: no cluster, no store.

A restored object is created again, so its generation is 1 and its creation time is now. Annotations keep the original
creation time and the version of a template.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from attrs import define

from checklist_crds.resources.base import (
    CREATED_AT_ANNOTATION,
    ORGANIZATION_LABEL,
    RESTORED_ANNOTATION,
    RESTORING_ANNOTATION,
    VERSION_OFFSET_ANNOTATION,
)
from checklist_crds.resources.kinds import (
    API_KEY,
    AUDIT_ENTRY,
    DELIVERY_REPLAY,
    IDEMPOTENCY_RECORD,
    LOCAL_ACCOUNT,
    MEMBER,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    TEMPLATE_REVISION,
    WEBHOOK_DELIVERY,
    Kind,
)
from checklist_crds.resources.pause import PAUSED_ANNOTATION
from checklist_crds.resources.run import FINAL_PHASES
from checklist_crds.runs.seal import SEAL_ANNOTATION, RunSeals, was_created_in_time
from checklist_crds.secrets.account_links import password_owner
from checklist_crds.secrets.sealing import KeyRing, SealBroken, run_owner
from checklist_crds.values.json_text import JsonObject

KINDS: Final = (
    ORGANIZATION,
    MEMBER,
    API_KEY,
    LOCAL_ACCOUNT,
    TEMPLATE_REVISION,
    TEMPLATE,
    RUN,
    WEBHOOK_DELIVERY,
    DELIVERY_REPLAY,
    AUDIT_ENTRY,
    IDEMPOTENCY_RECORD,
)
"""In the order of restoring: referenced kinds come first. Sessions are left out (people sign in again), and so are
leases and Events, which belong to the cluster."""

APPLIED: Final = frozenset({ORGANIZATION, MEMBER, API_KEY, TEMPLATE})
"""Kinds that GitOps may manage; their managedFields are kept."""

_METADATA: Final = ("name", "namespace", "labels", "annotations")


def organization_of(kind: Kind, body: Mapping[str, Any]) -> str | None:
    """metadata.name of the organization that the object belongs to, or None."""
    if kind is ORGANIZATION:
        return str(body["metadata"]["name"])
    spec = body.get("spec") or {}
    resolved = spec.get("resolved") or (body.get("status") or {}).get("resolved") or {}
    labels = body["metadata"].get("labels") or {}
    name = (
        (spec.get("organizationRef") or {}).get("name")
        or resolved.get("organization")
        or labels.get(ORGANIZATION_LABEL)
    )
    return str(name) if name else None


def kept(kind: Kind, body: JsonObject) -> JsonObject:
    """The object as stored in a snapshot."""
    metadata = dict(body["metadata"])
    if kind in APPLIED:
        entries = [entry for entry in metadata.get("managedFields") or () if entry.get("operation") == "Apply"]
        metadata["managedFields"] = entries
        if not entries:
            del metadata["managedFields"]
    else:
        metadata.pop("managedFields", None)
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object to create: `body` without its status, which is written afterwards."""

    kind: Kind
    body: JsonObject
    status: JsonObject | None
    managers: list[JsonObject] = field(default_factory=list)
    unproved: bool = False
    """A run with an unproven `spec.resolved`, which was removed so that an operator decides on its admission."""

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str | None:
        found: str | None = self.body["metadata"].get("namespace")
        return found

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.kind} {where}{self.name}"


@define(kw_only=True, eq=False, repr=False, slots=False)
class Rewriting:
    """Converts objects for another cluster, and optionally for other namespaces.

    `namespaces`: new by old, of those that change; `ring` must then open what is sealed for the old ones.
    `seals`: None accepts all runs. `seals_expire`: the snapshot's version lets seals expire.
    """

    _snapshot: str
    _namespaces: Mapping[str, str]
    _ring: KeyRing | None
    _seals: RunSeals | None
    _seals_expire: bool

    def wanted(self, kind: Kind, body: JsonObject) -> Wanted:
        """Raises SealBroken if a secret must be sealed again and cannot be opened."""
        old = body["metadata"]
        metadata: JsonObject = {name: old[name] for name in _METADATA if old.get(name)}
        annotations = dict(metadata.get("annotations") or {})
        spec = dict(body.get("spec") or {})
        generation = int(old.get("generation") or 1)
        if kind is RUN:
            spec.setdefault("createdAt", old["creationTimestamp"])
        else:
            annotations.setdefault(CREATED_AT_ANNOTATION, old["creationTimestamp"])
        if kind is TEMPLATE:
            before = annotations.get(VERSION_OFFSET_ANNOTATION, "0")
            offset = (int(before) if before.isdecimal() else 0) + generation - 1
            if offset:
                annotations[VERSION_OFFSET_ANNOTATION] = str(offset)
        if kind is ORGANIZATION:
            annotations.pop(RESTORED_ANNOTATION, None)
            annotations[RESTORING_ANNOTATION] = self._snapshot
            annotations[PAUSED_ANNOTATION] = "true"
            if spec.get("namespace"):
                spec["namespace"] = self.namespace(spec["namespace"])
        if annotations:
            metadata["annotations"] = annotations
        if kind.namespaced:
            metadata["namespace"] = self.namespace(old["namespace"])
            self._reseal(kind, old, metadata["namespace"], spec)
        made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        status, unproved = body.get("status"), False
        if kind is RUN and spec.get("resolved") and not (status or {}).get("resolved"):
            unproved = self._is_unproved(body)
            if unproved:
                del spec["resolved"]
            else:
                status = {**(status or {}), "resolved": _admission(made)}
        return Wanted(kind, made, _status(status, generation), list(old.get("managedFields") or ()), unproved)

    def namespace(self, old: str) -> str:
        return self._namespaces.get(old, old)

    def _is_unproved(self, run: JsonObject) -> bool:
        """Whether nothing proves that the service admitted the run: anyone who may create runs can set `spec.resolved`.

        Proofs are a seal, and a final status without a refusal: only the service writes it, and runs that ended before
        seals existed have nothing else."""
        if self._seals is None:
            return False
        if self._seals.is_sealed(run) and (was_created_in_time(run) or not self._seals_expire):
            return False
        status = run.get("status") or {}
        refused = any(one["type"] == "Admitted" and one["status"] == "False" for one in status.get("conditions") or ())
        return refused or status.get("phase") not in FINAL_PHASES

    def _reseal(self, kind: Kind, old: Mapping[str, Any], namespace: str, spec: JsonObject) -> None:
        """Seal a secret again that is bound to its object's namespace."""
        if namespace == old["namespace"]:
            return
        for sealed in sealed_texts(kind, old["namespace"], old["name"], spec):
            if self._ring is None:
                raise SealBroken("the sealing keys are needed to restore it into another namespace")
            text = self._ring.open(sealed.text, owner=sealed.owner)
            again = self._ring.seal(text, owner=_owner(kind, namespace, old["name"]))
            if kind is RUN:
                spec["webhook"] = {**spec["webhook"], "sealedSecret": again}
            else:
                spec["sealedPassword"] = again


@dataclass(frozen=True, slots=True)
class SealedText:
    text: str
    owner: str


def sealed_texts(kind: Kind, namespace: str, name: str, spec: Mapping[str, Any]) -> list[SealedText]:
    """The sealed text of an object: none or one."""
    text = None
    if kind is RUN:
        text = (spec.get("webhook") or {}).get("sealedSecret")
    elif kind is LOCAL_ACCOUNT:
        text = spec.get("sealedPassword")
    return [SealedText(text, _owner(kind, namespace, name))] if text else []


def _owner(kind: Kind, namespace: str, name: str) -> str:
    return run_owner(namespace, name) if kind is RUN else password_owner(namespace, name)


def _admission(run: JsonObject) -> JsonObject:
    """The API's admission as the status of a restored run, whose seal is not valid with the new creation time."""
    is_sealed = SEAL_ANNOTATION in run["metadata"].get("annotations", {})
    return {**run["spec"]["resolved"], **({"bound": True} if is_sealed else {})}


def _status(status: JsonObject | None, generation: int) -> JsonObject | None:
    """The status with observed generations converted to those of the new object."""
    if not status:
        return None
    if not status.get("conditions"):
        return status
    conditions = []
    for condition in status["conditions"]:
        observed = condition.get("observedGeneration")
        now = {} if observed is None else {"observedGeneration": max(0, observed - generation + 1)}
        conditions.append({**condition, **now})
    return {**status, "conditions": conditions}


def end_of_restore(snapshot: str, *, was_paused: bool) -> JsonObject:
    """The merge patch that ends the restore of an organization and lets the service work on it."""
    annotations: JsonObject = {RESTORING_ANNOTATION: None, RESTORED_ANNOTATION: snapshot}
    if not was_paused:
        annotations[PAUSED_ANNOTATION] = None
    return {"metadata": {"annotations": annotations}}


def difference(wanted: Wanted, found: Mapping[str, Any], ring: KeyRing | None) -> str | None:
    """The first place where `found` differs from `wanted`, apart from the status; None if there is none.

    Fields that the cluster added, such as defaults of a newer definition, are not differences.
    """
    metadata = found["metadata"]
    for part in ("labels", "annotations"):
        for key, value in (wanted.body["metadata"].get(part) or {}).items():
            if (metadata.get(part) or {}).get(key) != value:
                return f"metadata.{part}[{key}]"
    mine, theirs = dict(wanted.body["spec"]), dict(found.get("spec") or {})
    for sealed in sealed_texts(wanted.kind, wanted.namespace or "", wanted.name, mine):
        others = sealed_texts(wanted.kind, wanted.namespace or "", wanted.name, theirs)
        if others and others[0].text != sealed.text and _opens_alike(ring, sealed, others[0]):
            _put_sealed(wanted.kind, theirs, sealed.text)
    return _lacks(mine, theirs, "spec")


def status_difference(wanted: Wanted, found: Mapping[str, Any]) -> str | None:
    return _lacks(wanted.status or {}, found.get("status") or {}, "status")


def is_untouched(found: Mapping[str, Any]) -> bool:
    """Whether the status has only the definition's defaults."""
    status = found.get("status") or {}
    return all(not value or (key == "phase" and value == "Pending") for key, value in status.items())


def _put_sealed(kind: Kind, spec: JsonObject, text: str) -> None:
    if kind is RUN:
        spec["webhook"] = {**spec["webhook"], "sealedSecret": text}
    else:
        spec["sealedPassword"] = text


def _opens_alike(ring: KeyRing | None, one: SealedText, other: SealedText) -> bool:
    """Whether both are the same secret, possibly with another nonce or key."""
    if ring is None:
        return False
    try:
        return ring.open(one.text, owner=one.owner) == ring.open(other.text, owner=other.owner)
    except SealBroken:
        return False


def _lacks(mine: Any, theirs: Any, at: str) -> str | None:
    """The path of the first value of `mine` that `theirs` lacks."""
    if isinstance(mine, dict):
        if not isinstance(theirs, dict):
            return at
        for key, value in mine.items():
            if value is None and key not in theirs:
                continue  # the cluster drops optional nulls
            where = f"{at}.{key}"
            if key not in theirs:
                return where
            if (found := _lacks(value, theirs[key], where)) is not None:
                return found
        return None
    if isinstance(mine, list):
        if not isinstance(theirs, list) or len(mine) != len(theirs):
            return at
        for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            if (found := _lacks(one, other, f"{at}[{number}]")) is not None:
                return found
        return None
    return None if mine == theirs and isinstance(mine, bool) == isinstance(theirs, bool) else at
