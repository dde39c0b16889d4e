"""`checklist-dispatch bootstrap`: creates the first organization of an installation and its administrator."""

import asyncio
import re
import unicodedata
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final

from checklist_crds.ids import new_id
from checklist_crds.resources.base import ORGANIZATION_LABEL, OrganizationRef
from checklist_crds.resources.organization import MemberSpec, OrganizationSpec, Plan, Role

from ..console.cluster import add_kubeconfig_option, add_namespace_option, connected
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.values import email

if TYPE_CHECKING:
    from checklist_crds.kube.client import KubeClient

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_NAME: Final = 63


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("--organization", metavar="TEXT", required=True, help="display name of the organization")
    parser.add_argument("--organization-name", metavar="NAME", type=_object_name, help="object name (default: derived)")
    parser.add_argument("--admin", metavar="EMAIL", type=email, help="e-mail address of the first administrator")
    parser.add_argument("--runs-per-month", metavar="N", type=_count, help="monthly limit of runs (default: none)")
    add_kubeconfig_option(parser)
    add_namespace_option(parser)


def _run(options: Namespace) -> ExitStatus:
    return asyncio.run(_make(options))


async def _make(options: Namespace) -> ExitStatus:
    name = options.organization_name or object_name_of(options.organization)
    async with connected(options.kubeconfig) as client:
        namespace = await _organization(client, options, name)
        if options.admin:
            await _administrator(client, options, name, namespace)
    if options.admin:
        print(f"to sign in: checklist-dispatch sign-in-link {options.admin}")
        print("create an API key in the dashboard, under Settings, API keys")
    return ExitStatus.YES


async def _organization(client: "KubeClient", options: Namespace, name: str) -> str:
    """Create the organization if it is missing; the namespace of its objects."""
    from checklist_crds.kube.errors import KubeAlreadyExists
    from checklist_crds.resources.kinds import ORGANIZATION

    plan = Plan(name="default", runs_per_month=options.runs_per_month)
    try:
        # With its namespace, since a cluster can have several installations.
        named = OrganizationSpec(display_name=options.organization, namespace=options.namespace, plan=plan)
        spec = named.to_kube()
    except ValueError:
        raise CommandFailed("the organization's name must have 1 to 200 characters") from None
    body = ORGANIZATION.manifest(name, None, spec, organization=name)
    try:
        await client.create(ORGANIZATION, body)
    except KubeAlreadyExists:
        found = await client.get(ORGANIZATION, name)
        print(f"the organization {name} exists already")
        return str(found["spec"].get("namespace") or options.namespace)
    print(f"created the organization {name} ({options.organization})")
    return str(options.namespace)


async def _administrator(client: "KubeClient", options: Namespace, organization: str, namespace: str) -> None:
    """Create the member unless the organization has an administrator."""
    from checklist_crds.resources.kinds import MEMBER

    async for members, _ in client.pages(MEMBER, namespace, label_selector=f"{ORGANIZATION_LABEL}={organization}"):
        for member in members:
            if member["spec"].get("role") == Role.ADMIN:
                print(f"{organization} has an administrator: {member['spec'].get('email')}")
                return
    name = new_id("u")
    spec = MemberSpec(
        organization_ref=OrganizationRef(name=organization),
        name=options.admin.partition("@")[0],
        email=options.admin,
        role=Role.ADMIN,
    )
    await client.create(MEMBER, MEMBER.manifest(name, namespace, spec.to_kube(), organization=organization), namespace)
    print(f"created {options.admin} as its administrator ({name})")


def object_name_of(display_name: str) -> str:
    """`Café Süd GmbH` becomes `cafe-sud-gmbh`. Raises CommandFailed if the result is empty."""
    plain = unicodedata.normalize("NFKD", display_name.lower()).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST_NAME].strip("-")
    if not name:
        raise CommandFailed("no object name can be derived from the organization's name: give --organization-name")
    return name


def _object_name(text: str) -> str:
    if _NAME.fullmatch(text) is None or len(text) > _LONGEST_NAME:
        raise ArgumentTypeError("must be lower-case letters, digits and hyphens, at most 63")
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 1_000_000_000:
        raise ArgumentTypeError("must be a whole number up to a billion")
    return int(text)


COMMAND = Command(
    name="bootstrap",
    summary="create the first organization of an installation, and its administrator",
    description="""\
Create an organization and its first administrator. Existing objects are not changed, so it can be run again.

The Helm chart runs it after an install (bootstrap.organization). The cluster is that of --kubeconfig, KUBECONFIG,
~/.kube/config, or the pod's service account, which needs to create and get organizations, and to create and list
members.

Exit status: 0 done, 2 an error.
""",
    configure=_configure,
    run=_run,
)
