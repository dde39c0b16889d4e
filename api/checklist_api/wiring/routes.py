"""Creates all routes with their dependencies."""

from typing import TypeVar

from aiohttp import web

from checklist_crds.photos.urls import IN_ANSWERS

from ..dashboard.audit_routes import AuditRoutes
from ..dashboard.keys.routes import KeyRoutes
from ..dashboard.live.routes import EventRoutes
from ..dashboard.members.routes import MemberRoutes
from ..dashboard.oidc.routes import OidcRoutes
from ..dashboard.overview import OverviewRoutes
from ..dashboard.page import DashboardPage
from ..dashboard.rest_routes import (
    DashboardDeliveryRoutes,
    DashboardExportRoutes,
    DashboardPhotoRoutes,
    DashboardRunRoutes,
    DashboardUsageRoutes,
)
from ..dashboard.run_story import RunStoryRoutes
from ..dashboard.search import SearchRoutes
from ..dashboard.sessions.routes import SessionRoutes
from ..dashboard.sign_in.account_routes import AccountRoutes
from ..dashboard.sign_in.routes import SignInRoutes
from ..dashboard.table import Route
from ..dashboard.table import add_routes as add_dashboard_routes
from ..dashboard.template_routes import DashboardTemplateRoutes, TemplateDeletionRoutes
from ..deliveries.routes import DeliveryRoutes
from ..executor.access import ExecutorGate
from ..executor.batch import ExecutorBatch
from ..executor.change_routes import ChangeRoutes
from ..executor.member import ExecutorMembers
from ..executor.page_routes import ExecutorApp
from ..executor.photo_routes import PhotoRoutes
from ..executor.receipt.routes import ReceiptRoutes, receipt_slots
from ..executor.routes import ExecutorRoutes
from ..exports.routes import ExportRoutes
from ..exports.stable_links import StablePhotoRoutes
from ..http import health
from ..openapi import docs_page, document
from ..pages import markup, well_known
from ..pages.web_files import BUILT, WebFiles
from ..photos.serving import PhotoServing
from ..runs.routes import RunRoutes
from ..runs.usage import UsageRoutes
from ..templates.routes import TemplateRoutes
from .services import Services

# The dashboard's handlers extend those of the REST API.
_Templates = TypeVar("_Templates", bound=TemplateRoutes)
_Runs = TypeVar("_Runs", bound=RunRoutes)
_Exports = TypeVar("_Exports", bound=ExportRoutes)
_Deliveries = TypeVar("_Deliveries", bound=DeliveryRoutes)


def add_routes(router: web.UrlDispatcher, services: Services) -> None:
    health.add_routes(router, checks=services.checks, notes=services.notes, metrics=services.metrics)
    _add_owner_routes(router, services)
    _add_executor_routes(router, services)
    document.add_routes(router, services.settings.base_url)
    docs_page.add_routes(router, services.settings.base_url)
    markup.add_routes(router)
    _add_sign_in_routes(router, services)
    add_dashboard_routes(router, services.dashboard, dashboard_table(services))
    prefix = services.settings.path_prefix
    DashboardPage(WebFiles.read(BUILT / "dashboard"), path_prefix=prefix).add_to(router)
    well_known.add_routes(router, services.settings.app_links)


def _add_owner_routes(router: web.UrlDispatcher, services: Services) -> None:
    gate = services.gate
    _templates(TemplateRoutes, services).add_to(router, gate)
    _runs(RunRoutes, services).add_to(router, gate)
    UsageRoutes(services.usage).add_to(router, gate)
    _exports(ExportRoutes, services).add_to(router, gate)
    StablePhotoRoutes(services.run_access, services.photo_urls).add_to(router, gate)
    _deliveries(DeliveryRoutes, services).add_to(router, gate)
    PhotoServing(services.photo_urls, services.photo_store).add_to(router, gate)


