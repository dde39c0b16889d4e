"""Known names of settings, `CHECKLISTS_*`, and suggestions for unknown ones.

API and operator usually share an environment, but cannot import each other, so the names of both are listed here; a
test and `python -m checklist_dev.generate settings --check` compare the lists with the models.
"""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from .declaring import PREFIX

SUFFIX: Final = "_FILE"
"""Suffix of a setting that names a file with a secret, instead of the secret itself."""

BOTH: Final = frozenset(
    {
        "CHECKLISTS_ALLOW_INSECURE_TARGETS",
        "CHECKLISTS_ARCHIVE_STORE",
        "CHECKLISTS_BASE_URL",
        "CHECKLISTS_HOST",
        "CHECKLISTS_INTERNAL_RECEIVERS",
        "CHECKLISTS_LOG_LEVEL",
        "CHECKLISTS_MAX_ACCOUNTS",
        "CHECKLISTS_MAX_API_KEYS",
        "CHECKLISTS_MAX_AUDIT_ENTRIES",
        "CHECKLISTS_MAX_IDEMPOTENCY_KEYS",
        "CHECKLISTS_MAX_MEMBERS",
        "CHECKLISTS_MAX_RUN_BYTES",
        "CHECKLISTS_MAX_TEMPLATES",
        "CHECKLISTS_MAX_TEMPLATE_BYTES",
        "CHECKLISTS_MAX_VERSIONS",
        "CHECKLISTS_NAMESPACE",
        "CHECKLISTS_OTLP_ENDPOINT",
        "CHECKLISTS_PHOTO_STORE",
        "CHECKLISTS_S3_ACCESS_KEY_ID",
        "CHECKLISTS_S3_ACCESS_KEY_ID_FILE",
        "CHECKLISTS_S3_SECRET_ACCESS_KEY",
        "CHECKLISTS_S3_SECRET_ACCESS_KEY_FILE",
        "CHECKLISTS_SEALING_KEYS",
        "CHECKLISTS_SEALING_KEYS_FILE",
        "CHECKLISTS_SERVER_KEY",
        "CHECKLISTS_SERVER_KEY_FILE",
        "CHECKLISTS_WATCH_NAMESPACES",
    }
)
API: Final = frozenset(
    {
        "CHECKLISTS_ACCESS_LOG",
        "CHECKLISTS_ADDRESS_RATE_LIMIT",
        "CHECKLISTS_ANDROID_APPS",
        "CHECKLISTS_APPLE_APPS",
        "CHECKLISTS_APPLE_STORE_ID",
        "CHECKLISTS_LOCAL_ACCOUNTS",
        "CHECKLISTS_MODEL_CA_FILE",
        "CHECKLISTS_MODEL_COST_PER_DAY",
        "CHECKLISTS_MODEL_FALLBACK",
        "CHECKLISTS_MODEL_KEY",
        "CHECKLISTS_MODEL_KEY_FILE",
        "CHECKLISTS_MODEL_LIMIT",
        "CHECKLISTS_MODEL_MAX_TOKENS",
        "CHECKLISTS_MODEL_NAME",
        "CHECKLISTS_MODEL_PRICES",
        "CHECKLISTS_MODEL_PROXY",
        "CHECKLISTS_MODEL_TIMEOUT",
        "CHECKLISTS_MODEL_TOKENS_PER_DAY",
        "CHECKLISTS_MODEL_URL",
        "CHECKLISTS_OIDC_CA_FILE",
        "CHECKLISTS_OIDC_CLIENT_ID",
        "CHECKLISTS_OIDC_CLIENT_SECRET",
        "CHECKLISTS_OIDC_CLIENT_SECRET_FILE",
        "CHECKLISTS_OIDC_ISSUER",
        "CHECKLISTS_OIDC_NAME",
        "CHECKLISTS_OIDC_SCOPES",
        "CHECKLISTS_OIDC_TRUST_EMAIL",
        "CHECKLISTS_PHOTO_WORKERS",
        "CHECKLISTS_PORT",
        "CHECKLISTS_RATE_LIMIT",
        "CHECKLISTS_REDIS_CA_FILE",
        "CHECKLISTS_REDIS_PASSWORD",
        "CHECKLISTS_REDIS_PASSWORD_FILE",
        "CHECKLISTS_REDIS_URL",
        "CHECKLISTS_RUN_RATE_LIMIT",
        "CHECKLISTS_SESSION_HOURS",
        "CHECKLISTS_SESSION_IDLE_MINUTES",
        "CHECKLISTS_SIGN_IN_RATE_LIMIT",
        "CHECKLISTS_TRUSTED_PROXIES",
        "CHECKLISTS_UPLOAD_FOLDER",
    }
)
OPERATOR: Final = frozenset(
    {
        "CHECKLISTS_ALLOWED_ADDRESSES",
        "CHECKLISTS_ARCHIVE",
        "CHECKLISTS_CA_FILE",
        "CHECKLISTS_CLAIMS_PER_SECOND",
        "CHECKLISTS_DENIED_ADDRESSES",
        "CHECKLISTS_DNS_SERVERS",
        "CHECKLISTS_MAX_DELIVERIES",
        "CHECKLISTS_MAX_DELIVERIES_PER_HOST",
        "CHECKLISTS_MAX_DELIVERIES_PER_ORGANIZATION",
        "CHECKLISTS_OPERATOR_ID",
        "CHECKLISTS_OPERATOR_PORT",
        "CHECKLISTS_PHOTO_ORPHAN_SECONDS",
        "CHECKLISTS_PHOTO_SWEEP_SECONDS",
        "CHECKLISTS_RESYNC_SECONDS",
        "CHECKLISTS_RETRY_GAPS",
        "CHECKLISTS_RETRY_JITTER",
        "CHECKLISTS_REVISION_GRACE_SECONDS",
        "CHECKLISTS_SIGNATURE_EXPIRES",
        "CHECKLISTS_SWEEP_LINK_SECRETS",
        "CHECKLISTS_SWEEP_SECONDS",
    }
)
TOOLS: Final = frozenset(
    {
        "CHECKLISTS_ALL_CUTS",
        "CHECKLISTS_API_KEY",
        "CHECKLISTS_CHROMIUM",
        "CHECKLISTS_ETCD_DOWNLOADS",
        "CHECKLISTS_FULL_BROWSER",
        "CHECKLISTS_HOSTILE_ROUNDS",
        "CHECKLISTS_IMAGE_BASE",
        "CHECKLISTS_INSTALLER",
        "CHECKLISTS_KUBERNETES_DOWNLOADS",
        "CHECKLISTS_PROMPT_EXAMPLES",
        "CHECKLISTS_SCREENSHOTS",
        "CHECKLISTS_SERVICE",
        "CHECKLISTS_SURFACE",
        "CHECKLISTS_TEST_IMAGE",
        "CHECKLISTS_TEST_KUBECONFIG",
        "CHECKLISTS_TEST_NODE",
        "CHECKLISTS_WEBHOOK_SECRET",
    }
)
"""Of the command line and of development: they may be in the same environment."""

