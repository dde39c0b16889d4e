"""Printer columns, selectable fields and CEL rules of the custom resources, and the models of their schemas."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from ..resources.account import DashboardSessionSpec, DashboardSessionStatus, LocalAccountSpec, LocalAccountStatus
from ..resources.audit_entry import AuditEntrySpec
from ..resources.base import ORGANIZATION_LABEL, ConditionsField, KubeModel, StatusCondition
from ..resources.delivery import WebhookDeliverySpec, WebhookDeliveryStatus
from ..resources.event_names import ALL_EVENTS, EVENT_NAMES
from ..resources.idempotency_record import IdempotencyRecordSpec
from ..resources.kinds import (
    API_KEY,
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
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
from ..resources.legal_hold import LEGAL_HOLD_ANNOTATION
from ..resources.organization import (
    ApiKeySpec,
    ApiKeyStatus,
    MemberSpec,
    MemberStatus,
    OrganizationSpec,
    OrganizationStatus,
)
from ..resources.replay import DeliveryReplaySpec, DeliveryReplayStatus
from ..resources.run import RunPhase, RunSpec, RunStatus, TemplateRevisionSpec, Webhook
from ..resources.template import TemplateSpec, TemplateStatus


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column; `wide` ones only appear with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule for a path of the schema ("" is the object itself, "spec.webhook" a field)."""

    at: str
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class ResourceDescription:
    """Everything in a CRD besides its fields."""

    kind: Kind
    short_name: str
    singular: str
    description: str
    spec: type[BaseModel]
    status: type[BaseModel]
    columns: Sequence[Column]
    rules: Sequence[Rule] = ()
    selectable: Sequence[str] = ()
    spec_defaults: bool = False
    list_maps: Sequence[str] = field(default_factory=tuple)
    status_default: bool = False
    atomic: Sequence[str] = ()
    """Objects with atomic ownership: the API server does not track the owner of each answer, which saves a fifth of
    every write of a run."""


class NoStatus(KubeModel):
    """Status of a kind that only has conditions."""

    conditions: list[StatusCondition] = ConditionsField()


_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_HOLD = Column("Legal Hold", ".metadata.annotations." + LEGAL_HOLD_ANNOTATION.replace(".", r"\."), wide=True)
_ORG = Column("Organization", ".spec.organizationRef.name", wide=True)
_FINAL = ", ".join(f"'{phase.value}'" for phase in RunPhase if phase.is_final)
_SUBSCRIBED = ", ".join(f"'{name}'" for name in (ALL_EVENTS, *EVENT_NAMES))
_SAME_ORGANIZATION = Rule("spec.organizationRef", "self == oldSelf", "organizationRef is immutable")


def _unchanged(model: type[BaseModel], *, but: str) -> str:
    """Returns CEL: no field of `model` changes, except the value of `but`, which must neither appear nor disappear.

    Built from the model, so that fields added later are immutable too.
    """
    names = [info.alias or name for name, info in model.model_fields.items()]
    if but not in names:
        raise ValueError(f"{model.__name__} has no field {but!r}")
    there = [f"has(self.{name}) == has(oldSelf.{name})" for name in names]
    same = [f"(!has(self.{name}) || self.{name} == oldSelf.{name})" for name in names if name != but]
    unchanged = " && ".join([*there, *same])  # in this order: fields exist on both sides when compared
    # The rule also runs at every write of a status; comparing once costs a fifth of comparing each field.
    return f"self == oldSelf || ({unchanged})"


def _tdl_rules(at: str) -> list[Rule]:
    """Cross-field rules of TDL that CEL can express; `checklist_crds.templates.validation` checks all of them."""
    step = f"{at}.sections[].steps[]"
    return [
        Rule(at, "self.sections.map(s, size(s.steps)).sum() <= 500", "a template has at most 500 steps"),
        Rule(
            f"{at}.execution",
            "self.scope != 'member' || self.identity_required == 'member'",
            "scope member needs identity_required member",
        ),
        Rule(
            step,
            "!(self.type in ['choice', 'multi_choice']) || (has(self.config.options) && size(self.config.options) > 0)",
            "a choice or multi_choice step needs config.options",
        ),
        Rule(
            f"{step}.config",
            "!has(self.min) || !has(self.max) || self.min <= self.max",
            "config.min must not be greater than config.max",
        ),
        Rule(
            f"{step}.config",
            "!has(self.min_selected) || !has(self.max_selected) || self.min_selected <= self.max_selected",
            "config.min_selected must not be greater than config.max_selected",
        ),
    ]


