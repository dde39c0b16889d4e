"""The body of POST /v1/runs, read and judged whole: all that is wrong is told at once (contract sections 5, 7, 10)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from checklist_crds.errors import Problem, ValidationFailed
from checklist_crds.events import event_name_problem
from checklist_crds.ids import is_id
from checklist_crds.json_types import text_fault
from checklist_crds.webhook_url import InvalidTarget, Openness, canonical_url

from ..http.request_body import missing_fields

MAX_EXPIRY_HOURS: Final = 8760
MAX_EXECUTOR_REF: Final = 200
SECRET_LENGTHS: Final = (16, 256)
_WEBHOOK_MEMBERS: Final = ("url", "secret", "events")

# A caller has few receivers and many runs.
_canonical_url: Final = lru_cache(maxsize=1024)(canonical_url)


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """Where events go; the url in canonical form, the secret in the clear (so it never shows in a repr)."""

    url: str
    secret: str = field(repr=False)
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DispatchRequest:
    """A dispatch that is well-formed; whether it is possible is another question."""

    template_id: str
    webhook: WebhookRequest | None
    expires_in_hours: float | None
    executor_ref: str | None

    @classmethod
    def read(cls, body: Mapping[str, Any], *, allow_insecure: Openness) -> "DispatchRequest":
        """Raises MissingField, ValidationFailed. An optional member that is null counts as left out."""
        webhook = body.get("webhook")
        missing = [] if "template_id" in body else ["template_id"]
        if isinstance(webhook, dict):
            missing += [f"webhook.{name}" for name in _WEBHOOK_MEMBERS if name not in webhook]
        if missing:
            raise missing_fields(missing)

        problems: list[Problem] = []
        template_id, hours, reference = body["template_id"], body.get("expires_in_hours"), body.get("executor_ref")
        if not is_id("t", template_id):
            problems.append(Problem("template_id", "pattern", "must be a template id: t- and a lower-case UUID"))
        if hours is not None:
            problems += _hours_problems(hours)
        if reference is not None:
            problems += _text_problems("executor_ref", reference, 0, MAX_EXECUTOR_REF)
        read_webhook = None
        if webhook is not None:
            read_webhook = _read_webhook(webhook, problems, allow_insecure=allow_insecure)
        if problems:
            raise ValidationFailed("The dispatch is not valid.", details=problems)
        return cls(template_id, read_webhook, hours, reference)


def _hours_problems(hours: object) -> list[Problem]:
    if isinstance(hours, bool) or not isinstance(hours, int | float):
        return [Problem("expires_in_hours", "wrong_type", "must be a number")]
    if not 0 < hours <= MAX_EXPIRY_HOURS:
        return [Problem("expires_in_hours", "out_of_range", f"must be more than 0 and at most {MAX_EXPIRY_HOURS}")]
    return []


def _text_problems(path: str, text: object, shortest: int, longest: int) -> list[Problem]:
    if not isinstance(text, str):
        return [Problem(path, "wrong_type", "must be a string")]
    if len(text) > longest:
        return [Problem(path, "too_long", f"must have at most {longest} characters")]
    if len(text) < shortest:
        return [Problem(path, "too_short", f"must have at least {shortest} characters")]
    fault = text_fault(text)
    return [Problem(path, "invalid_text", fault)] if fault else []


def _read_webhook(webhook: object, problems: list[Problem], *, allow_insecure: Openness) -> WebhookRequest | None:
    """The webhook, or None with its problems added to `problems`. No message repeats url or secret."""
    if not isinstance(webhook, dict):
        problems.append(Problem("webhook", "wrong_type", "must be an object"))
        return None
    found = _text_problems("webhook.secret", webhook["secret"], *SECRET_LENGTHS)
    url = ""
    if not isinstance(webhook["url"], str):
        found.append(Problem("webhook.url", "wrong_type", "must be a string"))
    else:
        try:
            url = _canonical_url(webhook["url"], allow_insecure=allow_insecure)
        except InvalidTarget as error:
            found.append(Problem("webhook.url", error.code, error.message))
    events_problem = event_name_problem(webhook["events"])
    if events_problem is not None:
        found.append(Problem("webhook.events", "invalid_events", events_problem))
    problems += found
    if found:
        return None
    return WebhookRequest(url, webhook["secret"], tuple(webhook["events"]))
