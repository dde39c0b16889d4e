"""What a caller asks for at `POST /v1/templates/generate`."""

from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from checklist_composer.locales import LOCALES
from checklist_crds.errors import Problem, ValidationFailed

from ..http.pagination import one_of
from ..http.request_body import require_members

PROMPT_LENGTHS: Final = (4, 4_000)


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """`locale`: the language of the template where the prompt does not tell it better."""

    prompt: str
    """Without the white space around it."""
    locale: str | None
    explain: bool = False
    """Whether the answer tells where each step came from."""
    before: int = 0
    """Characters of white space that stood before the prompt."""

    @classmethod
    def read(cls, request: web.Request, body: dict[str, Any]) -> "GenerateRequest":
        """Raises InvalidParameter, MissingField, ValidationFailed. `Accept-Language` is not looked at: it is about
        the caller's program, and the prompt says better which language its writer reads."""
        locale = one_of(request, "locale", LOCALES)
        explain = one_of(request, "explain", ("true", "false")) == "true"
        require_members(body, "prompt")
        prompt = checked_prompt(body["prompt"])
        return cls(prompt, locale, explain, body["prompt"].find(prompt))


def checked_prompt(prompt: object) -> str:
    """White space around a prompt makes it no prompt, and no longer one than may be sent. Raises ValidationFailed."""
    shortest, longest = PROMPT_LENGTHS
    if isinstance(prompt, str) and len(prompt) <= longest and len(prompt.strip()) >= shortest:
        return prompt.strip()
    text = f"The prompt must be text of {shortest} to {longest} characters."
    raise ValidationFailed(text, details=[Problem("prompt", "invalid_text", text)])
