"""Reasons why a language model gave no template."""

from enum import StrEnum


class Reason(StrEnum):
    """As callers are told in `X-Generated-By`, and metrics in a label: it says nothing about where the model is."""

    TIMEOUT = "model_timeout"
    """Not done within the time for all of it."""
    UNREACHABLE = "model_unreachable"
    """No connection, or one that broke."""
    UNAUTHORIZED = "model_unauthorized"
    """The model's server does not take our key."""
    RATE_LIMITED = "model_rate_limited"
    """The model's server takes no more requests for now."""
    ERROR = "model_error"
    """The model's server answered with an error, or with what is no chat completion."""
    TOO_LARGE = "model_too_large"
    """The answer has more bytes than any template needs."""
    REFUSED = "model_refused"
    """The model does not want to."""
    NONSENSE = "model_nonsense"
    """What the model wrote is no valid template, also after it was told twice what is wrong."""
    INCOMPLETE = "model_incomplete"
    """Too much of what the prompt asks for is missing in the template, also after the model was told twice."""
    LIMIT = "model_limit"
    """The organization has had its share of requests or tokens."""
    BUDGET = "model_budget"
    """What all organizations together may cost a day is spent."""
    BUSY = "model_busy"
    """Too many prompts are with the model now."""


class ModelFailure(Exception):
    """The model gave no template. `explanation` is for the log: it holds nothing that model or caller wrote."""

    def __init__(
        self, reason: Reason, explanation: str = "", *, retry_after_s: float | None = None, free: bool = False
    ) -> None:
        self.reason = reason
        self.explanation = explanation
        self.retry_after_s = retry_after_s
        self.free = free
        """Whether nothing was written that somebody could charge for."""
        super().__init__(f"{reason.value}: {explanation}" if explanation else reason.value)
