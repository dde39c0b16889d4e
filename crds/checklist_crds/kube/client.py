"""A thin client of the Kubernetes API: JSON in, JSON out, one connection pool.

A generated client costs three times as much per call; configuration (kubeconfig, service account, token refresh) comes
from the official `kubernetes` package. It only retries refusals for load (429): callers know what else is safe to
retry.
"""

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from yarl import URL

from ..resources.kinds import Kind
from ..values.json_text import JsonObject, from_cluster_json, to_json
from .errors import (
    KubeConflict,
    KubeContended,
    KubeError,
    KubeGone,
    KubeInvalid,
    KubeOutcomeUnknown,
    KubeUnavailable,
    from_status,
)
from .official import import_only_what_is_used

_MERGE_PATCH: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_METADATA_PAGE: Final = 500
_WATCH_SECONDS: Final = 300
_UNKNOWN_OUTCOMES: Final = (500, 502, 504)
"""Statuses after which a write may have been done: a server on the way to etcd timed out."""
# Bookmarks arrive about once a minute; a watch that is silent for longer is dead.
_WATCH_SILENCE_S: Final = 90
_TOO_MANY: Final = 429
# A 429 means that nothing was done, whatever the method; it happens while the watch cache of a new kind fills. All
# pauses together are shorter than the time in which callers must learn that the cluster is down.
_TOO_MANY_PAUSES_S: Final = (0.1, 0.2, 0.4, 0.6)
# PartialObjectMetadata: the server sends only the metadata of each object.
_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


@dataclass(frozen=True, slots=True)
class KubeConnection:
    """Address of the Kubernetes API and credentials."""

    server: str
    tls: ssl.SSLContext | None
    headers: Callable[[], Mapping[str, str]]
    namespace: str | None = None
    """Of the context, or of the pod; None: not set."""

    @classmethod
    async def load(cls, kubeconfig: str | None = None, *, context: str | None = None) -> "KubeConnection":
        """Loads `kubeconfig`, KUBECONFIG or ~/.kube/config, else the pod's service account. Raises KubeError.

        `context`: a context of the configuration other than its current one.
        """
        import_only_what_is_used()
        from kubernetes.aio import config
        from kubernetes.aio.client import Configuration

        configuration = Configuration()
        kubeconfig = kubeconfig or os.environ.get("KUBECONFIG")
        in_pod = kubeconfig is None and context is None and _SERVICE_ACCOUNT.exists()
        namespace = None
        try:
            if in_pod:
                config.load_incluster_config(client_configuration=configuration)
                with contextlib.suppress(OSError):  # a projected volume may have the token alone
                    namespace = _SERVICE_ACCOUNT.with_name("namespace").read_text("utf-8").strip()
            else:
                loader = await config.load_kube_config(
                    config_file=kubeconfig, context=context, client_configuration=configuration
                )
                namespace = loader.current_context["context"].get("namespace")
        except (config.ConfigException, OSError) as error:
            raise KubeError(f"no usable Kubernetes configuration: {error}") from None
        tls = None
        if configuration.host.startswith("https"):
            tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
            if not configuration.verify_ssl:
                tls.check_hostname = False
                tls.verify_mode = ssl.CERT_NONE
            if configuration.cert_file:
                tls.load_cert_chain(configuration.cert_file, configuration.key_file)

        def headers() -> Mapping[str, str]:
            if configuration.refresh_api_key_hook is not None:
                # In a pod: reads the token's file at most once a minute (the kubelet renews it after four fifths of its
                # lifetime). If that fails, the old token may still be valid.
                with contextlib.suppress(OSError, config.ConfigException):
                    configuration.refresh_api_key_hook(configuration)
            token = configuration.api_key.get("BearerToken") or configuration.api_key.get("authorization")
            if not token:
                return {}
            return {"Authorization": token if " " in token else f"Bearer {token}"}

        return cls(configuration.host.rstrip("/"), tls, headers, namespace)


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """ADDED, MODIFIED, DELETED or BOOKMARK, with its object."""

    type: str
    object: JsonObject