RETIRED: Final = {
    "CHECKLISTS_SHARD": "one operator does all of the work; end those of other shards before you start this version",
}
"""Settings of earlier versions, and what to know without them."""

_LINK: Final = re.compile(rf"{PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")
_LINK_VALUE: Final = re.compile(r"(tcp|udp|sctp)://\S+:\d+")


def without_service_links(environment: Mapping[str, str]) -> dict[str, str]:
    """Removes variables that Kubernetes sets for Services in a pod's namespace: for one named `checklists` or
    `checklists-api` they look like settings, and `CHECKLISTS_PORT=tcp://10.0.0.7:80` even has the name of one. (The
    chart disables them: `enableServiceLinks: false`.)"""
    return {
        name: value
        for name, value in environment.items()
        if not (_LINK.fullmatch(name) or (name.endswith("_PORT") and _LINK_VALUE.fullmatch(value)))
    }


def unknown_names(environment: Mapping[str, str], own: Collection[str]) -> Iterator[str]:
    """Yields a line for each unknown name. Values are never repeated: they may be secrets."""
    known = {*own, *BOTH, *API, *OPERATOR, *TOOLS}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            yield f"{name} is not a setting{_guess(name, known)}"


def _guess(name: str, known: Collection[str]) -> str:
    if name in RETIRED:
        return f" any more: {RETIRED[name]}"
    bare = {one.removeprefix(PREFIX): one for one in known}
    near = difflib.get_close_matches(name.removeprefix(PREFIX), sorted(bare), n=1, cutoff=0.7)
    return f" (did you mean {bare[near[0]]}?)" if near else ""
