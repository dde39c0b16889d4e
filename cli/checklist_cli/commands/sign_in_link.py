"""`checklist-dispatch sign-in-link`: creates a link that signs a person in to the dashboard once."""

import asyncio
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from checklist_crds.resources.account import LinkPurpose, LocalAccountSpec
from checklist_crds.secrets.account_links import LOCAL_ISSUER, account_name, address, one_time_link, token_to
from checklist_crds.times import format_timestamp, utc_now

from ..console.cluster import add_kubeconfig_option, add_namespace_option, connected, served_namespaces
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.values import email

if TYPE_CHECKING:
    from checklist_crds.kube.client import KubeClient

_LOOPBACK: Final = "http://127.0.0.1:8080"


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("email", type=email, metavar="EMAIL", help="the person's e-mail address")
    parser.add_argument("--name", metavar="TEXT", help="name for a new account (default: the part before the @)")
    parser.add_argument(
        "--hours", type=_hours, metavar="N", help="validity of the link (default: 0.25; an invitation: 168)"
    )
    parser.add_argument("--invitation", action="store_true", help="ask the person to choose a password")
    parser.add_argument(
        "--organization",
        metavar="NAME",
        help="the account of this Organization, valid there only (default: that of the installation, valid in each "
        "organization with a Member of this address)",
    )
    parser.add_argument(
        "--reset",
        action="store_true",
        help="first end the account's password, link and sessions",
    )
    add_kubeconfig_option(parser)
    add_namespace_option(parser)
    parser.add_argument(
        "--base-url",
        metavar="URL",
        default=os.environ.get("CHECKLISTS_BASE_URL") or _LOOPBACK,
        help=f"the service's URL (default: CHECKLISTS_BASE_URL, else {_LOOPBACK})",
    )


def _run(options: Namespace) -> ExitStatus:
    return asyncio.run(_make(options))


async def _make(options: Namespace) -> ExitStatus:
    purpose = LinkPurpose.INVITATION if options.invitation else LinkPurpose.SIGN_IN
    lifetime = timedelta(hours=options.hours) if options.hours else None
    name = options.name or options.email.partition("@")[0]
    try:
        spec = LocalAccountSpec(email=options.email, name=name).to_kube()
    except ValueError:
        raise CommandFailed("the e-mail address or the name is too long") from None
    async with connected(options.kubeconfig) as client:
        account = await _account_name(client, options)
        token = token_to(account)
        link = one_time_link(token, now=utc_now(), purpose=purpose, lifetime=lifetime)
        await _store(client, options, account, spec | {"link": link.to_kube()})
        if options.reset:
            await _end_sessions(client, options, account)
        members = await _members(client, options.email)
    if options.reset:
        print(f"removed the password of {options.email} and ended its sessions", file=sys.stderr)
    print(address(options.base_url.rstrip("/"), token))
    print(f"signs {options.email} in once, until {format_timestamp(link.expires_at)}", file=sys.stderr)
    if not members:
        print(f"note: no Member has the address {options.email}, so the dashboard is still empty", file=sys.stderr)
    return ExitStatus.YES


async def _account_name(client: "KubeClient", options: Namespace) -> str:
    """The name of the LocalAccount. Raises CommandFailed for an unknown organization, KubeError."""
    from checklist_crds.kube.errors import KubeNotFound
    from checklist_crds.resources.base import ORGANIZATION_LABEL
    from checklist_crds.resources.kinds import LOCAL_ACCOUNT, ORGANIZATION

    if options.organization is None:
        return account_name(options.email)
    try:
        await client.get(ORGANIZATION, options.organization)
    except KubeNotFound:
        raise CommandFailed(f"there is no organization {options.organization}") from None
    # Before names contained the organization, invited accounts had the name of the installation's account.
    earlier = account_name(options.email)
    with suppress(KubeNotFound):
        found = await client.get(LOCAL_ACCOUNT, earlier, options.namespace)
        if (found["metadata"].get("labels") or {}).get(ORGANIZATION_LABEL) == options.organization:
            return earlier
    return account_name(options.email, options.organization)


async def _end_sessions(client: "KubeClient", options: Namespace, account: str) -> None:
    """Delete the sessions in the cluster, even while no API runs. (The API refuses all others by resetAt.)"""
    from checklist_crds.kube.errors import KubeNotFound
    from checklist_crds.resources.kinds import DASHBOARD_SESSION

    found, _ = await client.list_all(DASHBOARD_SESSION, options.namespace)
    for body in found:
        if (body["spec"]["issuer"], body["spec"]["subject"]) == (LOCAL_ISSUER, account):
            with suppress(KubeNotFound):
                await client.delete(DASHBOARD_SESSION, body["metadata"]["name"], options.namespace)


async def _store(client: "KubeClient", options: Namespace, name: str, spec: dict[str, Any]) -> None:
    """Create the account with the link, or replace the link of an existing one."""
    from checklist_crds.kube.client import retry_conflicts
    from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeNotFound
    from checklist_crds.resources.kinds import LOCAL_ACCOUNT

    namespace = options.namespace
    body = LOCAL_ACCOUNT.manifest(name, namespace, spec, organization=options.organization)

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
        if options.reset:
            change |= {"sealedPassword": None, "passwordChangedAt": None, "resetAt": format_timestamp(utc_now())}
        version = found["metadata"]["resourceVersion"]
        await client.patch(LOCAL_ACCOUNT, name, {"spec": change}, namespace, resource_version=version)

    await retry_conflicts(attempt)


async def _members(client: "KubeClient", email: str) -> int:
    from checklist_crds.resources.kinds import MEMBER

    found = 0
    for namespace in served_namespaces() or (None,):
        async for members, _ in client.pages(MEMBER, namespace):
            found += sum(member["spec"].get("email", "").lower() == email for member in members)
    return found


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
    summary="create a link that signs a person in to the dashboard once",
    description="""\
Create a link that signs a person in to the dashboard once, and print it.

It creates the person's LocalAccount if there is none, and replaces an older link. Anyone who opens the link is signed
in as that person, so give it to them only. Their Members decide what they may do.

An address has one account in the installation, valid in all organizations, and one in each organization whose
administrators invited it, valid there only (--organization). --reset ends the access of another person who has set the
account's password.

The cluster is that of --kubeconfig, KUBECONFIG, ~/.kube/config, or the pod's service account, which needs to get,
create and patch localaccounts and to list members; with --reset also to list and delete dashboardsessions, with
--organization to get organizations. The service accepts links only if local accounts are enabled
(CHECKLISTS_LOCAL_ACCOUNTS).

Exit status: 0 done, 2 an error.
""",
    configure=_configure,
    run=_run,
)
