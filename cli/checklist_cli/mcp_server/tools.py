"""The tools: for each its texts, its arguments, its results, and the requests that it makes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from . import arguments, results
from .service import Service, ToolFailed

A = TypeVar("A", bound=arguments.Arguments)
Report = Callable[[float, float, str], Awaitable[None]]
"""Reports seconds waited, seconds to wait, and a text, if the client asked for progress."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a tool returns. `text` says what it means; it comes before the result as JSON."""

    result: results.Result
    text: str = ""


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """`run` raises ToolFailed, and ValidationError for an unexpected answer of the service."""

    name: str
    description: str
    arguments: type[A]
    result: type[results.Result]
    run: Callable[[Service, A, Report], Awaitable[Called]]
    is_read_only: bool = False
    is_destructive: bool = False
    is_idempotent: bool = False


async def _list_templates(service: Service, given: arguments.ListTemplates, _: Report) -> Called:
    page = await service.call("GET", "/v1/templates", query={name: str(value) for name, value in given})
    found = {"templates": page.get("data"), "page": given.page, "total": page.get("pagination", {}).get("total")}
    return Called(results.Templates.model_validate(found))


async def _get_template(service: Service, given: arguments.GetTemplate, _: Report) -> Called:
    return Called(_stored(await service.call("GET", f"/v1/templates/{given.template_id}")))


async def _generate_template(service: Service, given: arguments.GenerateTemplate, _: Report) -> Called:
    query = {"explain": "true"} | ({} if given.locale is None else {"locale": given.locale})
    made = await service.call(
        "POST", "/v1/templates/generate", query=query, body={"prompt": given.prompt}, next_byte_within_s=_GENERATE_S
    )
    result = results.GeneratedTemplate(
        template=made["template"],
        unsure_steps=[step["step_id"] for step in made["steps"] if step["unsure"]],
        unused=[part["text"] for part in made["unused"]],
    )
    return Called(result, "The template is not stored. Check it, change it if necessary, then call save_template.")


async def _save_template(service: Service, given: arguments.SaveTemplate, _: Report) -> Called:
    key = given.idempotency_key
    with_key = _Repeatable(f"the template may be stored; repeat the call with idempotency_key {key}")
    return Called(
        _stored(await with_key(service.call("POST", "/v1/templates", body=given.template, idempotency_key=key)))
    )


def _dispatch(*, with_link: bool) -> Callable[[Service, arguments.DispatchRun, Report], Awaitable[Called]]:
    async def run(service: Service, given: arguments.DispatchRun, _: Report) -> Called:
        key = given.idempotency_key
        with_key = _Repeatable(f"the run may exist; repeat the call with idempotency_key {key}")
        answer = await with_key(service.call("POST", "/v1/runs", body=given.body(), idempotency_key=key))
        if with_link:
            return Called(results.DispatchedRunWithLink.model_validate(answer), results.LINK_WARNING)
        dispatched = results.DispatchedRun.model_validate(answer)
        return Called(dispatched, _HOW_TO_GET_THE_LINK.format(dispatched.run_id))

    return run


async def _wait_for_run(service: Service, given: arguments.WaitForRun, report: Report) -> Called:
    async def on_open(run: dict[str, Any], seconds: float) -> None:
        await report(seconds, given.timeout_seconds, _state(results.RunState.model_validate(run)))

    run = await service.wait(given.run_id, given.timeout_seconds, on_open)
    ended = results.RunState.model_validate(run).has_ended
    waited = results.WaitedFor.model_validate({**run, "outcome": "ended" if ended else results.STILL_WAITING})
    if ended:
        return Called(waited, f"The run has ended: {_state(waited)}.")
    return Called(
        waited,
        f"Still waiting: {_state(waited)}. The person has not finished. Call wait_for_run again, or come back later.",
    )


async def _get_answers(service: Service, given: arguments.OneRun, _: Report) -> Called:
    run = await service.call("GET", f"/v1/runs/{given.run_id}")
    schema = await service.call("GET", f"/v1/runs/{given.run_id}/answer-schema")
    return Called(results.answers_of(run, schema), results.UNTRUSTED)