class KubeClient:
    """Client of the Kubernetes API. All methods raise only KubeError and CancelledError."""

    def __init__(
        self,
        connection: KubeConnection,
        *,
        pool_size: int = 64,
        answer_within_s: float = 10.0,
        namespaces: Sequence[str] = (),
        check: Callable[[Kind, JsonObject], None] = lambda _, __: None,
    ) -> None:
        """`answer_within_s`: timeout of one call, without waiting for a connection.

        `namespaces`: all namespaces to use if the service account may not list a kind cluster-wide; empty for all.
        `check`: called first with every object from the server; it may change the object.
        """
        self._check = check
        self._namespaces = tuple(dict.fromkeys(namespaces))
        self._connection = connection
        self._base = connection.server
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=pool_size, ssl=connection.tls or True, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=min(answer_within_s, 5.0), sock_read=answer_within_s
            ),
            headers={"Accept": "application/json", "User-Agent": "checklist-dispatch"},
            auto_decompress=True,
            trust_env=False,
        )
        # aiohttp repeats a PUT or DELETE after a lost connection, although it may have been done: the second one then
        # conflicts with the first. The only use of a private name of aiohttp; a test fails if it loses its effect.
        self._session._retry_connection = False
        self._watch_session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=connection.tls or True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5.0, sock_read=_WATCH_SILENCE_S),
            read_bufsize=2**20,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._session.close()
        await self._watch_session.close()

    @property
    def default_namespace(self) -> str | None:
        """Returns the namespace of the kubeconfig's context or of the pod, if it is set."""
        return self._connection.namespace

    def places(self, kind: Kind, namespace: str | None = None) -> tuple[str | None, ...]:
        """Returns the namespaces to list or watch `kind` in; None stands for all at once."""
        if namespace is not None or not kind.namespaced or not self._namespaces:
            return (namespace,)
        return self._namespaces

    async def get(
        self, kind: Kind, name: str, namespace: str | None = None, *, not_older_than: str | None = None
    ) -> JsonObject:
        """Reads from etcd; with `not_older_than` (a resource version), from the API server's cache."""
        params = {"resourceVersion": not_older_than} if not_older_than is not None else None
        return self._checked(kind, await self._call("GET", kind.path(namespace, name), params=params))

    async def create(self, kind: Kind, body: Mapping[str, Any], namespace: str | None = None) -> JsonObject:
        """Raises KubeAlreadyExists, KubeInvalid."""
        return self._checked(kind, await self._call("POST", kind.path(namespace), body=body))

    async def replace(
        self, kind: Kind, body: Mapping[str, Any], *, subresource: str | None = None, dry_run: bool = False
    ) -> JsonObject:
        """Sends a PUT, conditional on the resourceVersion and uid in `body`. Raises KubeConflict when it is stale.

        `dry_run`: validates and admits the request without writing.
        """
        metadata = body["metadata"]
        path = kind.path(metadata.get("namespace"), metadata["name"], subresource)
        params = {"dryRun": "All"} if dry_run else None
        return self._checked(kind, await self._call("PUT", path, body=body, params=params))

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Mapping[str, Any],
        namespace: str | None = None,
        *,
        resource_version: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        """Sends a merge patch; with `resource_version` it is conditional and raises KubeConflict when stale."""
        body = dict(patch)
        if resource_version is not None:
            body["metadata"] = {**body.get("metadata", {}), "resourceVersion": resource_version}
        path = kind.path(namespace, name, subresource)
        return self._checked(kind, await self._call("PATCH", path, body=body, content_type=_MERGE_PATCH))

    async def patch_status(
        self,
        kind: Kind,
        name: str,
        status: Mapping[str, Any],
        namespace: str | None = None,
        *,
        resource_version: str | None = None,
    ) -> JsonObject:
        """Sends a merge patch of the status subresource."""
        return await self.patch(
            kind, name, {"status": status}, namespace, resource_version=resource_version, subresource="status"
        )

    async def json_patch_status(
        self, kind: Kind, name: str, operations: Sequence[Mapping[str, Any]], namespace: str | None = None
    ) -> JsonObject:
        """Sends a JSON Patch (RFC 6902) of the status subresource. Raises KubeConflict when it cannot be applied, for
        example when a test fails.

        Unknown fields are dropped without a warning, which would cost the server time.
        """
        path, params = kind.path(namespace, name, "status"), {"fieldValidation": "Ignore"}
        body = await self._call("PATCH", path, body=operations, params=params, content_type=_JSON_PATCH)
        return self._checked(kind, body)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        resource_version: str | None = None,
        uid: str | None = None,
    ) -> None:
        """With `resource_version`, deletes only that version; with `uid`, only that object (else KubeConflict)."""
        options: JsonObject = {"propagationPolicy": "Background"}
        preconditions = {"resourceVersion": resource_version, "uid": uid}
        if any(preconditions.values()):
            options["preconditions"] = {key: value for key, value in preconditions.items() if value is not None}
        await self._call("DELETE", kind.path(namespace, name), body=options)

    async def list_all(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        field_selector: str | None = None,
        label_selector: str | None = None,
    ) -> tuple[list[JsonObject], str]:
        """Returns all objects, and the resource version to start a watch from."""
        items: list[JsonObject] = []
        version = ""
        pages = self.pages(kind, namespace, field_selector=field_selector, label_selector=label_selector)
        async for page, listed_at in pages:
            items += page
            version = listed_at
        return items, version

    async def pages(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        field_selector: str | None = None,
        label_selector: str | None = None,
        metadata_only: bool = False,
        page: int | None = None,
        exactly_at: str | None = None,
    ) -> AsyncIterator[tuple[list[JsonObject], str]]:
        """Yields all objects page by page, each with the list's resource version.

        `page`: objects per page, if not the default of the kind.
        Selectors apply to the whole object, also with `metadata_only`.
        `exactly_at`: the state at that resource version, which may come from another kind's list. Raises KubeGone when
        the cluster no longer has it, which happens after some minutes.
        """
        accept = _METADATA_ONLY.format("List") if metadata_only else None
        for place in self.places(kind, namespace):
            params = _selectors(field_selector, label_selector) | {
                "limit": str(page or _page_of(kind, metadata_only=metadata_only))
            }
            if exactly_at is not None:
                params |= {"resourceVersion": exactly_at, "resourceVersionMatch": "Exact"}
            while True:
                listed = await self._call("GET", kind.path(place), params=params, accept=accept)
                metadata = listed.get("metadata") or {}
                items = [self._checked(kind, item) for item in listed.get("items") or ()]
                yield items, str(metadata.get("resourceVersion", ""))
                if not metadata.get("continue"):
                    break
                # The continue token contains the version, and the server refuses both.
                params = {k: v for k, v in params.items() if not k.startswith("resourceVersion")}
                params["continue"] = metadata["continue"]

    async def watch(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        resource_version: str,
        field_selector: str | None = None,
        label_selector: str | None = None,
        metadata_only: bool = False,
        timeout_s: int = _WATCH_SECONDS,
        on_answer: Callable[[], None] = lambda: None,
        silence_s: float | None = None,
    ) -> AsyncIterator[WatchEvent]:
        """Yields changes after `resource_version` until the server ends the stream. Raises KubeGone, KubeUnavailable.

        `on_answer` is called when the server has accepted the watch. With `silence_s`, the server is asked to end the
        stream earlier, and KubeUnavailable is raised after so many seconds without data.
        """
        timeout = self._watch_session.timeout
        if silence_s is not None:
            timeout_s = max(1, int(silence_s * 0.7))
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=5.0, sock_read=silence_s)
        params = _selectors(field_selector, label_selector) | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_s),
        }
        url = URL(self._base + kind.path(namespace), encoded=True).with_query(params)
        headers = dict(self._connection.headers())
        if metadata_only:
            headers["Accept"] = _METADATA_ONLY.format("")
        try:
            async with self._watch_session.get(url, headers=headers, timeout=timeout) as response:
                if response.status != 200:
                    raise from_status(response.status, await _json_or_empty(response))
                on_answer()
                async for line in _lines(response):
                    event = from_cluster_json(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise from_status(int(status.get("code", 500)), status)
                    yield WatchEvent(event["type"], self._checked(kind, event["object"]))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise KubeUnavailable(f"the watch of {kind.plural} broke: {type(error).__name__}") from error

    async def raw_get(self, path: str) -> tuple[int, str]:
        """Returns status and text of any path, for example /readyz."""
        try:
            async with self._session.get(self._base + path, headers=self._connection.headers()) as response:
                return response.status, await response.text()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise KubeUnavailable(f"the Kubernetes API does not answer: {type(error).__name__}") from error

    async def server_time(self) -> datetime | None:
        """Returns the API server's time in whole seconds, or None. Raises KubeUnavailable."""
        try:
            async with self._session.get(f"{self._base}/version", headers=self._connection.headers()) as response:
                return parsedate_to_datetime(response.headers["Date"])
        except (KeyError, ValueError):
            return None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise KubeUnavailable(f"the Kubernetes API does not answer: {type(error).__name__}") from error

    def _checked(self, kind: Kind, body: JsonObject) -> JsonObject:
        self._check(kind, body)
        return body

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        accept: str | None = None,
    ) -> JsonObject:
        headers = dict(self._connection.headers())
        if accept is not None:
            headers["Accept"] = accept
        data = None
        if body is not None:
            try:
                data = to_json(body)
            except ValueError as error:
                raise KubeInvalid(f"the object is no JSON: {error}") from None
            headers["Content-Type"] = content_type
        url = URL(self._base + path, encoded=True)
        if params:
            url = url.with_query(params)
        try:
            for pause_s in (*_TOO_MANY_PAUSES_S, None):
                status, raw = await self._exchange(method, url, data, headers)
                if status != _TOO_MANY or pause_s is None:
                    break
                await asyncio.sleep(pause_s)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            was_sent = method != "GET" and not isinstance(error, aiohttp.ClientConnectorError)
            failure = KubeOutcomeUnknown if was_sent else KubeUnavailable
            raise failure(f"the Kubernetes API does not answer: {type(error).__name__}") from error
        try:
            answer = from_cluster_json(raw)
        except ValueError:
            if status < 400:  # must not be read as an empty list
                failure = KubeUnavailable if method == "GET" else KubeOutcomeUnknown
                raise failure("the Kubernetes API answers with what is no JSON") from None
            answer = {}
        if status >= 400:
            problem = from_status(status, answer if isinstance(answer, dict) else {})
            if method != "GET" and status in _UNKNOWN_OUTCOMES:
                raise KubeOutcomeUnknown(problem.message, status=status)
            raise problem
        if not isinstance(answer, dict):
            raise KubeUnavailable(f"{method} {path}: not a JSON object")
        return answer

    async def _exchange(
        self, method: str, url: URL, data: bytes | None, headers: Mapping[str, str], *, again: bool = True
    ) -> tuple[int, bytes]:
        """Returns status and body. Repeats a read once if the server has closed the kept connection."""
        try:
            async with self._session.request(method, url, data=data, headers=headers) as response:
                return response.status, await response.read()
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            if method != "GET" or not again or isinstance(error, aiohttp.ClientConnectorError):
                raise
        return await self._exchange(method, url, data, headers, again=False)


