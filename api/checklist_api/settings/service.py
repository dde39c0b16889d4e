"""Settings of the API process, read from the environment (docs/settings.md); `--help` prints the same.

Read and validated at start. Secrets and certificates in files are reloaded when they change
(`checklist_crds.settings.rotation`).
"""

import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import Field

from checklist_crds.secrets.sealing import executor_link
from checklist_crds.settings.declaring import setting
from checklist_crds.settings.forms import BaseUrl, Switch, Text, Whole, is_loopback
from checklist_crds.settings.reading import InvalidSetting, read
from checklist_crds.settings.shared import BASE_URL, BASE_URL_SCHEMA, NAMESPACE, SERVER_KEY, SharedSettings, SigningKeys
from checklist_crds.settings.table import help_text as table

from .app_links import AppLinks
from .language_model import ModelSettings
from .rates import DEFAULT_RATE, DEFAULT_RUN_RATE, Rates
from .sign_in import RATE_SCHEMA, Limit, SignInSettings

__all__ = ["InvalidSetting", "Settings", "help_text"]

_CLUSTER: Final = "The cluster is that of KUBECONFIG, else of ~/.kube/config, else of the pod's service account."
_EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - named, not listened on


class Settings(SharedSettings):
    title = "API"

    namespace: str = setting(..., NAMESPACE)
    server_key: SigningKeys = setting(..., SERVER_KEY, secret=True)
    port: Whole = setting(8080, "port to listen on", ge=1, le=65_535)
    base_url: BaseUrl = setting(
        None,
        BASE_URL,
        default_text="http://HOST:PORT",
        default_from=lambda before: f"http://{_in_url(before['host'])}:{before['port']}",
        schema=BASE_URL_SCHEMA,
    )
    rate: Limit = setting(
        DEFAULT_RATE,
        'rate limit per API key, or "off"',
        variable="RATE_LIMIT",
        default_text="100/s burst 200",
        schema=RATE_SCHEMA,
    )
    """None: unlimited."""
    address_rate: Limit = setting(
        None,
        'rate limit per client address where no key is needed: preview, executor routes, pages; or "off"',
        variable="ADDRESS_RATE_LIMIT",
        default_text="as CHECKLISTS_RATE_LIMIT",
        default_from=lambda before: before["rate"],
        schema=RATE_SCHEMA,
    )
    run_rate: Limit = setting(
        None,
        'rate limit of executor routes per run, or "off"',
        variable="RUN_RATE_LIMIT",
        default_text="50/s burst 300; off where CHECKLISTS_RATE_LIMIT is",
        default_from=lambda before: None if before["rate"] is None else DEFAULT_RUN_RATE,
        schema=RATE_SCHEMA,
    )
    upload_folder: Annotated[Path, Text(Path)] = setting(
        None,
        "folder for uploads in progress and the list of archived runs; each replica needs its own",
        default_text="the system's for temporary files",
        default_from=lambda _: Path(tempfile.gettempdir()),
    )
    photo_workers: Whole = setting(1, "processes that decode uploaded photos", ge=1, le=64)
    trusted_proxies: Whole = setting(
        0, "number of trusted proxies in front, for X-Forwarded-For; 0: the header is ignored", ge=0, le=16
    )
    access_log: Switch = setting(False, "1 logs every request")
    app_links: AppLinks = Field(default_factory=AppLinks)
    model: ModelSettings | None = None
    """None: only the built-in composer generates templates."""
    sign_in: SignInSettings = Field(default_factory=SignInSettings)

    @property
    def rates(self) -> Rates:
        return Rates(key=self.rate, address=self.address_rate, run=self.run_rate)

    @property
    def path_prefix(self) -> str:
        """External path prefix before `/v1`: `/checklists` behind a proxy that strips it, else empty."""
        return urlsplit(self.base_url).path

    def run_link(self, organization: str, run_id: str) -> str:
        """Return the link for the executor, which allows answering the run (contract section 6). `organization`: public
        id of the run's organization."""
        return executor_link(self.base_url, self.server_key, organization, run_id)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings. Raises InvalidSetting."""
        return read(cls, environment)

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        yield from super().contradictions(given)
        if "CHECKLISTS_BASE_URL" not in given and self.host in _EVERYWHERE:
            yield f"CHECKLISTS_BASE_URL is not set, but CHECKLISTS_HOST is {self.host}: links would not work"
        if self.base_url.startswith("http:") and not is_loopback(self.base_url):
            wanted = [name for name in ("CHECKLISTS_OIDC_ISSUER", "CHECKLISTS_LOCAL_ACCOUNTS") if name in given]
            if wanted and (self.sign_in.oidc is not None or self.sign_in.local_accounts):
                # Browsers reject Secure cookies of such a URL. (A warning suffices without sign-in settings.)
                yield f"{wanted[0]} is set, but CHECKLISTS_BASE_URL is not https://: sessions would not work"


def help_text() -> str:
    """Return the table for `--help`."""
    return table(Settings, _CLUSTER)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
