"""The human step as README.md and docs/pipelines.md print it: the commands, run as they are."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest
from tests.cluster.conftest import rest
from tests.cluster.operator_lab import BASE_URL, SERVER_KEY, Lab
from tests.kubectl.plugin_lab import Shell
from tests.waiting import eventually

from checklist_crds.ids import new_id, object_id
from checklist_crds.resources.kinds import RUN, TEMPLATE
from checklist_crds.resources.run import Run
from checklist_crds.runs.commands import AnswerStep
from checklist_crds.secrets.sealing import ServerKeys, executor_link
from checklist_dev.repository import ROOT

__all__ = ["rest"]

pytestmark = pytest.mark.usefixtures("operator")
LINK = re.compile(rf"{BASE_URL}/r/(r-[0-9a-f-]+)#[\w-]{{43}}")
FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, heading: str) -> list[str]:
    """The shell commands between a heading and the next one."""
    _, below = (ROOT / page).read_text().split(f" {heading}\n")
    return FENCE.findall(re.split(r"^##+ ", below, maxsplit=1, flags=re.MULTILINE)[0])


class Person:
    """Answers one step of the run whose link a script prints, and submits."""

    def __init__(self, lab: Lab, shell: Shell, folder: Path) -> None:
        self.lab = lab
        self.shell = shell
        self.folder = folder
        (folder / ".run").mkdir()

    async def template(self, step: str, name: str) -> str:
        steps = [{"id": step, "type": "number", "label": "Temperature", "required": True}]
        body = self.lab.template_body(name, sections=[{"id": "g-1", "title": "Kitchen", "steps": steps}])
        await self.lab.client.create(TEMPLATE, body, self.lab.namespace)
        return name

    async def answers(self, script: str, variable: str, step: str, value: float, **environment: str) -> str:
        """Run the script, answer by the link that it prints, and return the variable that it sets."""
        printed = self.folder / "printed"
        whole = f'{script}\nprintf "\\n%s" "${variable}"'
        with printed.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                "bash", "-euo", "pipefail", "-c", whole,
                cwd=self.folder, env={**self.shell.environment, **environment},
                stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip

        def link() -> re.Match[str] | None:
            assert process.returncode in (None, 0), printed.read_text()
            return LINK.search(printed.read_text())

        found: re.Match[str] = await eventually(link)
        run = await self._by_id(found[1])
        assert found[0] == executor_link(
            BASE_URL, ServerKeys(SERVER_KEY), object_id("org", self.lab.organization), run.id
        )
        await self.lab.store.change(self.lab.namespace, run.name, AnswerStep(step_id=step, value=value))
        await self.lab.submit(run.name)
        assert await process.wait() == 0, printed.read_text()
        return printed.read_text().rpartition("\n")[2]

    async def _by_id(self, public_id: str) -> Run:
        bodies, _ = await self.lab.client.list_all(RUN, self.lab.namespace)
        (run,) = [run for run in map(Run.parse, bodies) if run.public_id == public_id]
        return run


@pytest.fixture
def person(lab: Lab, shell: Shell, tmp_path: Path) -> Person:
    return Person(lab, shell, tmp_path)


def five_lines(block: str) -> str:
    assert len(block.splitlines()) <= 5 and "curl" not in block
    return block


async def test_the_five_lines_of_kubectl_end_with_the_answer_in_a_variable(person: Person) -> None:
    _, manifest, lines, _ = blocks("README.md", "5. A human step in five lines")
    template = await person.template("s-temp", new_id("t"))
    for value in (3.5, -1):  # the same lines again are another run with another link
        script = manifest + five_lines(lines)
        answer = await person.answers(script, "temperature", "s-temp", value, template=template)
        assert answer == str(value)


async def test_the_five_lines_of_the_command_line_end_with_the_answer_in_a_variable(
    person: Person, rest: httpx.AsyncClient
) -> None:
    *_, lines = blocks("README.md", "5. A human step in five lines")
    given = {"base": str(rest.base_url).rstrip("/"), "key": rest.headers["Authorization"].removeprefix("Bearer ")}
    template = await person.template("s-temp", new_id("t"))
    script = five_lines(lines)
    assert await person.answers(script, "temperature", "s-temp", 3.5, template=template, **given) == "3.5"


async def test_the_step_by_hand_of_the_pipelines_guide_ends_with_the_answer(person: Person) -> None:
    (script,) = blocks("docs/pipelines.md", "A step by hand")
    await person.template("s-fridge-1", "restaurant-opening")
    assert await person.answers(script, "temperature", "s-fridge-1", 4.5) == "4.5"
