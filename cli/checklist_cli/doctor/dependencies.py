"""Checks keys, stores, Redis, and whether API and operator answer, by the settings of the pod."""

import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

from checklist_crds.secrets.sealing import KeyRing, ServerKeys
from checklist_crds.settings.names import SUFFIX

from .finding import Finding, Level, ok, unknown

_IN_A_POD: Final = "run it in a pod of the API: kubectl exec deploy/checklist-dispatch-api -- checklist-dispatch doctor"
_ANSWER_WITHIN_S: Final = 10.0
_OFF: Final = ("0", "false", "no", "off")


def secret_of(environment: Mapping[str, str], name: str) -> str | None:
    """A setting given directly or as a file; None if it is not set. Raises OSError."""
    if file := environment.get(name + SUFFIX, "").strip():
        return Path(file).read_text("utf-8").strip()
    return environment.get(name, "").strip() or None


def keys(environment: Mapping[str, str]) -> tuple[list[Finding], tuple[str, ...]]:
    """Check that both keys can be read; also returns the ids of the sealing keys."""
    findings: list[Finding] = []
    ids: tuple[str, ...] = ()
    for name, what in (("CHECKLISTS_SERVER_KEY", "server key"), ("CHECKLISTS_SEALING_KEYS", "sealing keys")):
        try:
            text = secret_of(environment, name)
            if text is None:
                findings.append(unknown("keys", f"the {what} is not set here ({name})", _IN_A_POD))
            elif name.endswith("SERVER_KEY"):
                ServerKeys.parse(text)
                findings.append(ok("keys", "the server key can be read"))
            else:
                ids = KeyRing.parse(text).ids
                findings.append(ok("keys", f"sealing keys: {ids[0]} seals, {len(ids)} open"))
        except (OSError, ValueError) as error:
            advice = "compare the Secret with docs/secrets.md; what the old keys sealed can be opened only with them"
            findings.append(Finding("keys", Level.CRITICAL, f"the {what} cannot be read: {error}", advice))
    return findings, ids


async def stores(environment: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Write a probe object to each store, read it back and delete it."""
    photos = environment.get("CHECKLISTS_PHOTO_STORE", "").strip()
    if not photos:
        yield unknown("stores", "no store is set here (CHECKLISTS_PHOTO_STORE)", _IN_A_POD)
        return
    archive = environment.get("CHECKLISTS_ARCHIVE_STORE", "").strip() or photos
    for name, url in {"photos": photos, "archive": archive}.items():
        yield await _probe(name, url)


async def _probe(name: str, url: str) -> Finding:
    from checklist_crds.archive import ArchiveStore
    from checklist_crds.platform.object_store import InvalidStore, StoreUnavailable

    key, content = f"doctor/{uuid.uuid4().hex}", uuid.uuid4().bytes
    advice = "check its URL, its credentials and the NetworkPolicy; meanwhile uploads wait and nothing is archived"
    try:
        store = ArchiveStore.open(url)  # works for both stores and has the smaller interface
        await store.put(key, content)
        read = await store.get(key)
        await store.delete([key])
    except InvalidStore as error:
        return Finding("stores", Level.CRITICAL, f"the store of {name} cannot be used: {error}", advice)
    except StoreUnavailable as error:
        return Finding("stores", Level.CRITICAL, f"the store of {name} does not work: {error}", advice)
    if read != content:
        return Finding("stores", Level.CRITICAL, f"the store of {name} returns other content", advice)
    return ok("stores", f"the store of {name} can be written, read and deleted from")


async def redis(environment: Mapping[str, str], api_pods: int | None) -> AsyncIterator[Finding]:
    """`api_pods`: how many there are, if known."""
    url = environment.get("CHECKLISTS_REDIS_URL", "").strip()
    if not url:
        if api_pods is not None and api_pods > 1:
            yield Finding(
                "redis",
                Level.WARNING,
                f"{api_pods} pods of the API and no Redis: each allows the full rate limit",
                "set redis.url or redis.builtIn.enabled in the values (docs/replicas.md)",
            )
        else:
            yield unknown("redis", "no Redis is set here (CHECKLISTS_REDIS_URL)")
        return
    advice = "check its pod, its password and the NetworkPolicy; until then each replica limits by itself"
    try:
        from redis.asyncio import Redis
        from redis.exceptions import RedisError
    except ModuleNotFoundError:
        yield unknown("redis", "the Redis client is not installed (pip install 'checklist-dispatch[redis]')")
        return
    options: dict[str, Any] = {"socket_timeout": _ANSWER_WITHIN_S, "socket_connect_timeout": _ANSWER_WITHIN_S}
    try:
        if password := secret_of(environment, "CHECKLISTS_REDIS_PASSWORD"):
            options["password"] = password
        if url.startswith("rediss:") and (authorities := environment.get("CHECKLISTS_REDIS_CA_FILE", "").strip()):
            options["ssl_ca_certs"] = authorities
        async with Redis.from_url(url, **options) as client:
            await client.ping()
    except (RedisError, OSError, ValueError) as error:
        yield Finding("redis", Level.CRITICAL, f"does not answer: {type(error).__name__}", advice)
        return
    yield ok("redis", "answers")


async def answering(urls: list[str]) -> AsyncIterator[Finding]:
    """Check /readyz of API and operator at the given addresses."""
    import aiohttp

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_ANSWER_WITHIN_S)) as session:
        for url in urls:
            try:
                async with session.get(f"{url}/readyz", allow_redirects=False) as response:
                    text = " ".join((await response.text())[:300].split())
                    is_ready = response.status == 200
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                text, is_ready = f"no answer ({type(error).__name__})", False
            if is_ready:
                yield ok("ready", f"{url} is ready")
            else:
                yield Finding("ready", Level.CRITICAL, f"{url} is not ready: {text}", "see the log of its pod")


async def archived(environment: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Count the archived runs by the manifests, and report damaged ones."""
    from checklist_crds.archive import ArchiveStore, Damaged
    from checklist_crds.platform.object_store import InvalidStore, StoreUnavailable

    url = (
        environment.get("CHECKLISTS_ARCHIVE_STORE", "").strip() or environment.get("CHECKLISTS_PHOTO_STORE", "").strip()
    )
    if not url:
        return
    if environment.get("CHECKLISTS_ARCHIVE", "").strip().lower() in _OFF:
        yield ok("archive", "off (CHECKLISTS_ARCHIVE is 0): runs past their retention stay in the cluster")
        return
    advice = "find the damaged parts with checklist-dispatch archive verify"
    runs = parts = 0
    try:
        store = ArchiveStore.open(url)
        async for place, _ in store.manifests():
            manifest = await store.manifest(place)
            if manifest is not None and place.has_runs:
                parts, runs = parts + 1, runs + manifest.runs
    except (InvalidStore, StoreUnavailable) as error:
        yield unknown("archive", f"cannot be read: {error}")
        return
    except Damaged as error:
        yield Finding("archive", Level.CRITICAL, str(error), advice)
        return
    yield ok("archive", f"{runs:,} runs in {parts:,} parts")
