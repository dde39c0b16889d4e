"""Templates: condition Valid, public id, version, number of steps, and a TemplateRevision of each version.

Valid covers what CEL cannot check, and whether the organization exists and is served. A template made or enlarged with
kubectl is admitted first, like in the API: room is reserved within the organization's limits, and the counted size is
written to an annotation. Over a limit, Admitted is False, the template cannot be dispatched, its version is not kept,
and it is retried later. Templates that an earlier release validated count without a check.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from checklist_crds.errors import LimitReached, Problem
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeInvalid, KubeNotFound
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.limits.organization_limits import LimitName, limit_reached
from checklist_crds.resources.base import ConditionStatus, StatusCondition, with_condition
from checklist_crds.resources.kinds import TEMPLATE, TEMPLATE_REVISION, Key, key_of
from checklist_crds.resources.pause import is_paused, shows_pause, with_pause
from checklist_crds.resources.template import ADMITTED, TemplateMeta, TemplateStatus, definition_of
from checklist_crds.runs.snapshot import revision_of
from checklist_crds.templates.validation import definition_problems
from checklist_crds.times import Clock
from checklist_crds.values import merge_patch
from checklist_crds.values.json_text import JsonObject
from checklist_operator.controllers.labels import labelled, lacks_label
from checklist_operator.controllers.template_admission import TemplateAdmission
from checklist_operator.controllers.tenancy import Refusal, Tenancy
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference, record_pause
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_MESSAGE_ROOM: Final = 1900
_RETRY_S: Final = 30.0

TemplateChanged = Callable[[Key, str], None]
"""Called with key and public id of a template that is new, deleted, paused or resumed, or has a new version."""


class Templates:
    """Reconciles every template and maps public ids to names."""

    def __init__(
        self,
        client: KubeClient,
        tenancy: Tenancy,
        *,
        limits: LimitLedger,
        kube_events: EventRecorder,
        clock: Clock,
        on_change: TemplateChanged,
        on_bug: Callable[[str], None],
    ) -> None:
        self._client = client
        self._tenancy = tenancy
        self._limits = limits
        self._admission = TemplateAdmission(client, limits)
        self._kube_events = kube_events
        self._clock = clock
        self._on_change = on_change
        self._known: dict[Key, tuple[str, int, bool]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._refused: dict[Key, str] = {}
        """Templates over a limit, with the names of their organizations."""
        self._of_organization: defaultdict[str, set[Key]] = defaultdict(set)
        self.queue: WorkQueue[Key] = WorkQueue("templates", self._reconcile, workers=4, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        meta = TemplateMeta.of(body)
        if type_ == "DELETED":
            self._known.pop(key, None)
            self._names.pop((key[0], meta.id), None)
            self._refused.pop(key, None)
            self._admission.forget(key)
            self._of_organization[meta.organization].discard(key)
            self.queue.forget(key)
            self._on_change(key, meta.id)
            self.room_changed(meta.organization)
            return
        self._names[key[0], meta.id] = key[1]
        self._of_organization[meta.organization].add(key)
        known = self._known.get(key)
        now = meta.id, meta.version, is_paused(body["metadata"])
        if known != now:
            self._known[key] = now
            self._on_change(key, meta.id)
        # Every template is validated once after a start: the rules may be newer than its condition.
        if known is None or _is_outdated(body) or self._admission.is_due(key, body):
            self.queue.add(key)

    def room_changed(self, organization: str) -> None:
        """Retries refused templates after a limit changed or counted objects were deleted."""
        for key, owner in self._refused.items():
            if owner == organization:
                self.queue.add(key)

    def organization_changed(self, name: str) -> None:
        """Validates the organization's templates again."""
        for key in self._of_organization.get(name, ()):
            self.queue.add(key)

    def name_of(self, namespace: str, template_id: str) -> str | None:
        """Returns metadata.name of the template with this public id, if the watch has shown it."""
        return self._names.get((namespace, template_id))

    async def _reconcile(self, key: Key) -> float | None:
        try:
            body = await self._client.get(TEMPLATE, key[1], key[0])
            body = await labelled(self._client, TEMPLATE, body, TemplateMeta.of(body).organization)
            refusal = await self._tenancy.template_refusal(TemplateMeta.of(body).organization, key[0])
            try:
                body = await self._admission.admit(key, body)
                await self._keep_version(key, body)
            except LimitReached as error:
                self._refused[key] = TemplateMeta.of(body).organization
                await self._write_status(key, body, refusal, over=error)
                return _RETRY_S
            self._refused.pop(key, None)
            await self._write_status(key, body, refusal)
        except KubeNotFound:
            return None
        except KubeConflict:
            return 0.05
        return None

    async def _keep_version(self, key: Key, body: JsonObject) -> None:
        """Keeps the version as a revision, since kubectl keeps none.

        Call it before writing `status.version`. Two quick changes may be seen as one; the API itself keeps the
        versions that it replaces.
        """
        meta = TemplateMeta.of(body)
        if not meta.organization or (body.get("status") or {}).get("version") == meta.version:
            return
        await self._require_room_for_version(meta)
        try:
            await self._client.create(TEMPLATE_REVISION, revision_of(body, seen_at=self._clock()), key[0])
        except KubeAlreadyExists:
            return
        except KubeInvalid as error:
            logger.warning(
                "template.version_not_kept",
                extra=about(template_id=meta.id, version=meta.version, reason=error.message),
            )

    async def _require_room_for_version(self, meta: TemplateMeta) -> None:
        """Raises LimitReached when the template has the maximum number of revisions."""
        kept, selector = 0, f"spec.templateId={meta.id}"
        pages = self._client.pages(TEMPLATE_REVISION, meta.namespace, field_selector=selector, metadata_only=True)
        async for page, _ in pages:
            kept += len(page)
        limit = (await self._limits.limits_of(meta.organization)).versions
        # The count includes the current version, the limit does not.
        if kept > limit:
            raise limit_reached(LimitName.VERSIONS, limit=limit, used=kept)

    async def _write_status(
        self, key: Key, body: JsonObject, refusal: Refusal | None, *, over: LimitReached | None = None
    ) -> None:
        before = TemplateStatus.model_validate(body.get("status") or {})
        definition = definition_of(body["spec"])
        problems = definition_problems(definition)
        if problems:
            refusal = Refusal("Invalid", problems_text(problems))
        meta = TemplateMeta.of(body)
        after = before.model_copy(
            update={
                "id": meta.id,
                # Shows whether the version was kept: a refused one is not.
                "version": meta.version if over is None else before.version,
                "step_count": _count_steps(definition),
                "conditions": with_condition(
                    self._with_admission(
                        with_pause(before.conditions, body["metadata"], now=self._clock()), body, over
                    ),
                    "Valid",
                    refusal is None,
                    "Valid" if refusal is None else refusal.reason,
                    "The template can be dispatched." if refusal is None else refusal.message,
                    now=self._clock(),
                    generation=body["metadata"]["generation"],
                ),
            }
        )
        patch = merge_patch.diff(before.to_kube(), after.to_kube())
        if patch:
            version = body["metadata"]["resourceVersion"]
            await self._client.patch_status(TEMPLATE, key[1], patch, key[0], resource_version=version)
            self._record_events(body, before, after)
            logger.info(
                "template.judged", extra=about(template_id=meta.id, version=meta.version, problems=len(problems))
            )

    def _with_admission(
        self, conditions: list[StatusCondition], body: JsonObject, over: LimitReached | None
    ) -> list[StatusCondition]:
        """Sets the condition Admitted if the template is refused or was refused before."""
        if over is None and not any(one.type == ADMITTED for one in conditions):
            return conditions
        return with_condition(
            conditions,
            ADMITTED,
            over is None,
            "Admitted" if over is None else "LimitReached",
            "The template is within the limits of its organization." if over is None else over.message,
            now=self._clock(),
            generation=body["metadata"]["generation"],
        )

    def _record_events(self, body: JsonObject, before: TemplateStatus, after: TemplateStatus) -> None:
        """Records an Event for each changed condition, except for a new template that is valid."""
        this, was, verdict = ObjectReference.of(TEMPLATE, body), _verdict(before), _verdict(after)
        refused = _verdict(after, ADMITTED)
        if refused is not None and refused[0] is ConditionStatus.FALSE and refused != _verdict(before, ADMITTED):
            self._kube_events.warn(this, "LimitReached", refused[1])
        if not shows_pause(body):
            record_pause(self._kube_events, this, body["metadata"])
        if verdict is None or verdict == was:
            return
        status, reason, message = verdict
        if status is ConditionStatus.FALSE:
            self._kube_events.warn(this, reason, message)
        elif was is not None:
            self._kube_events.record(this, reason, message)


def _verdict(status: TemplateStatus, condition: str = "Valid") -> tuple[ConditionStatus, str, str] | None:
    return next(((one.status, one.reason, one.message) for one in status.conditions if one.type == condition), None)


def problems_text(problems: list[Problem]) -> str:
    """Joins the problems and their paths, as many as fit into a condition."""
    text = ""
    for number, problem in enumerate(problems):
        line = f"{problem.path}: {problem.message}" if problem.path else problem.message
        if len(text) + len(line) > _MESSAGE_ROOM:
            return f"{text} And {len(problems) - number} more."
        text = f"{text} {line}" if text else line
    return text


def _is_outdated(body: JsonObject) -> bool:
    status = body.get("status") or {}
    generation = body["metadata"]["generation"]
    judged = any(
        condition["type"] == "Valid" and condition.get("observedGeneration") == generation
        for condition in status.get("conditions") or ()
    )
    meta = TemplateMeta.of(body)
    is_current = judged and shows_pause(body)
    return not is_current or status.get("version") != meta.version or lacks_label(body, meta.organization)


def _count_steps(definition: Mapping[str, Any]) -> int:
    return sum(len(section.get("steps") or ()) for section in definition.get("sections") or ())
