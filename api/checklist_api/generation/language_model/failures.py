"""Failures of a language model."""

from enum import StrEnum


class Reason(StrEnum):
    """Value in `X-Generated-By` and in metrics; reveals nothing about the model's server."""

    TIMEOUT = "model_timeout"
    """Deadline exceeded."""
    UNREACHABLE = "model_unreachable"
    """Connection failed or broken."""
    UNAUTHORIZED = "model_unauthorized"
    """The server rejects the key."""
    RATE_LIMITED = "model_rate_limited"
    """The server is rate limiting."""
    ERROR = "model_error"
    """The server returned an error or no chat completion."""
    TOO_LARGE = "model_too_large"
    """The response exceeds the size limit."""
    REFUSED = "model_refused"
    """The model refused the request."""
    NONSENSE = "model_nonsense"
    """No valid template after two corrections."""
    INCOMPLETE = "model_incomplete"
    """Too many items of the prompt are missing after two corrections."""
    LIMIT = "model_limit"
    """The organization's limit of requests or tokens is reached."""
    BUDGET = "model_budget"
    """The daily budget of all organizations is spent."""
    BUSY = "model_busy"
    """Too many concurrent prompts."""


class ModelFailure(Exception):
    """The model gave no template. `explanation` is logged and contains no text of the model or caller."""

    def __init__(
        self, reason: Reason, explanation: str = "", *, retry_after_s: float | None = None, free: bool = False
    ) -> None:
        self.reason = reason
        self.explanation = explanation
        self.retry_after_s = retry_after_s
        self.free = free
        """Whether the call produced no billable tokens."""
        super().__init__(f"{reason.value}: {explanation}" if explanation else reason.value)
