"""A scripted agent in the demo: the official client of the Model Context Protocol, with `checklist-dispatch mcp`."""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from mcp import Client, StdioServerParameters

from checklist_dev.browser.stage import Stage
from checklist_dev.demo.person import Json
from checklist_dev.demo.transcript import Transcript

_PROMPT: Final = "Release check: changelog read, error rate in percent (0 to 5), go or no go"


async def ask_a_person(stage: Stage, say: Transcript, answer: Callable[[str], int]) -> None:
    """Make and dispatch a checklist as an agent, and read the answers.

    `answer` does the person's part for a run id in another thread, and returns the number of answers.
    """
    account = stage.service.account
    given = {"CHECKLISTS_BASE_URL": stage.service.base_url, "CHECKLISTS_API_KEY": account.api_key}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "checklist_cli", "mcp"], env={**os.environ, **given}
    )
    async with Client(server) as client:

        async def use(tool: str, **arguments: Any) -> Json:
            result = await client.call_tool(tool, arguments)
            say.check(f"the agent calls {tool}", not result.is_error, result.content)
            return dict(result.structured_content)

        made = await use("generate_template", prompt=_PROMPT)
        stored = await use("save_template", template=made["template"])
        dispatched = await use("dispatch_run", template_id=stored["id"])
        run_id = dispatched["run_id"]
        say.check("it gets no link", "link" not in dispatched, dispatched)
        waited = await use("wait_for_run", run_id=run_id, timeout_seconds=1)
        say.check('the outcome of its wait is "still waiting"', waited["outcome"] == "still waiting", waited)

        waiting = asyncio.create_task(client.call_tool("wait_for_run", {"run_id": run_id, "timeout_seconds": 60}))
        answered = await asyncio.to_thread(answer, run_id)
        ended = dict((await waiting).structured_content)
        say.check("its wait ends when the person submits", ended["status"] == "completed", ended)
        found = await use("get_answers", run_id=run_id)
        say.check(
            f"it reads {answered} answers, marked as data of a third person",
            len(found["answers"]) == answered and found["origin"] == "third person",
            found,
        )
