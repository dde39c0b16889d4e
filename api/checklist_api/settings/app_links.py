"""Native apps that may open a run's link instead of the page (contract section 6).

Apple and Google request the association from the service; the page offers the app store.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from checklist_crds.settings.declaring import Group, setting
from checklist_crds.settings.forms import LIST_SCHEMA, Text, listed, shown

_APPLE_APP: Final = re.compile(r"[A-Z0-9]{10}\.[A-Za-z0-9.-]{1,155}")
_APPLE_STORE_ID: Final = re.compile(r"[0-9]{5,12}")
_ANDROID_APP: Final = re.compile(
    r"(?P<package>[A-Za-z]\w*(?:\.[A-Za-z]\w*)+) (?P<print>[0-9A-F]{2}(?::[0-9A-F]{2}){31})"
)
_LINKS: Final = "/r/r-*"


@dataclass(frozen=True, slots=True)
class AndroidApp:
    """A package and the SHA-256 of its signing certificate, as `AA:BB:...`."""

    package: str
    fingerprint: str


def _apple_app(app: str) -> str:
    if not _APPLE_APP.fullmatch(app):
        raise ValueError(f"must be like ABCDE12345.com.example.app, not {shown(app)}")
    return app


def _apple_store_id(text: str) -> str:
    if not _APPLE_STORE_ID.fullmatch(text):
        raise ValueError(f"must be the number of the app in the store, not {shown(text)}")
    return text


def _android_app(app: str) -> AndroidApp:
    match = _ANDROID_APP.fullmatch(app)
    if match is None:
        raise ValueError(
            "must be like `com.example.app AA:BB:...` (the package, and the SHA-256 of its signing certificate), "
            f"not {shown(app)}"
        )
    return AndroidApp(match["package"], match["print"])


class AppLinks(Group):
    """Configured apps; empty by default."""

    title = "Native apps"

    apple_apps: Annotated[tuple[str, ...], Text(lambda text: tuple(map(_apple_app, listed(text))))] = setting(
        (),
        "apps that run links open on Apple's systems: TEAMID.bundle.id, comma-separated",
        schema=LIST_SCHEMA,
    )
    """`TEAMID.bundle.identifier`"""
    apple_store_id: Annotated[str | None, Text(_apple_store_id)] = setting(
        None,
        "number of the app in Apple's App Store, which the page offers",
        schema={"anyOf": [{"type": "string", "pattern": "^[0-9]{5,12}$"}, {"type": "integer", "minimum": 10_000}]},
    )
    android_apps: Annotated[tuple[AndroidApp, ...], Text(lambda text: tuple(map(_android_app, listed(text))))] = (
        setting(
            (),
            "apps that run links open on Android, comma-separated: package, a space, SHA-256 of its signing "
            "certificate",
            schema=LIST_SCHEMA,
        )
    )

    @property
    def apple_store(self) -> str | None:
        """URL of the app in Apple's store."""
        return f"https://apps.apple.com/app/id{self.apple_store_id}" if self.apple_store_id else None

    @property
    def google_store(self) -> str | None:
        """URL of the (first) app in Google's store."""
        if not self.android_apps:
            return None
        return f"https://play.google.com/store/apps/details?id={self.android_apps[0].package}"

    def apple_association(self) -> dict[str, Any]:
        """Return `apple-app-site-association`, which assigns run links only to the apps."""
        component = {"/": _LINKS, "comment": "Link to a checklist"}
        return {"applinks": {"details": [{"appIDs": list(self.apple_apps), "components": [component]}]}}

    def android_association(self) -> list[dict[str, Any]]:
        """Return `assetlinks.json`."""
        return [
            {
                "relation": ["delegate_permission/common.handle_all_urls"],
                "target": {
                    "namespace": "android_app",
                    "package_name": app.package,
                    "sha256_cert_fingerprints": [app.fingerprint],
                },
            }
            for app in self.android_apps
        ]
