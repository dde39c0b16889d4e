"""`/r/...`: the executor's app and its page.

The page needs no token; opening it, also by messengers, changes nothing. Even error pages contain the app, so that a
person with unsent answers sees their state.
"""

import logging
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from checklist_crds.errors import NotFound, RunExpired, RunNotFound, ServiceError, ServiceUnavailable
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.resources.run import Run, RunPhase
from checklist_crds.times import Clock

from ..auth.gate import Gate
from ..http.middleware import unavailable
from ..organizations.directory import OrganizationDirectory
from ..pages.markup import SECURITY_HEADERS
from ..pages.web_files import BUILT, PAGE, WebFiles
from ..runs.access import RunAccess
from ..runs.models import RunPreview
from ..settings.app_links import AppLinks
from .page import ExecutorPage
from .page_texts import PageTexts, texts_for

logger = logging.getLogger(__name__)

_CLOSED: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# blob: is for photos and drawings that are not uploaded yet, data: for icons in the style sheet.
PAGE_POLICY: Final = (
    f"{_CLOSED}; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; "
    # No text becomes HTML or a script; the policy `service-worker` is for the app's service worker (`updates.ts`).
    "require-trusted-types-for 'script'; trusted-types service-worker"
)
# The service worker has a policy of its own, which covers its fetches.
FILE_POLICY: Final = f"{_CLOSED}; script-src 'self'; connect-src 'self'"
# Only this page may use camera and location.
PAGE_PERMISSIONS: Final = "camera=(self), geolocation=(self), microphone=(), payment=(), usb=()"
_PLAIN: Final[Mapping[str, str]] = {}
_BY_LANGUAGE: Final[Mapping[str, str]] = {"Vary": "Accept-Language"}


class ExecutorApp:
    """The handlers. Files have precedence: run ids do not collide with their names."""

    def __init__(
        self,
        *,
        runs: RunAccess,
        organizations: OrganizationDirectory,
        gate: Gate,
        clock: Clock,
        app_links: AppLinks,
        built: WebFiles,
    ) -> None:
        self._runs = runs
        self._organizations = organizations
        self._clock = clock
        self._files = built.files
        self._page = ExecutorPage(built.page, app_links)
        self._limited = gate.public(self._run_page)
        if built.page is None:
            logger.warning("executor_app.not_built", extra={"folder": str(BUILT), "remedy": "make web"})

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_get("/r", self.to_folder)
        router.add_get("/r/", self.without_run)
        router.add_get("/r/{run_id}", self.page)
        router.add_get("/r/{folder}/{name}", self.file)

    async def to_folder(self, _: web.Request) -> web.StreamResponse:
        """Redirect to the folder: links of the page are relative to it. So is this one, for a path prefix."""
        return web.Response(status=302, headers={"Location": "r/", **SECURITY_HEADERS})

    async def without_run(self, request: web.Request) -> web.StreamResponse:
        """Say that the link is cut. The app opens the last run of the device, if there is one."""
        return self._refusal(RunNotFound(), texts_for(request.headers.get("Accept-Language", "")))

    async def page(self, request: web.Request) -> web.StreamResponse:
        """Serve a file of the app, the page without a run, or the page of a run."""
        name = request.match_info["run_id"]
        if name == PAGE:
            return _html(self._page.empty(), cache="no-cache")
        if (file := self._files.get(name)) is not None:
            return file.response(request, {"Content-Security-Policy": FILE_POLICY})
        return await self._limited(request)

    async def file(self, request: web.Request) -> web.StreamResponse:
        file = self._files.get(f"{request.match_info['folder']}/{request.match_info['name']}")
        if file is None:
            raise NotFound()
        return file.response(request)

    async def _run_page(self, request: web.Request) -> web.StreamResponse:
        texts = texts_for(request.headers.get("Accept-Language", ""))
        try:
            run = await self._runs.by_id(request.match_info["run_id"])
            if run.phase_at(self._clock()) is RunPhase.EXPIRED:
                raise RunExpired()
            return _html(self._page.of_run(await self._preview(run), texts), headers=_BY_LANGUAGE)
        except (RunNotFound, RunExpired) as error:
            return self._refusal(error, texts)
        except (KubeUnavailable, ServiceUnavailable) as error:
            refusal = error if isinstance(error, ServiceUnavailable) else unavailable(error)
            return self._refusal(refusal, texts)

    async def _preview(self, run: Run) -> RunPreview:
        organization = await self._organizations.get(run.resolved.organization) if run.resolved is not None else None
        if organization is None:
            raise RunNotFound()
        return RunPreview.of(run, organization, self._clock())

    def _refusal(self, error: ServiceError, texts: PageTexts) -> web.Response:
        headers = {**_BY_LANGUAGE, **error.headers}
        return _html(self._page.refusal(error, texts), status=error.status, headers=headers)


def _html(
    text: str, *, status: int = 200, cache: str = "no-store", headers: Mapping[str, str] = _PLAIN
) -> web.Response:
    all_headers = {
        **SECURITY_HEADERS,
        "Content-Security-Policy": PAGE_POLICY,
        "Permissions-Policy": PAGE_PERMISSIONS,
        "Cache-Control": cache,
        **headers,
    }
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8", headers=all_headers)
