"""The native apps that a run's link may open instead of the page (contract section 6), as the installation names them.

Apple and Google ask the service itself, at fixed addresses, which apps may take its links; the page offers the store
when an app is named.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_APPLE_APP: Final = re.compile(r"[A-Z0-9]{10}\.[A-Za-z0-9.-]{1,155}")
_APPLE_STORE_ID: Final = re.compile(r"[0-9]{5,12}")
_ANDROID_APP: Final = re.compile(
    r"(?P<package>[A-Za-z]\w*(?:\.[A-Za-z]\w*)+) (?P<print>[0-9A-F]{2}(?::[0-9A-F]{2}){31})"
)
_LINKS: Final = "/r/r-*"


@dataclass(frozen=True, slots=True)
class AndroidApp:
    """A package and the SHA-256 of the certificate that it is signed with, as `AA:BB:...`."""

    package: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class AppLinks:
    """What the settings name; empty by default, and then the browser is all there is."""

    apple_apps: tuple[str, ...] = ()
    """`TEAMID.bundle.identifier`"""
    apple_store_id: str | None = None
    android_apps: tuple[AndroidApp, ...] = ()

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "AppLinks":
        """Raises ValueError with one line."""
        apple = _listed(env, "CHECKLISTS_APPLE_APPS")
        store = env.get("CHECKLISTS_APPLE_STORE_ID", "").strip() or None
        for app in apple:
            if not _APPLE_APP.fullmatch(app):
                raise ValueError(f"CHECKLISTS_APPLE_APPS must be like ABCDE12345.com.example.app, not {app!r}")
        if store is not None and not _APPLE_STORE_ID.fullmatch(store):
            raise ValueError(f"CHECKLISTS_APPLE_STORE_ID must be the number of the app in the store, not {store!r}")
        android = []
        for app in _listed(env, "CHECKLISTS_ANDROID_APPS"):
            match = _ANDROID_APP.fullmatch(app)
            if match is None:
                raise ValueError(
                    "CHECKLISTS_ANDROID_APPS must be like `com.example.app AA:BB:...` (the package, and the SHA-256 of "
                    f"its signing certificate), not {app!r}"
                )
            android.append(AndroidApp(match["package"], match["print"]))
        return cls(tuple(apple), store, tuple(android))

    @property
    def apple_store(self) -> str | None:
        """The address of the app in Apple's store."""
        return f"https://apps.apple.com/app/id{self.apple_store_id}" if self.apple_store_id else None

    @property
    def google_store(self) -> str | None:
        """The address of the (first) app in Google's store."""
        if not self.android_apps:
            return None
        return f"https://play.google.com/store/apps/details?id={self.android_apps[0].package}"

    def apple_association(self) -> dict[str, Any]:
        """`apple-app-site-association`: run links, and nothing else of the service, belong to the apps."""
        component = {"/": _LINKS, "comment": "A checklist that was sent to somebody"}
        return {"applinks": {"details": [{"appIDs": list(self.apple_apps), "components": [component]}]}}

    def android_association(self) -> list[dict[str, Any]]:
        """`assetlinks.json`."""
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


def _listed(env: Mapping[str, str], name: str) -> list[str]:
    return [part.strip() for part in env.get(name, "").split(",") if part.strip()]