def _page_of(kind: Kind, *, metadata_only: bool) -> int:
    return _METADATA_PAGE if metadata_only else kind.page


def _selectors(field_selector: str | None, label_selector: str | None) -> dict[str, str]:
    pairs = {"fieldSelector": field_selector, "labelSelector": label_selector}
    return {key: value for key, value in pairs.items() if value}


async def _json_or_empty(response: aiohttp.ClientResponse) -> JsonObject:
    try:
        answer = from_cluster_json(await response.read())
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yields lines of any length: an object may exceed the reader's line limit."""
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line


def conflict_pauses(*, tries: int = 20) -> Iterator[float]:
    """Yields the seconds to wait after each concurrent write. Raises KubeContended after the last of `tries`."""
    for number in range(tries - 1):
        yield min(0.002 * 2**number, 0.1) * (0.5 + os.urandom(1)[0] / 255)
    raise KubeContended("others changed the object at the same time")


async def retry_conflicts(attempt: Callable[[], Any]) -> Any:
    """Runs `attempt` (read, decide, write) again after each concurrent write. Raises KubeContended."""
    pauses_s = conflict_pauses()
    while True:
        try:
            return await attempt()
        except KubeConflict:
            await asyncio.sleep(next(pauses_s))


__all__ = ["JsonObject", "KubeClient", "KubeConnection", "KubeGone", "WatchEvent", "conflict_pauses", "retry_conflicts"]
