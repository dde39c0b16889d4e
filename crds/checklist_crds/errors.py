"""All errors that the service returns to callers.

Each class has its HTTP status and error code, so no other place maps them (specification, "Errors"; contract
section 7)::

    ServiceError
    ├── BadRequest (400)
    │   ├── MalformedJson         malformed_json
    │   ├── MissingField          missing_field
    │   └── InvalidParameter      invalid_parameter
    ├── Unauthorized (401)        unauthorized
    │   ├── SignInRequired        sign_in_required
    │   ├── SignInFailed          sign_in_failed
    │   └── LinkNotValid          link_not_valid
    ├── QuotaExceeded (402)       quota_exceeded
    ├── Forbidden (403)           forbidden
    │   ├── RequestForged         request_forged
    │   └── AssignedToAnother     assigned_to_another
    ├── NotFound (404)            not_found
    │   ├── TemplateNotFound      template_not_found
    │   ├── TemplateVersionNotFound template_version_not_found
    │   ├── RunNotFound           run_not_found
    │   ├── DeliveryNotFound      delivery_not_found
    │   ├── ReplayNotFound        replay_not_found
    │   ├── ApiKeyNotFound        api_key_not_found
    │   └── MemberNotFound        member_not_found
    ├── MethodNotAllowed (405)    method_not_allowed
    ├── Conflict (409)
    │   ├── RunClosed             run_closed
    │   ├── RunNotAdmitted        run_not_admitted
    │   ├── ReplayRefused         replay_refused
    │   ├── PayloadNotKept        payload_not_kept
    │   ├── TemplateManaged       template_managed
    │   ├── MemberManaged         member_managed
    │   ├── MemberExists          member_exists
    │   ├── LimitReached          limit_reached
    │   ├── LastAdmin             last_admin
    │   └── IdempotencyInProgress idempotency_in_progress
    ├── Gone (410)
    │   ├── RunExpired            run_expired
    │   └── ResourceDeleted       resource_deleted
    ├── VersionConflict (412)     version_conflict
    ├── PayloadTooLarge (413)     payload_too_large
    ├── UnsupportedMediaType(415) unsupported_media_type
    ├── ExpectationFailed (417)   expectation_failed
    ├── Unprocessable (422)
    │   ├── ValidationFailed      validation_failed
    │   ├── AnswerInvalid         answer_invalid
    │   ├── RequiredStepsMissing  required_steps_missing
    │   ├── TemplateNotRunnable   template_not_runnable
    │   ├── IdempotencyKeyReused  idempotency_key_reused
    │   └── GenerationFailed      generation_failed
    ├── RateLimited (429)         rate_limited
    ├── InternalError (500)       internal_error
    ├── ModelFailed (502)         model_failed
    └── ServiceUnavailable (503)  service_unavailable
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a request: path (`sections[0].steps[1].id`), code and message."""

    path: str
    code: str
    message: str

    def as_dict(self) -> dict[str, str]:
        return {"path": self.path, "code": self.code, "message": self.message}


