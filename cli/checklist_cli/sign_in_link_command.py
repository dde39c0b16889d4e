"""`checklist-dispatch sign-in-link`: a link that signs a person in to the dashboard once."""

import asyncio
import logging
import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from checklist_crds.account_links import account_name, address, new_token, one_time_link
from checklist_crds.account_types import LinkPurpose, LocalAccountSpec
from checklist_crds.times import format_timestamp, utc_now

from .cluster_options import add_kubeconfig_option, add_namespace_option
from .command import Command, CommandFailed, ExitStatus

if TYPE_CHECKING:
    from checklist_crds.kube.client import KubeClient

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_LOOPBACK: Final = "http://127.0.0.1:8080"


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("email", type=_email, metavar="EMAIL", help="the person's e-mail address")
    parser.add_argument("--name", metavar="TEXT", help="the person's name, for a new account (default: of the address)")
    parser.add_argument(
        "--hours", type=_hours, metavar="N", help="how long it can be used (default: 0.25; an invitation: 168)"
    )
    parser.add_argument("--invitation", action="store_true", help="ask for a password to be chosen")
    add_kubeconfig_option(parser)
    add_namespace_option(parser)
    parser.add_argument(
        "--base-url",
        metavar="URL",
        default=os.environ.get("CHECKLISTS_BASE_URL") or _LOOPBACK,
        help=f"the service's address (default: CHECKLISTS_BASE_URL, else {_LOOPBACK})",
    )


def _run(options: Namespace) -> ExitStatus:
    return asyncio.run(_make(options))


async def _make(options: Namespace) -> ExitStatus:
    # What talks to a cluster takes half a second to import, and other commands have no need of it.
    from checklist_crds.kube.client import KubeClient, KubeConnection
    from checklist_crds.kube.errors import KubeError

    logging.getLogger("kubernetes").setLevel(logging.ERROR)
    purpose = LinkPurpose.INVITATION if options.invitation else LinkPurpose.SIGN_IN
    lifetime = timedelta(hours=options.hours) if options.hours else None
    token = new_token(options.email)
    link = one_time_link(token, now=utc_now(), purpose=purpose, lifetime=lifetime)
    name = options.name or options.email.partition("@")[0]
    try:
        spec = LocalAccountSpec(email=options.email, name=name, link=link).to_kube()
    except ValueError:
        raise CommandFailed("the e-mail address or the name is too long") from None
    try:
        async with KubeClient(await KubeConnection.load(options.kubeconfig)) as client:
            await _store(client, options, spec)
            members = await _members(client, options.email)
    except KubeError as error:
        raise CommandFailed(str(error)) from None
    print(address(options.base_url.rstrip("/"), token))
    print(f"signs {options.email} in once, until {format_timestamp(link.expires_at)}", file=sys.stderr)
    if not members:
        print(f"note: no Member has the address {options.email}, so there is nothing to see there yet", file=sys.stderr)
    return ExitStatus.YES


async def _store(client: "KubeClient", options: Namespace, spec: dict[str, Any]) -> None:
    """The account with the link; made if there is none. An older link is of no use any more."""
    from checklist_crds.kube.client import retry_conflicts
    from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeNotFound
    from checklist_crds.kube.kinds import LOCAL_ACCOUNT
    from checklist_crds.resource_types import API_VERSION

    name, namespace = account_name(options.email), options.namespace
    metadata = {"name": name, "namespace": namespace}
    body = {"apiVersion": API_VERSION, "kind": LOCAL_ACCOUNT.kind, "metadata": metadata, "spec": spec}

    async def attempt() -> None:
        try:
            found = await client.get(LOCAL_ACCOUNT, name, namespace)
        except KubeNotFound:
            try:
                await client.create(LOCAL_ACCOUNT, body, namespace)
            except KubeAlreadyExists as error:
                raise KubeConflict(error.message) from None
            return
        if found["spec"].get("disabled"):
            raise CommandFailed(f"the account of {options.email} is disabled (localaccounts/{name})")
        change = {"link": spec["link"], **({"name": options.name} if options.name else {})}
        version = found["metadata"]["resourceVersion"]
        await client.patch(LOCAL_ACCOUNT, name, {"spec": change}, namespace, resource_version=version)

    await retry_conflicts(attempt)


async def _members(client: "KubeClient", email: str) -> int:
    from checklist_crds.kube.kinds import MEMBER

    found = 0
    for namespace in _served_namespaces():
        async for members, _ in client.pages(MEMBER, namespace):
            found += sum(member["spec"].get("email", "").lower() == email for member in members)
    return found


def _served_namespaces() -> list[str | None]:
    """Those of the installation whose environment this is: elsewhere its service account may not look. None: all."""
    words = (word.strip() for word in os.environ.get("CHECKLISTS_WATCH_NAMESPACES", "").split(","))
    return [word for word in words if word] or [None]


def _email(text: str) -> str:
    if _EMAIL.fullmatch(text.strip()) is None:
        raise ArgumentTypeError("must be an e-mail address")
    return text.strip().lower()


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= 24 * 30:
        raise ArgumentTypeError("must be a number above 0, at most 720")
    return hours


COMMAND = Command(
    name="sign-in-link",
    summary="make a link that signs a person in to the dashboard once",
    description="""\
Make a link that signs a person in to the dashboard once, and print it.

It makes the person's LocalAccount if there is none, and takes the place of an older link. Whoever opens it is signed in
as that person, so give it to nobody else. What the person may do is said by the Members with their e-mail address.

The cluster is that of --kubeconfig, KUBECONFIG, ~/.kube/config, or the pod's service account, which needs to get,
create and patch localaccounts and to list members. The service takes links only where local accounts are on
(CHECKLISTS_LOCAL_ACCOUNTS).

Exit status: 0 done, 2 it could not be done.
""",
    configure=_configure,
    run=_run,
)
