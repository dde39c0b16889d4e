"""The states of a checklist for members: who is not one, who comes too late, who is signed out meanwhile."""

import httpx

from checklist_api.dashboard.sessions.store import object_name
from checklist_crds.resources.kinds import DASHBOARD_SESSION
from checklist_crds.secrets.digest import digest
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.people import Person
from checklist_dev.screenshots.scene import Scene
from checklist_dev.screenshots.states import state

FOR_MEMBERS = checklist(
    step("clean", label="Is the floor clean?"), step("note", "text", label="Remarks"), identity="member"
)


async def _office(scene: Scene) -> Office:
    return await Office.opened(scene.stage, scene.kube)


async def _become(scene: Scene, person: Person) -> None:
    await scene.device.context.clear_cookies()
    await scene.device.context.add_cookies([person.cookie(scene.stage.base_url)])  # type: ignore[list-item]


async def _answering(scene: Scene) -> tuple[Office, Person, Link]:
    """Somebody who is signed in and has the checklist before them."""
    office = await _office(scene)
    person = await office.member("viewer")
    await _become(scene, person)
    link = office.dispatch(FOR_MEMBERS)
    await scene.show_checklist(link)
    return office, person, link


@state()
async def member_answering(scene: Scene) -> None:
    await _answering(scene)
    await scene.page.get_by_role("button", name="Menu").click()
    await scene.page.get_by_text("Answering as Ada Example").wait_for()


@state()
async def not_member(scene: Scene) -> None:
    office, elsewhere = await _office(scene), await Office.opened(scene.stage, scene.kube, name="Other People")
    await _become(scene, await elsewhere.member("editor"))
    await scene.show(office.dispatch(FOR_MEMBERS).url)
    await scene.page.get_by_role("heading", name="This checklist is not for you").wait_for()


@state()
async def assigned(scene: Scene) -> None:
    """Another member was the first to open the link."""
    office = await _office(scene)
    link = office.dispatch(FOR_MEMBERS)
    first = await office.member("viewer", name="Bob First")
    headers = {"Authorization": f"Executor {link.token}", "Sec-Fetch-Site": "same-origin", **first.headers}
    address = f"{scene.stage.service.local_url}/v1/executor/runs/{link.run_id}/open"
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        (await http.post(address, json={}, headers=headers)).raise_for_status()
    await _become(scene, await office.member("viewer"))
    await scene.show(link.url)
    await scene.page.get_by_role("heading", name="Somebody else answers this checklist").wait_for()


@state()
async def member_signed_out(scene: Scene) -> None:
    """In the middle of it: what is typed from now on waits."""
    office, person, _ = await _answering(scene)
    await office.kube.delete(DASHBOARD_SESSION, object_name(digest(person.secret)), NAMESPACE)
    await scene.page.get_by_role("textbox", name="Remarks").fill("A puddle below the left shelf")
    await scene.page.keyboard.press("Tab")
    await scene.page.get_by_text("You are signed out").wait_for()
