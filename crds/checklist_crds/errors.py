"""All errors that the service returns to callers.

Each class has its HTTP status and, if it has a message of its own, an error code: its name in snake case. No other
place maps them. All of them: specification, "Errors"; docs/design/contract.md, section 7.
"""

import re
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

    def __init_subclass__(cls) -> None:
        if "default_message" in vars(cls):
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

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
    default_message = "The body is not a JSON object in UTF-8."


class MissingField(BadRequest):
    default_message = "A required field is missing."


class InvalidParameter(BadRequest):
    default_message = "A query parameter or header is not valid."


class Unauthorized(ServiceError):
    status = 401
    default_message = "The API key is missing or not valid."


class SignInRequired(Unauthorized):
    default_message = "Your session has ended. Sign in again."


class SignInFailed(Unauthorized):
    default_message = "The e-mail address or the password is wrong."


class LinkNotValid(Unauthorized):
    default_message = "This sign-in link was used already, has expired, or was replaced by a newer one."


class Forbidden(ServiceError):
    status = 403
    default_message = "Your role does not allow this."


class RequestForged(Forbidden):
    default_message = "The request does not come from the dashboard's own page. Reload the page and try again."


class AssignedToAnother(Forbidden):
    default_message = "Another member of the organization answers this checklist."


class QuotaExceeded(ServiceError):
    status = 402
    default_message = "The organization has used all runs of its plan for this month."


class NotFound(ServiceError):
    status = 404
    default_message = "There is nothing at this address."


class TemplateNotFound(NotFound):
    default_message = "There is no such template in this organization."


class TemplateVersionNotFound(NotFound):
    default_message = "This version of the template does not exist or is no longer kept."


class RunNotFound(NotFound):
    default_message = "There is no such run in this organization."


class DeliveryNotFound(NotFound):
    default_message = "There is no such delivery in this organization."


class ReplayNotFound(NotFound):
    default_message = "There is no such replay in this organization."


class ApiKeyNotFound(NotFound):
    default_message = "There is no such API key in this organization."


class MemberNotFound(NotFound):
    default_message = "There is no such member in this organization."


class MethodNotAllowed(ServiceError):
    status = 405
    default_message = "Method not allowed."


class Conflict(ServiceError):
    status = 409


class RunClosed(Conflict):
    default_message = "The run is completed or cancelled; it takes no more changes."


class RunNotCompleted(Conflict):
    default_message = "The run is not completed yet; its receipt exists after the submit."


class RunNotAdmitted(Conflict):
    default_message = "The run is not admitted yet."


class ReplayRefused(Conflict):
    default_message = "The delivery cannot be replayed now."


class PayloadNotKept(Conflict):
    default_message = "The event was delivered, and its payload was not kept."


class TemplateManaged(Conflict):
    default_message = "The template is managed elsewhere; change it there."


class MemberManaged(Conflict):
    default_message = "The member is managed elsewhere; change it there."


class MemberExists(Conflict):
    default_message = "The organization already has a member with this e-mail address."


class LimitReached(Conflict):
    """`details`: `{limit, used, what}`."""

    default_message = "The organization has reached a limit."


class LastAdmin(Conflict):
    default_message = "This is the organization's last admin. Make another member an admin first."


class IdempotencyInProgress(Conflict):
    default_message = "The first request with this Idempotency-Key is still running."


class Gone(ServiceError):
    status = 410


class RunExpired(Gone):
    default_message = "The run has expired."


class ResourceDeleted(Gone):
    default_message = "The object created with this Idempotency-Key was deleted. Use a new key to create another."


class VersionConflict(ServiceError):
    status = 412
    default_message = "The template's version does not match If-Match."


class PayloadTooLarge(ServiceError):
    status = 413
    default_message = "The body is larger than allowed."


class UnsupportedMediaType(ServiceError):
    status = 415
    default_message = "The body must be sent as application/json."


class ExpectationFailed(ServiceError):
    status = 417
    default_message = "The only supported Expect header is 100-continue."


class Unprocessable(ServiceError):
    status = 422


class ValidationFailed(Unprocessable):
    default_message = "The body does not match the schema."


class AnswerInvalid(Unprocessable):
    default_message = "The answer is not valid for its step."


class RequiredStepsMissing(Unprocessable):
    default_message = "Required steps have no answer yet."


class TemplateNotRunnable(Unprocessable):
    default_message = "The template cannot be dispatched: it has no steps or is not valid."


class IdempotencyKeyReused(Unprocessable):
    default_message = "This Idempotency-Key was used with another request."


class GenerationFailed(Unprocessable):
    default_message = "No template could be made from this prompt."


class RateLimited(ServiceError):
    status = 429
    default_message = "Too many requests."

    def __init__(self, retry_after_s: float, message: str | None = None) -> None:
        super().__init__(message, headers={"Retry-After": str(max(1, -int(-retry_after_s // 1)))})


class InternalError(ServiceError):
    pass


class ModelFailed(ServiceError):
    status = 502
    default_message = "The language model returned no valid template. Try again."


class ServiceUnavailable(ServiceError):
    status = 503
    default_message = "The service is temporarily unavailable. Try again."

    def __init__(
        self, message: str | None = None, *, retry_after_s: int = 2, details: Sequence[Problem] | None = None
    ) -> None:
        super().__init__(message, details=details, headers={"Retry-After": str(retry_after_s)})
