"""As processes: `checklist-dispatch sign-in-link` and the link that it prints, and what the API says of signing in."""

import asyncio
import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.waiting import eventually, eventually_sync

from checklist_crds.resources.kinds import LOCAL_ACCOUNT
from checklist_crds.secrets.account_links import account_name
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.system.ports import free_ports
from checklist_dev.system.processes import Child

from .conftest import PASSWORD, Api
from .person import PersonAt
from .real_provider import SERVICE

EMAIL = "new@example.com"
KEY = base64.b64encode(bytes(range(32))).decode()
GOOD = {"CHECKLISTS_NAMESPACE": "n", "CHECKLISTS_SERVER_KEY": KEY, "CHECKLISTS_SEALING_KEYS": f"k1:{KEY}"}


async def _command(*arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "checklist_cli", "sign-in-link", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_newer_link_replaces_the_older_and_an_invitation_asks_for_a_password(
    api: Api, control_plane: ControlPlane
) -> None:
    where = (f"--kubeconfig={control_plane.kubeconfig}", f"--namespace={api.namespace}", f"--base-url={SERVICE}/")
    status, older, err = await _command(" New@Example.com", *where, "--name", "Noor Example")
    assert (status, "signs new@example.com in once" in err, "no Member has" in err) == (0, True, True)
    link = urlsplit(older.strip())
    assert (link.netloc, link.path, link.query) == ("checklists.example", "/dashboard/sign-in", "")
    _, newer, _ = await _command(EMAIL, *where)
    _, invitation, _ = await _command("other@example.com", *where, "--invitation")
    person = PersonAt(api.anonymous)
    for printed, answer in (
        (older, (401, None)),
        (invitation, (200, True)),
        (newer, (200, False)),
        (newer, (401, None)),
    ):
        response = await person.post("sign-in/link", {"secret": printed.strip().partition("#link=")[2]})
        assert (response.status_code, response.json().get("choose_password")) == answer
    assert (await person.session())["name"] == "Noor Example"
    # A disabled account gets none.
    await api.kube.patch(LOCAL_ACCOUNT, account_name(EMAIL), {"spec": {"disabled": True}}, api.namespace)
    status, out, err = await _command(EMAIL, *where)
    assert (status, out, "is disabled" in err) == (2, "", True)


async def test_the_command_resets_an_account(api: Api, control_plane: ControlPlane) -> None:
    """The installation's account of the address, or the one of an organization."""
    where = (f"--kubeconfig={control_plane.kubeconfig}", f"--namespace={api.namespace}", f"--base-url={SERVICE}/")
    for about in ((), ("--organization", api.organization)):
        _, out, _ = await _command(EMAIL, *where, *about, "--invitation")
        taken = PersonAt(api.anonymous)
        await taken.post("sign-in/link", {"secret": out.strip().partition("#link=")[2]})
        await taken.session()
        await taken.post("account/password", {"new_password": PASSWORD})
        status, out, err = await _command(EMAIL, *where, *about, "--reset", "--invitation")
        assert (status, "ended its sessions" in err) == (0, True), err
        await eventually(taken.is_out)
        signs_in = await PersonAt(api.anonymous).post("sign-in/password", {"email": EMAIL, "password": PASSWORD})
        assert signs_in.status_code == 401
        answer = await PersonAt(api.anonymous).post("sign-in/link", {"secret": out.strip().partition("#link=")[2]})
        assert answer.json() == {"choose_password": True}
    accounts, _ = await api.kube.list_all(LOCAL_ACCOUNT, api.namespace)
    names = {account["metadata"]["name"] for account in accounts}
    assert names == {account_name(EMAIL), account_name(EMAIL, api.organization)}
    status, _, err = await _command(EMAIL, *where, "--organization", "none")
    assert (status, "there is no organization none" in err) == (2, True)


@pytest.mark.parametrize("wrong", [["unknown"], [EMAIL, "--hours", "1000"], [EMAIL, "--kubeconfig", "/no/such"]])
async def test_what_cannot_be_is_said_in_one_line(wrong: list[str]) -> None:
    status, out, err = await _command(*wrong)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith("checklist-dispatch sign-in-link: ")


def _environment(**given: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("CHECKLISTS_", "KUBE"))}
    return {**plain, **GOOD, **given}


@pytest.mark.parametrize(
    ("base_url", "warned"), [("http://checklists.example", True), ("https://checklists.example", False)]
)
def test_http_base_urls_are_warned(control_plane: ControlPlane, tmp_path: Path, base_url: str, warned: bool) -> None:
    environment = _environment(
        KUBECONFIG=str(control_plane.kubeconfig),
        CHECKLISTS_PORT=str(free_ports(1)[0]),
        CHECKLISTS_BASE_URL=base_url,
        CHECKLISTS_PHOTO_STORE=tmp_path.as_uri(),
    )
    api = Child("api", [sys.executable, "-m", "checklist_api"], log=tmp_path / "api.log", env=environment)
    api.start()
    try:
        eventually_sync(lambda: "api.listening" in api.output())
    finally:
        api.stop()
    lines = [json.loads(line) for line in api.output().splitlines()]
    warnings = [line for line in lines if line["event"] == "api.dashboard_needs_https"]
    assert len(warnings) == warned
    assert all(line["level"] == "warning" and line["url"] == base_url for line in warnings)


def test_redis_without_its_package_is_one_clear_line() -> None:
    without = "import sys; sys.modules['redis'] = None; from checklist_api.__main__ import main; sys.exit(main([]))"
    done = subprocess.run(
        [sys.executable, "-c", without],
        env=_environment(CHECKLISTS_REDIS_URL="redis://:in-the-url@127.0.0.1:6379"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "CHECKLISTS_REDIS_URL needs the package redis" in done.stderr
    assert "pip install 'checklist-dispatch[redis]'" in done.stderr
    assert "in-the-url" not in done.stderr