def _add_executor_routes(router: web.UrlDispatcher, services: Services) -> None:
    runs, photo_url, clock = services.run_access, services.photo_urls.for_(IN_ANSWERS), services.clock
    gate = ExecutorGate(services.gate, services.link_owners)
    members = ExecutorMembers(
        gate=services.dashboard,
        sessions=services.sessions,
        organizations=services.organizations,
        clock=clock,
        base_url=services.settings.base_url,
    )
    unused = services.unused_photos
    ExecutorRoutes(runs, members, unused, photo_url, clock).add_to(router, gate)
    ExecutorBatch(runs, members, services.gate, photo_url, clock).add_to(router, gate)
    ChangeRoutes(
        runs=runs,
        index=services.index,
        changes=services.run_changes,
        members=members,
        metrics=services.metrics,
    ).add_to(router, gate)
    PhotoRoutes(
        runs=runs,
        members=members,
        intake=services.photo_intake,
        unused=unused,
        limits=services.limits.limits,
        metrics=services.metrics,
        photo_url=photo_url,
        clock=clock,
    ).add_to(router, gate)
    ReceiptRoutes(
        runs=runs,
        members=members,
        printer=services.pdf_printer,
        slots=receipt_slots(),
        clock=clock,
    ).add_to(router, gate)
    ExecutorApp(
        runs=runs,
        organizations=services.organizations,
        gate=services.gate,
        clock=clock,
        app_links=services.settings.app_links,
        built=WebFiles.read(BUILT / "executor"),
    ).add_to(router)


def _add_sign_in_routes(router: web.UrlDispatcher, services: Services) -> None:
    gate, sessions, sign_in = services.dashboard, services.sessions, services.sign_in
    SessionRoutes(gate, sessions, sign_in, services.oidc, services.clock).add_to(router)
    SignInRoutes(sign_in, gate, services.organizations, services.clock).add_to(router, services.gate)
    if services.oidc is not None:
        OidcRoutes(
            services.oidc,
            sign_in,
            services.settings.sealing,
            services.clock,
            path_prefix=services.settings.path_prefix,
        ).add_to(router, services.gate)
    AccountRoutes(gate, sessions, sign_in, services.clock).add_to(router)


def dashboard_table(services: Services) -> list[Route]:
    """Return all routes below an organization with their roles."""
    settings, runs, clock = services.settings, services.run_access, services.clock
    parts = (
        _templates(DashboardTemplateRoutes, services),
        TemplateDeletionRoutes(services.templates, services.index, clock),
        _runs(DashboardRunRoutes, services),
        RunStoryRoutes(runs, services.members, services.photo_urls.for_(IN_ANSWERS), clock, run_link=settings.run_link),
        OverviewRoutes(index=services.index, deliveries=services.deliveries, archived=services.archived, clock=clock),
        SearchRoutes(
            index=services.index,
            access=runs,
            templates=services.templates,
            members=services.members,
            clock=clock,
        ),
        _exports(DashboardExportRoutes, services),
        DashboardPhotoRoutes(runs, services.photo_urls),
        _deliveries(DashboardDeliveryRoutes, services),
        KeyRoutes(services.keys, services.api_keys, services.members, services.audit),
        MemberRoutes(
            members=services.members,
            admin=services.member_admin,
            accounts=services.accounts,
            limits=services.limits,
            audit=services.audit,
            local_accounts=settings.sign_in.local_accounts,
            base_url=settings.base_url,
            namespace=settings.namespace,
        ),
        DashboardUsageRoutes(services.usage),
        AuditRoutes(services.audit_index, services.watcher, clock),
        EventRoutes(services.live, services.dashboard, services.organizations, services.client, services.metrics),
    )
    return [route for part in parts for route in part.routes()]


def _templates(kind: type[_Templates], services: Services) -> _Templates:
    return kind(
        catalogue=services.templates,
        writer=services.template_writer,
        versions=services.template_versions,
        generator=services.generator,
        idempotency=services.idempotency,
        audit=services.audit,
        path_prefix=services.settings.path_prefix,
    )


def _runs(kind: type[_Runs], services: Services) -> _Runs:
    settings = services.settings
    return kind(
        dispatcher=services.dispatcher,
        runs=services.run_access,
        waits=services.run_waits,
        index=services.index,
        archived=services.archived,
        organizations=services.organizations,
        idempotency=services.idempotency,
        audit=services.audit,
        photo_url=services.photo_urls.for_(IN_ANSWERS),
        clock=services.clock,
        run_link=settings.run_link,
        path_prefix=settings.path_prefix,
        insecure_targets=settings.insecure_targets,
    )


def _exports(kind: type[_Exports], services: Services) -> _Exports:
    return kind(
        runs=services.run_access,
        index=services.index,
        archived=services.archived,
        members=services.members,
        slots=services.export_slots,
        printer=services.pdf_printer,
        clock=services.clock,
        base_url=services.settings.base_url,
    )


def _deliveries(kind: type[_Deliveries], services: Services) -> _Deliveries:
    return kind(
        deliveries=services.delivery_access,
        index=services.deliveries,
        replays=services.replays,
        runs=services.run_access,
        run_index=services.index,
        archived=services.archived,
        idempotency=services.idempotency,
        audit=services.audit,
        path_prefix=services.settings.path_prefix,
    )