class ServiceError(Exception):
    """Base of all errors. `details` is a list of problems, or one object (402)."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    default_message: ClassVar[str] = "Internal error. Give the request id when you report it."

    def __init__(
        self,
        message: str | None = None,
        *,
        details: Sequence[Problem] | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message or self.default_message
        self.details = details
        self.headers = dict(headers or {})
        super().__init__(self.message)

    def as_body(self) -> dict[str, Any]:
        """Returns the JSON error body without the request id."""
        body: dict[str, Any] = {"error": self.code, "message": self.message}
        if isinstance(self.details, Mapping):
            body["details"] = dict(self.details)
        elif self.details:
            body["details"] = [problem.as_dict() for problem in self.details]
        return body


class BadRequest(ServiceError):
    status = 400


class MalformedJson(BadRequest):
    code = "malformed_json"
    default_message = "The body is not a JSON object in UTF-8."


class MissingField(BadRequest):
    code = "missing_field"
    default_message = "A required field is missing."


class InvalidParameter(BadRequest):
    code = "invalid_parameter"
    default_message = "A query parameter or header is not valid."


class Unauthorized(ServiceError):
    status = 401
    code = "unauthorized"
    default_message = "The API key is missing or not valid."


class SignInRequired(Unauthorized):
    code = "sign_in_required"
    default_message = "Your session has ended. Sign in again."


class SignInFailed(Unauthorized):
    code = "sign_in_failed"
    default_message = "The e-mail address or the password is wrong."


class LinkNotValid(Unauthorized):
    code = "link_not_valid"
    default_message = "This sign-in link was used already, has expired, or was replaced by a newer one."


class Forbidden(ServiceError):
    status = 403
    code = "forbidden"
    default_message = "Your role does not allow this."


class RequestForged(Forbidden):
    code = "request_forged"
    default_message = "The request does not come from the dashboard's own page. Reload the page and try again."


class AssignedToAnother(Forbidden):
    code = "assigned_to_another"
    default_message = "Another member of the organization answers this checklist."


class QuotaExceeded(ServiceError):
    status = 402
    code = "quota_exceeded"
    default_message = "The organization has used all runs of its plan for this month."


class NotFound(ServiceError):
    status = 404
    code = "not_found"
    default_message = "There is nothing at this address."


class TemplateNotFound(NotFound):
    code = "template_not_found"
    default_message = "There is no such template in this organization."


class TemplateVersionNotFound(NotFound):
    code = "template_version_not_found"
    default_message = "This version of the template does not exist or is no longer kept."


class RunNotFound(NotFound):
    code = "run_not_found"
    default_message = "There is no such run in this organization."


class DeliveryNotFound(NotFound):
    code = "delivery_not_found"
    default_message = "There is no such delivery in this organization."


class ReplayNotFound(NotFound):
    code = "replay_not_found"
    default_message = "There is no such replay in this organization."


class ApiKeyNotFound(NotFound):
    code = "api_key_not_found"
    default_message = "There is no such API key in this organization."


class MemberNotFound(NotFound):
    code = "member_not_found"
    default_message = "There is no such member in this organization."


class MethodNotAllowed(ServiceError):
    status = 405
    code = "method_not_allowed"
    default_message = "Method not allowed."


class Conflict(ServiceError):
    status = 409


class RunClosed(Conflict):
    code = "run_closed"
    default_message = "The run is completed or cancelled; it takes no more changes."


class RunNotAdmitted(Conflict):
    code = "run_not_admitted"
    default_message = "The run is not admitted yet."


class ReplayRefused(Conflict):
    code = "replay_refused"
    default_message = "The delivery cannot be replayed now."


class PayloadNotKept(Conflict):
    code = "payload_not_kept"
    default_message = "The event was delivered, and its payload was not kept."


class TemplateManaged(Conflict):
    code = "template_managed"
    default_message = "The template is managed elsewhere; change it there."


class MemberManaged(Conflict):
    code = "member_managed"
    default_message = "The member is managed elsewhere; change it there."


class MemberExists(Conflict):
    code = "member_exists"
    default_message = "The organization already has a member with this e-mail address."


class LimitReached(Conflict):
    """`details`: `{limit, used, what}`."""

    code = "limit_reached"
    default_message = "The organization has reached a limit."


class LastAdmin(Conflict):
    code = "last_admin"
    default_message = "This is the organization's last admin. Make another member an admin first."


class IdempotencyInProgress(Conflict):
    code = "idempotency_in_progress"
    default_message = "The first request with this Idempotency-Key is still running."


class Gone(ServiceError):
    status = 410


class RunExpired(Gone):
    code = "run_expired"
    default_message = "The run has expired."


class ResourceDeleted(Gone):
    code = "resource_deleted"
    default_message = "The object created with this Idempotency-Key was deleted. Use a new key to create another."


class VersionConflict(ServiceError):
    status = 412
    code = "version_conflict"
    default_message = "The template's version does not match If-Match."


class PayloadTooLarge(ServiceError):
    status = 413
    code = "payload_too_large"
    default_message = "The body is larger than allowed."


class UnsupportedMediaType(ServiceError):
    status = 415
    code = "unsupported_media_type"
    default_message = "The body must be sent as application/json."


class ExpectationFailed(ServiceError):
    status = 417
    code = "expectation_failed"
    default_message = "The only supported Expect header is 100-continue."


class Unprocessable(ServiceError):
    status = 422


class ValidationFailed(Unprocessable):
    code = "validation_failed"
    default_message = "The body does not match the schema."


class AnswerInvalid(Unprocessable):
    code = "answer_invalid"
    default_message = "The answer is not valid for its step."


class RequiredStepsMissing(Unprocessable):
    code = "required_steps_missing"
    default_message = "Required steps have no answer yet."


class TemplateNotRunnable(Unprocessable):
    code = "template_not_runnable"
    default_message = "The template cannot be dispatched: it has no steps or is not valid."


class IdempotencyKeyReused(Unprocessable):
    code = "idempotency_key_reused"
    default_message = "This Idempotency-Key was used with another request."


class GenerationFailed(Unprocessable):
    code = "generation_failed"
    default_message = "No template could be made from this prompt."


class RateLimited(ServiceError):
    status = 429
    code = "rate_limited"
    default_message = "Too many requests."

    def __init__(self, retry_after_s: float, message: str | None = None) -> None:
        super().__init__(message, headers={"Retry-After": str(max(1, -int(-retry_after_s // 1)))})


class InternalError(ServiceError):
    pass


class ModelFailed(ServiceError):
    status = 502
    code = "model_failed"
    default_message = "The language model returned no valid template. Try again."


class ServiceUnavailable(ServiceError):
    status = 503
    code = "service_unavailable"
    default_message = "The service is temporarily unavailable. Try again."

    def __init__(
        self, message: str | None = None, *, retry_after_s: int = 2, details: Sequence[Problem] | None = None
    ) -> None:
        super().__init__(message, details=details, headers={"Retry-After": str(retry_after_s)})
