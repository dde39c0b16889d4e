"""`checklist-dispatch sign-in-link` against a real cluster, and the link that it prints against the real service."""

import asyncio
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from checklist_crds.account_links import account_name
from checklist_crds.kube.kinds import LOCAL_ACCOUNT
from checklist_dev.controlplane import ControlPlane

from .conftest import Api
from .person import PersonAt

EMAIL = "new@example.com"


async def _command(*arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "checklist_cli", "sign-in-link", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


def _where(api: Api, kubeconfig: Path | str) -> tuple[str, ...]:
    return ("--kubeconfig", str(kubeconfig), "--namespace", api.namespace, "--base-url", "https://checklists.example/")


async def test_it_makes_an_account_and_a_link_that_signs_in_once(api: Api, control_plane: ControlPlane) -> None:
    where = _where(api, control_plane.kubeconfig)
    status, out, err = await _command(" New@Example.com", *where, "--name", "Noor Example")
    assert (status, "signs new@example.com in once" in err, "no Member has" in err) == (0, True, True)
    link = urlsplit(out.strip())
    assert (link.netloc, link.path, link.query) == ("checklists.example", "/dashboard/sign-in", "")
    secret = link.fragment.removeprefix("link=")
    person = PersonAt(api.anonymous)
    assert (await person.post("sign-in/link", {"secret": secret})).json() == {"choose_password": False}
    assert (await person.session())["name"] == "Noor Example"
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": secret})).status_code == 401


async def test_a_newer_link_replaces_the_older_and_an_invitation_asks_for_a_password(
    api: Api, control_plane: ControlPlane
) -> None:
    where = _where(api, control_plane.kubeconfig)
    _, older, _ = await _command(EMAIL, *where)
    _, newer, _ = await _command(EMAIL, *where, "--invitation")
    assert (await _redeem(api, older)) == (401, None)
    assert (await _redeem(api, newer)) == (200, True)


async def _redeem(api: Api, printed: str) -> tuple[int, bool | None]:
    secret = printed.strip().partition("#link=")[2]
    response = await PersonAt(api.anonymous).post("sign-in/link", {"secret": secret})
    return response.status_code, response.json().get("choose_password")


async def test_a_disabled_account_gets_none(api: Api, control_plane: ControlPlane) -> None:
    where = _where(api, control_plane.kubeconfig)
    await _command(EMAIL, *where)
    await api.kube.patch(LOCAL_ACCOUNT, account_name(EMAIL), {"spec": {"disabled": True}}, api.namespace)
    status, out, err = await _command(EMAIL, *where)
    assert (status, out, "is disabled" in err) == (2, "", True)


@pytest.mark.parametrize("wrong", [["nobody"], [EMAIL, "--hours", "0"], [EMAIL, "--hours", "1000"], []])
async def test_what_cannot_be_is_said_in_one_line(wrong: list[str]) -> None:
    status, out, err = await _command(*wrong)
    assert (status, out) == (2, "")
    assert "error:" in err.splitlines()[-1]


async def test_without_a_cluster_it_says_so(tmp_path: Path) -> None:
    status, out, err = await _command(EMAIL, "--kubeconfig", str(tmp_path / "none"))
    assert (status, out, err.count("\n")) == (2, "", 1)