async def _cancel_run(service: Service, given: arguments.OneRun, _: Report) -> Called:
    run = results.RunState.model_validate(await service.call("POST", f"/v1/runs/{given.run_id}/cancel", body={}))
    return Called(run, f"The run is {run.status}. Its link no longer accepts answers.")


def _stored(answer: dict[str, Any]) -> results.StoredTemplate:
    template = {name: value for name, value in answer.items() if name not in _OF_THE_SERVICE}
    return results.StoredTemplate.model_validate({"id": answer.get("id"), "v": answer.get("v"), "template": template})


def _state(run: results.RunState) -> str:
    progress = run.progress
    skipped = f", {progress.skipped} skipped" if progress.skipped else ""
    return f"{run.status}, {progress.answered} of {progress.total} steps answered{skipped}"


@dataclass(frozen=True, slots=True)
class _Repeatable:
    """Adds `advice` to a failure after which the object may exist."""

    advice: str

    async def __call__(self, call: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        try:
            return await call
        except ToolFailed as failure:
            if not failure.is_outcome_unknown:
                raise
            raise ToolFailed(failure.code, f"{failure.message}; {self.advice}", is_outcome_unknown=True) from None


_GENERATE_S: Final = 310.0
"""A little more than a service's limit for its language model."""
_OF_THE_SERVICE: Final = frozenset({"id", "v", "org_id", "created_at", "updated_at"})
"""Members of a stored template that are not TDL."""
_HOW_TO_GET_THE_LINK: Final = (
    "The run waits for a person. This server does not return the link, because anyone who holds it can answer in the "
    "person's place. Your user gets it in the dashboard or with: checklist-dispatch link {}"
)


def tools(*, with_link: bool) -> tuple[Tool[Any], ...]:
    """All tools; with `with_link` the result of dispatch_run has the link of the run."""
    return (
        Tool(
            "list_templates",
            "List the checklist templates of the organization, newest first.",
            arguments.ListTemplates,
            results.Templates,
            _list_templates,
            is_read_only=True,
        ),
        Tool(
            "get_template",
            "Read a checklist template: its sections, steps, conditions and settings.",
            arguments.GetTemplate,
            results.StoredTemplate,
            _get_template,
            is_read_only=True,
        ),
        Tool(
            "generate_template",
            "Generate a checklist template from a description in plain language. Nothing is stored.",
            arguments.GenerateTemplate,
            results.GeneratedTemplate,
            _generate_template,
            is_read_only=True,
        ),
        Tool(
            "save_template",
            "Store a checklist template as a new one, and get its id. Problems are returned with their paths.",
            arguments.SaveTemplate,
            results.StoredTemplate,
            _save_template,
        ),
        Tool(
            "dispatch_run",
            "Dispatch a run: one execution of a template, which one person answers with a link. "
            + (f"The result contains the link. {results.LINK_WARNING}" if with_link else _WITHOUT_LINK),
            arguments.DispatchRun,
            results.DispatchedRunWithLink if with_link else results.DispatchedRun,
            _dispatch(with_link=with_link),
        ),
        Tool(
            "wait_for_run",
            "Wait until a run is completed, cancelled or expired, for a limited time. People need minutes to days: if "
            'the outcome is "still waiting", call this again or do something else first. Waiting changes nothing.',
            arguments.WaitForRun,
            results.WaitedFor,
            _wait_for_run,
            is_read_only=True,
        ),
        Tool(
            "get_answers",
            "Read the answers of a run, with the JSON Schema of its answers. " + results.UNTRUSTED,
            arguments.OneRun,
            results.Answers,
            _get_answers,
            is_read_only=True,
        ),
        Tool(
            "cancel_run",
            "Cancel an open run for ever: its link no longer accepts answers. The answers so far stay readable.",
            arguments.OneRun,
            results.RunState,
            _cancel_run,
            is_destructive=True,
            is_idempotent=True,
        ),
    )


_WITHOUT_LINK: Final = (
    "The link is not in the result, because anyone who holds it can answer in the person's place; your user sends it."
)