def _tdl_list_maps(at: str) -> list[str]:
    return [f"{at}.sections", f"{at}.sections[].steps", f"{at}.sections[].steps[].config.options"]


RESOURCES: tuple[ResourceDescription, ...] = (
    ResourceDescription(
        kind=ORGANIZATION,
        short_name="clorg",
        singular="organization",
        description="Organization owns templates, runs, API keys and members; its plan limits the runs of a month.",
        spec=OrganizationSpec,
        status=OrganizationStatus,
        columns=[
            Column("Display Name", ".spec.displayName"),
            Column("Plan", ".spec.plan.name"),
            Column("Limit", ".spec.plan.runsPerMonth", "integer"),
            Column("Used", ".status.quota.used", "integer"),
            Column("Period", ".status.quota.period", wide=True),
            Column("Id", ".status.id", wide=True),
            Column("Namespace", ".spec.namespace", wide=True),
            _HOLD,
            _AGE,
        ],
        rules=[Rule("", "size(self.metadata.name) <= 63", "the name of an organization has at most 63 characters")],
        atomic=["status"],
    ),
    ResourceDescription(
        kind=MEMBER,
        short_name="clmem",
        singular="member",
        description="Member is a person of an organization.",
        spec=MemberSpec,
        status=MemberStatus,
        columns=[
            Column("Name", ".spec.name"),
            Column("Role", ".spec.role"),
            Column("Email", ".spec.email", wide=True),
            Column("Id", ".status.id", wide=True),
            _ORG,
            _AGE,
        ],
        rules=[_SAME_ORGANIZATION],
    ),
    ResourceDescription(
        kind=API_KEY,
        short_name="clkey",
        singular="apikey",
        description="ApiKey lets its bearer act for an organization; only the digest of the key is kept.",
        spec=ApiKeySpec,
        status=ApiKeyStatus,
        columns=[
            Column("Purpose", ".spec.name"),
            Column("Prefix", ".spec.prefix"),
            Column("Last Four", ".spec.lastFour"),
            Column("Revoked", ".spec.revoked", "boolean"),
            Column("Last Used", ".status.lastUsedAt", "date", wide=True),
            _ORG,
            _AGE,
        ],
        rules=[
            _SAME_ORGANIZATION,
            Rule("spec.sha256", "self == oldSelf", "sha256 is immutable"),
            Rule(
                "spec",
                "!(has(oldSelf.revoked) && oldSelf.revoked) || (has(self.revoked) && self.revoked)",
                "a revoked key stays revoked",
            ),
        ],
        selectable=[".spec.sha256"],
    ),
    ResourceDescription(
        kind=TEMPLATE,
        short_name="cltpl",
        singular="template",
        description="Template defines a checklist; its spec is the TDL document of the REST API.",
        spec=TemplateSpec,
        status=TemplateStatus,
        columns=[
            Column("Name", ".spec.name"),
            Column("Version", ".metadata.generation", "integer"),
            Column("Steps", ".status.stepCount", "integer"),
            Column("Valid", ".status.conditions[?(@.type=='Valid')].status"),
            Column("Id", ".status.id", wide=True),
            _ORG,
            _AGE,
        ],
        rules=[_SAME_ORGANIZATION, *_tdl_rules("spec")],
        spec_defaults=True,
        list_maps=_tdl_list_maps("spec"),
    ),
    ResourceDescription(
        kind=TEMPLATE_REVISION,
        short_name="cltrev",
        singular="templaterevision",
        description="TemplateRevision is the verbatim snapshot of one version of a template, shared by its runs.",
        spec=TemplateRevisionSpec,
        status=NoStatus,
        columns=[
            Column("Template", ".spec.templateId"),
            Column("Version", ".spec.version", "integer"),
            Column("Name", ".spec.definition.name"),
            _ORG,
            _AGE,
        ],
        rules=[Rule("spec", "self == oldSelf", "a revision is immutable")],
        selectable=[".spec.templateId", ".spec.version"],
        spec_defaults=True,
        list_maps=_tdl_list_maps("spec.definition"),
    ),
    ResourceDescription(
        kind=RUN,
        short_name="clrun",
        singular="run",
        description="Run is one dispatch of a template to one person.",
        spec=RunSpec,
        status=RunStatus,
        columns=[
            Column("Phase", ".status.phase"),
            Column("Answered", ".status.progress.answered", "integer"),
            Column("Total", ".status.progress.total", "integer"),
            Column("Flagged", ".status.flagged", "integer"),
            # In spec for runs created by the API, in status for runs admitted by an operator; never in both.
            Column("Template", "..resolved.templateName"),
            Column("Expires", "..expiresAt"),
            Column("Reference", ".spec.executorRef", wide=True),
            Column("Id", ".status.resolved.runId", wide=True),
            Column("Admitted", ".status.conditions[?(@.type=='Admitted')].reason", wide=True),
            Column("Settled", ".status.settled", "boolean", wide=True),
            _HOLD,
            Column("Organization", ".metadata.labels." + ORGANIZATION_LABEL.replace(".", r"\."), wide=True),
            _AGE,
        ],
        rules=[
            # One exception: a secret may be sealed again with a new key (`checklist-dispatch reseal`).
            Rule("spec", _unchanged(RunSpec, but="webhook"), "the spec of a run is immutable"),
            Rule("spec.webhook", _unchanged(Webhook, but="sealedSecret"), "the spec of a run is immutable"),
            Rule("spec", "has(self.templateId) != has(self.templateRef)", "give either templateId or templateRef"),
            Rule(
                "spec",
                "!(has(self.expiresAt) && has(self.expiresInHours))",
                "expiresAt and expiresInHours exclude each other",
            ),
            Rule(
                "spec.webhook",
                "has(self.sealedSecret) != has(self.secretRef)",
                "a webhook needs a secretRef (the API writes sealedSecret instead)",
            ),
            Rule(
                "spec.webhook",
                "size(self.events) == 1 || !('*' in self.events)",
                "events are names of events, or exactly ['*']",
            ),
            Rule(
                "spec.webhook",
                f"self.events.all(e, e in [{_SUBSCRIBED}])",
                f"events must be {', '.join(EVENT_NAMES)}, or ['*']",
            ),
            Rule(
                "status.phase",
                f"self == oldSelf || !(oldSelf in [{_FINAL}])",
                "a completed, cancelled or expired run never changes its phase",
            ),
        ],
        selectable=[".status.settled", ".status.phase", ".status.resolved.runId"],
        status_default=True,
        atomic=["spec", "status"],
    ),
    ResourceDescription(
        kind=WEBHOOK_DELIVERY,
        short_name="cldel",
        singular="webhookdelivery",
        description="WebhookDelivery is an event whose first attempt failed, with its retries.",
        spec=WebhookDeliverySpec,
        status=WebhookDeliveryStatus,
        columns=[
            Column("Event", ".spec.event"),
            Column("Phase", ".status.phase"),
            Column("Attempts", ".status.attempt", "integer"),
            Column("Outcome", ".status.attempts[-1:].outcome"),
            Column("Http", ".status.attempts[-1:].httpStatus", "integer"),
            Column("Next", ".status.nextAttemptAt"),
            Column("Replayed", ".status.lastReplay.attemptedAt", "date"),
            Column("Run", ".spec.runRef.name"),
            Column("Reason", ".status.conditions[?(@.type=='Delivered')].reason", wide=True),
            Column("Url", ".spec.url", wide=True),
            _ORG,
            _AGE,
        ],
        rules=[
            Rule("spec", "self == oldSelf", "the spec of a delivery is immutable"),
            Rule(
                "status",
                "!has(oldSelf.phase) || oldSelf.phase != 'Delivered' || self.phase == 'Delivered'",
                "a delivered event stays delivered",
            ),
        ],
        selectable=[".status.settled", ".status.phase", ".spec.runRef.name"],
        status_default=True,
        atomic=["spec", "status"],
    ),
    ResourceDescription(
        kind=DELIVERY_REPLAY,
        short_name="clrep",
        singular="deliveryreplay",
        description="DeliveryReplay sends the deliveries of an organization that match a filter again.",
        spec=DeliveryReplaySpec,
        status=DeliveryReplayStatus,
        columns=[
            Column("Phase", ".status.phase"),
            Column("Total", ".status.total", "integer"),
            Column("Done", ".status.done", "integer"),
            Column("Delivered", ".status.delivered", "integer"),
            Column("Failed", ".status.failed", "integer"),
            Column("Refused", ".status.refused", "integer"),
            Column("Dry Run", ".spec.dryRun", "boolean", wide=True),
            Column("By", ".spec.requestedBy", wide=True),
            _ORG,
            _AGE,
        ],
        rules=[
            Rule("spec", "self == oldSelf", "the spec of a replay is immutable; delete it and make another"),
            Rule(
                "spec.filter",
                "!has(self.phase) || self.phase in ['Failed', 'Delivered']",
                "only Failed and Delivered ones can be replayed",
            ),
            Rule("spec.filter", "!has(self.eventIds) || has(self.runRef)", "eventIds needs runRef"),
            Rule("spec.filter", "!has(self.runId) || has(self.runRef)", "runId needs runRef"),
            Rule(
                "status",
                "!has(oldSelf.phase) || !(oldSelf.phase in ['Completed', 'Refused']) || self.phase == oldSelf.phase",
                "a replay that ended never starts again",
            ),
        ],
        selectable=[".status.settled", ".status.phase"],
        status_default=True,
        atomic=["spec", "status"],
    ),
    ResourceDescription(
        kind=LOCAL_ACCOUNT,
        short_name="clacc",
        singular="localaccount",
        description="LocalAccount lets a person sign in to the dashboard without an identity provider.",
        spec=LocalAccountSpec,
        status=LocalAccountStatus,
        columns=[
            Column("Email", ".spec.email"),
            Column("Name", ".spec.name"),
            Column("Disabled", ".spec.disabled", "boolean"),
            Column("Last Sign-In", ".status.lastSignInAt", "date"),
            _AGE,
        ],
        rules=[Rule("spec.email", "self == oldSelf", "email is immutable")],
        selectable=[".spec.email"],
    ),
    ResourceDescription(
        kind=DASHBOARD_SESSION,
        short_name="clses",
        singular="dashboardsession",
        description="DashboardSession is a browser that is signed in to the dashboard; deleting it signs it out.",
        spec=DashboardSessionSpec,
        status=DashboardSessionStatus,
        columns=[
            Column("Email", ".spec.email"),
            Column("Method", ".spec.method"),
            Column("Expires", ".spec.expiresAt"),
            Column("Last Seen", ".status.lastSeenAt", "date"),
            Column("Client", ".spec.client", wide=True),
            _AGE,
        ],
        rules=[Rule("spec", "self == oldSelf", "the spec of a session is immutable")],
        selectable=[".spec.email"],
    ),
    ResourceDescription(
        kind=AUDIT_ENTRY,
        short_name="claud",
        singular="auditentry",
        description="AuditEntry records who changed keys, members, templates, replays and runs, and when.",
        spec=AuditEntrySpec,
        status=NoStatus,
        columns=[
            Column("At", ".spec.at"),
            Column("Actor", ".spec.actor.name"),
            Column("Action", ".spec.action"),
            Column("Target", ".spec.target.name"),
            Column("Outcome", ".spec.outcome"),
            Column("Target Id", ".spec.target.id", wide=True),
            _ORG,
            _AGE,
        ],
        rules=[Rule("spec", "self == oldSelf", "an audit entry is immutable")],
        atomic=["spec"],
    ),
    ResourceDescription(
        kind=IDEMPOTENCY_RECORD,
        short_name="clidem",
        singular="idempotencyrecord",
        description="IdempotencyRecord records a used Idempotency-Key; it outlives the object created with it.",
        spec=IdempotencyRecordSpec,
        status=NoStatus,
        columns=[Column("Expires", ".spec.expiresAt"), _ORG, _AGE],
        rules=[Rule("spec", "self == oldSelf", "the record of a key is immutable")],
        atomic=["spec"],
    ),
)
