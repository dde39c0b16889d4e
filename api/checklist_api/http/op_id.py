"""The `op_id` of an executor's write: an idempotency key chosen by the client (contract section 6)."""

from typing import Final

from checklist_crds.errors import Problem, ValidationFailed
from checklist_crds.values.json_types import json_type_name, text_fault

MAX_OP_ID: Final = 128


def op_id_problem(op_id: object) -> Problem | None:
    """Validate an op_id: text of 1 to 128 characters."""
    if not isinstance(op_id, str):
        return Problem("op_id", "wrong_type", f"Must be a string, not {json_type_name(op_id)}.")
    if not 1 <= len(op_id) <= MAX_OP_ID:
        return Problem("op_id", "out_of_range", f"Must have 1 to {MAX_OP_ID} characters, not {len(op_id)}.")
    fault = text_fault(op_id)
    return Problem("op_id", "invalid_text", f"It {fault}.") if fault else None


def ambiguity(written: object, given: str | None) -> Problem | None:
    """Validate the op_id of a body (None: absent) against `given`, that of the query or header."""
    if written is None:
        return None
    if problem := op_id_problem(written):
        return problem
    if given is not None and written != given:
        return Problem("op_id", "ambiguous", "op_id differs between body and query or header.")
    return None


def only_op_id(written: str | None, given: str | None) -> str | None:
    """Return the op_id of a body without other fields. Raises ValidationFailed."""
    if problem := ambiguity(written, given):
        raise ValidationFailed(details=[problem])
    return given if written is None else written
