"""All that is done with an installation, in scenes that can be played again and again. Each fails when what a person
notices does not happen.
"""

import asyncio
import contextlib
import json
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from tests.chart_rbac.life import BRANCH_ORGANIZATION, CHECKLIST, ORGANIZATION_NAME, WITHIN_S, Life, succeeds
from tests.chart_rbac.release import BRANCH, HOME, LEASE_NAME, RESYNC_S, WEBHOOK_SECRETS
from tests.cluster.operator_lab import condition
from tests.contract.pictures import drawing, picture
from tests.dashboard_auth.person import PersonAt
from tests.waiting import eventually

from checklist_api.dashboard.access import COOKIE
from checklist_api.dashboard.sessions import new_secret, object_name
from checklist_crds.account_types import DashboardSessionSpec, SignInMethod
from checklist_crds.delivery_types import REPLAY_ANNOTATION
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import (
    API_KEY,
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
    DELIVERY_REPLAY,
    LOCAL_ACCOUNT,
    MEMBER,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    TEMPLATE_REVISION,
    WEBHOOK_DELIVERY,
)
from checklist_crds.resource_types import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.secret_digest import digest
from checklist_crds.times import format_timestamp, utc_now
from checklist_operator.leader import LEASE

PASSWORD: Final = "violet tram under gravel"
A_SECOND: Final = 1.0 / 86_400
"""In days."""

Scene = Callable[[Life], Awaitable[None]]


async def an_operator_leads(life: Life) -> None:
    """The very first of an installation makes the lease, and keeps it."""
    operator = life.programs["operator"]
    await asyncio.to_thread(operator.child.kill)
    with contextlib.suppress(KubeNotFound):
        await life.kube.delete(LEASE, LEASE_NAME, HOME)
    await asyncio.to_thread(operator.child.start)
    await operator.until_ready()
    made = await life.kube.get(LEASE, LEASE_NAME, HOME)

    await life.becomes(LEASE, LEASE_NAME, lambda body: body["spec"]["renewTime"] > made["spec"]["renewTime"])


async def an_operator_hands_over(life: Life) -> None:
    """One that is asked to end gives the lease back, so that the next need not wait."""
    operator = life.programs["operator"]
    await asyncio.to_thread(operator.child.stop)
    lease = await life.kube.get(LEASE, LEASE_NAME, HOME)
    await asyncio.to_thread(operator.child.start)
    assert not lease["spec"].get("holderIdentity")
    await operator.until_ready()


async def lists_are_complete(life: Life) -> None:
    """Every list of API and dashboard is there."""
    await life.programs["api"].until_ready()
    for path in ("/v1/templates", "/v1/runs", "/v1/deliveries", "/v1/deliveries/replays", "/v1/endpoints", "/v1/usage"):
        await life.call("GET", path)
    for path in ("/keys", "/members", "/audit", "/runs", "/templates"):
        await life.at_desk("GET", path)
    await succeeds(life.admin.get("sessions"))


async def the_installation_is_examined(life: Life) -> None:
    """By `doctor` in a pod of the API, as the documents have it: all is seen. (There is no Redis.)"""
    life.release.apply([one for one in life.release.objects if one["kind"] == "Deployment"])
    words = [sys.executable, "-m", "checklist_cli", "doctor", "--json"]
    environment = life.programs["api"].environment
    process = await asyncio.create_subprocess_exec(*words, env=environment, stdout=asyncio.subprocess.PIPE)
    findings = json.loads((await process.communicate())[0])["findings"]
    assert [one for one in findings if one["level"] == "unknown" and one["check"] != "redis"] == []
    assert {one["level"] for one in findings if one["check"] in ("rights", "definitions", "leader")} == {"ok"}, findings


async def a_template_is_written(life: Life) -> None:
    """By REST; each version stays to be looked at."""
    made = await life.post_twice("/v1/templates", CHECKLIST, "id")
    path = f"/v1/templates/{made['id']}"
    await life.becomes(TEMPLATE, made["id"], lambda body: condition(body, "Valid"))
    changed = await life.call("PATCH", path, {"name": "Closing"})
    assert (changed["v"], changed["name"]) == (2, "Closing")
    assert (await life.call("GET", f"{path}/versions/1"))["name"] == "Opening"
    assert len((await life.call("GET", f"{path}/versions"))["data"]) == 2
    generated = await life.call("POST", "/v1/templates/generate", {"prompt": "Van: check tyres and lights"})
    assert generated["sections"]
    await life.call("DELETE", path, status=204)


async def a_run_is_completed(life: Life) -> None:
    """Dispatched once however often it is asked for, looked at, answered with a photo, signed; its events arrive."""
    run = await life.post_twice("/v1/runs", life.a_run(), "run_id")
    path = f"/v1/runs/{run['run_id']}"
    assert (await life.public.get(f"{path}/preview")).status_code == 200
    await life.executor(run, "POST", "/open", json={})
    await life.executor(run, "PUT", "/answers/s-clean", json={"value": True})
    photo, jpeg = picture(size=(64, 48)), {"Content-Type": "image/jpeg"}
    await life.executor(run, "POST", "/answers/s-clean/photos", content=photo, headers=jpeg)
    await life.executor(run, "POST", "/steps/s-note/skip", json={})
    await life.executor(run, "PUT", "/signature", content=drawing(), headers={"Content-Type": "image/png"})
    await life.executor(run, "POST", "/submit", json={"signature": {"name": "Ada"}})
    await life.arrives(run["run_id"], "run.completed")
    await life.settles(run["run_id"])
    assert (await life.call("GET", path))["status"] == "completed"
    listed = await life.call("GET", "/v1/runs?per_page=100")
    assert run["run_id"] in [one["run_id"] for one in listed["data"]]
    delivered = (await life.call("GET", f"{path}/deliveries"))["data"]
    assert {one["status"] for one in delivered} == {"delivered"}


async def a_run_of_a_new_template_is_completed(life: Life) -> None:
    """Its events tell of steps, which the operator reads from a revision that it has not seen before."""
    checklist = {**CHECKLIST, "settings": {"allow_skip": True}}
    template = await life.call("POST", "/v1/templates", checklist, status=201)
    run = await life.dispatch(template_id=template["id"])
    await life.executor(run, "PUT", "/answers/s-clean", json={"value": True})
    await life.executor(run, "POST", "/steps/s-note/skip", json={})
    await life.executor(run, "POST", "/submit", json={})
    await life.arrives(run["run_id"], "run.completed")


async def an_earlier_run_is_shown(life: Life) -> None:
    """One that was dispatched before the API was started: its checklist is read from the cluster."""
    shown = await life.executor(life.earlier_run, "GET", "")
    assert "Kitchen" in str(shown)


async def a_run_ends_otherwise(life: Life) -> None:
    """One is cancelled, one expires."""
    cancelled, expiring = await life.dispatch(), await life.dispatch(expires_in_hours=0.5 / 3600)
    await life.call("POST", f"/v1/runs/{cancelled['run_id']}/cancel", {})
    await life.arrives(cancelled["run_id"], "run.cancelled")
    await life.arrives(expiring["run_id"], "run.expired")
    await life.settles(expiring["run_id"])


async def the_count_of_runs_is_kept(life: Life) -> None:
    """A dispatch is counted, and a count that nobody confirmed is taken back."""
    before = (await life.call("GET", "/v1/usage"))["used"]
    await life.dispatch()
    assert (await life.call("GET", "/v1/usage"))["used"] == before + 1
    body = await life.kube.get(ORGANIZATION, ORGANIZATION_NAME)
    quota = dict(body["status"]["quota"])
    since = format_timestamp(utc_now() - timedelta(seconds=60))
    pending = [{"runId": f"r-{uuid.uuid4()}", "since": since}]
    await life.kube.patch_status(ORGANIZATION, ORGANIZATION_NAME, {"quota": {**quota, "pending": pending}})

    await life.becomes(
        ORGANIZATION, ORGANIZATION_NAME, lambda body: not body["status"]["quota"].get("pending"), namespace=None
    )


async def an_organization_is_judged(life: Life) -> None:
    """One whose namespace is there is ready, another is told that it is not."""
    for namespace, status in ((HOME, "True"), ("nowhere", "False")):
        name = await _new_organization(life, namespace)
        await life.becomes(ORGANIZATION, name, lambda body, status=status: _status(body, "Ready") == status, None)
        await life.kube.delete(ORGANIZATION, name)


async def made_by_kubectl(life: Life) -> None:
    """A template, its next version, and a run that signs with a Secret: judged, labelled, admitted, delivered."""
    await _made_by_kubectl(life, HOME, ORGANIZATION_NAME)


async def made_in_a_namespace_of_its_own(life: Life) -> None:
    """The same for the organization that lives in another namespace."""
    await _made_by_kubectl(life, BRANCH, BRANCH_ORGANIZATION)


async def _made_by_kubectl(life: Life, namespace: str, organization: str) -> None:
    name = f"opening-{uuid.uuid4().hex[:8]}"
    definition = {key: value for key, value in CHECKLIST.items() if key != "settings"}
    await life.apply(TEMPLATE, name, definition, namespace)
    first = await life.becomes(TEMPLATE, name, lambda body: condition(body, "Valid"), namespace)
    assert first["metadata"]["labels"][ORGANIZATION_LABEL] == organization
    await life.kube.patch(TEMPLATE, name, {"spec": {"name": "Closing"}}, namespace)

    def is_second(body: JsonObject) -> bool:
        return (condition(body, "Valid") or {}).get("observedGeneration") == 2

    await life.becomes(TEMPLATE, name, is_second, namespace)
    secret = {"name": WEBHOOK_SECRETS[namespace]}
    webhook = {"url": life.receiver.url, "events": ["*"], "secretRef": secret}
    run = f"r-{uuid.uuid4()}"
    await life.apply(RUN, run, {"templateRef": {"name": name}, "webhook": webhook, "expiresInHours": 1}, namespace)

    admitted = await life.becomes(RUN, run, lambda body: _status(body, "Admitted") == "True", namespace)
    assert admitted["metadata"]["labels"][ORGANIZATION_LABEL] == organization
    await life.kube.patch_status(RUN, run, {"phase": "Pending"}, namespace)
    revisions, _ = await life.kube.list_all(TEMPLATE_REVISION, namespace)
    assert admitted["status"]["resolved"]["revisionRef"]["name"] in [one["metadata"]["name"] for one in revisions]
    if namespace == HOME:
        await life.call("POST", f"/v1/runs/{run}/cancel", {})
        await life.arrives(run, "run.cancelled")


async def everything_is_looked_at_again(life: Life) -> None:
    """The safety net under the operator's watches."""
    await asyncio.sleep(RESYNC_S + 2.0)


async def keys_and_members_by_kubectl(life: Life) -> None:
    """They are judged and labelled."""
    member, key = f"grace-{uuid.uuid4().hex[:8]}", f"key-{uuid.uuid4().hex}"
    email = f"{member}@example.com"
    await life.apply(MEMBER, member, {"name": "Grace", "email": email, "role": "viewer"})
    sha256 = digest(f"cds_live_{uuid.uuid4().hex}")
    await life.apply(API_KEY, key, {"name": "by hand", "sha256": sha256, "prefix": "cds_live_", "createdBy": member})
    for kind, name in ((MEMBER, member), (API_KEY, key)):
        judged = await life.becomes(kind, name, lambda body: _status(body, "Ready"))
        assert judged["metadata"]["labels"][ORGANIZATION_LABEL] == ORGANIZATION_NAME
        await life.kube.delete(kind, name, HOME)


async def a_delivery_fails_and_is_replayed(life: Life) -> None:
    """It is kept with its attempts, told as Events, and sent again by REST and by kubectl; many at once, too."""
    run, event = await life.fails()
    await life.tells(event, "DeliveryFailed")
    shown = await life.call("GET", f"/v1/deliveries/{event}")
    assert (shown["status"], len(shown["attempts"])) == ("failed", 5)
    await life.call("POST", f"/v1/deliveries/{event}/replay", {}, status=202)
    await life.becomes(WEBHOOK_DELIVERY, event, lambda body: body["status"].get("phase") == "Delivered")
    await life.arrives(run, "run.cancelled")
    await life.becomes(WEBHOOK_DELIVERY, event, _is_replayed)


async def an_event_is_told_again(life: Life) -> None:
    """Of what happens twice, one Event counts."""
    _, event = await life.fails()
    life.receiver.answer = lambda _: 500
    for count in (1, 2):
        patch = {"metadata": {"annotations": {REPLAY_ANNOTATION: format_timestamp(utc_now())}}}
        await life.kube.patch(WEBHOOK_DELIVERY, event, patch, HOME)
        await life.becomes(WEBHOOK_DELIVERY, event, lambda body: _is_replayed(body) and body["status"].get("settled"))
        await life.tells(event, "ReplayFailed", count=count)
    life.receiver.answer = lambda _: 204


async def an_organization_s_event_is_told_again(life: Life) -> None:
    """It has no namespace; its Event is in `default`, and counts what happens twice."""
    name = await _new_organization(life, "nowhere")
    for count in (1, 2):
        for reason, namespace in (("NamespaceNotFound", HOME), ("Ready", "nowhere")):
            await life.tells(name, reason, namespace="default", count=count)
            await life.kube.patch(ORGANIZATION, name, {"spec": {"namespace": namespace}})
    await life.kube.delete(ORGANIZATION, name)


async def a_settled_event_is_replayed(life: Life) -> None:
    """One that arrived at once has no object; the replay makes it."""
    run = await life.dispatch()
    await life.call("POST", f"/v1/runs/{run['run_id']}/cancel", {})
    await life.settles(run["run_id"])
    asked = {"filter": {"run_id": run["run_id"], "status": "delivered"}}
    made = await life.call("POST", "/v1/deliveries/replay", asked, status=202)
    await life.becomes(DELIVERY_REPLAY, made["replay_id"], lambda body: (body.get("status") or {}).get("settled"))


async def many_are_replayed(life: Life) -> None:
    """By REST with a key, by kubectl, and one is stopped; those that have ended go."""
    run, _ = await life.fails()
    asked = {"filter": {"run_id": run}}
    made = await life.post_twice("/v1/deliveries/replay", asked, "replay_id", status=202)
    path = f"/v1/deliveries/replays/{made['replay_id']}"

    async def delivered() -> bool:
        return bool((await life.call("GET", path))["delivered"] == 1)

    await eventually(delivered, within_s=WITHIN_S)
    await life.call("DELETE", path, status=204)
    name = f"again-{uuid.uuid4().hex[:8]}"
    await life.apply(DELIVERY_REPLAY, name, {"filter": {"host": "nobody.example"}, "ttlSecondsAfterFinished": 1})
    labelled = await life.becomes(DELIVERY_REPLAY, name, lambda body: (body.get("status") or {}).get("settled"))
    assert labelled["metadata"]["labels"][ORGANIZATION_LABEL] == ORGANIZATION_NAME
    await life.goes(DELIVERY_REPLAY, name)


async def a_key_is_made_used_and_revoked(life: Life) -> None:
    """When it was last used is shown; revoked, it opens nothing."""
    made = await life.at_desk("POST", "/keys", {"name": "export"}, status=201)
    headers = {"Authorization": f"Bearer {made['key']}"}
    await succeeds(life.public.get("/v1/templates", headers=headers))
    await life.becomes(API_KEY, made["id"], lambda body: (body.get("status") or {}).get("lastUsedAt"))
    await life.at_desk("POST", f"/keys/{made['id']}/revoke")
    assert (await life.public.get("/v1/templates", headers=headers)).status_code == 401


async def an_unknown_key_is_looked_up(life: Life) -> None:
    """In every namespace of the installation, before it is refused; one made a moment ago is found."""
    key = f"cds_live_{uuid.uuid4().hex}"
    response = await life.public.get("/v1/templates", headers={"Authorization": f"Bearer {key}"})
    assert response.status_code == 401, response.text


async def a_member_is_invited_and_signs_in(life: Life) -> None:
    """With a link, then a password; is seen, changed, reset and removed by an admin."""
    email = f"{uuid.uuid4().hex[:10]}@example.com"
    member = await life.at_desk("POST", "/members", {"email": email, "name": "Grace", "role": "viewer"}, status=201)
    path = f"/members/{member['id']}"
    again = await life.at_desk("POST", f"{path}/invitation", status=201)
    person = PersonAt(life.public)
    await succeeds(person.post("sign-in/link", {"secret": again["link"].partition("#link=")[2]}))
    session = await person.session()
    assert len(session["organizations"]) == 1  # the member is theirs now
    await succeeds(person.post("account/password", {"new_password": PASSWORD}))
    first, second = PersonAt(life.public), PersonAt(life.public)
    for one in (first, second):
        await succeeds(one.post("sign-in/password", {"email": email, "password": PASSWORD}))
        await one.session()
    found, _ = await life.kube.list_all(LOCAL_ACCOUNT, HOME)
    account = next(one for one in found if one["spec"]["email"] == email)["metadata"]["name"]
    await life.becomes(LOCAL_ACCOUNT, account, lambda body: (body.get("status") or {}).get("lastSignInAt"))
    changed = await life.at_desk("PATCH", path, {"role": "editor"})
    assert changed["role"] == "editor"
    for one, ended in ((first, "session"), (second, "sessions")):
        await succeeds(one.delete(ended))
        assert not await one.is_signed_in()
    await life.at_desk("POST", f"{path}/reset")
    await life.at_desk("DELETE", path, status=204)
    listed = [one["action"] for one in (await life.at_desk("GET", "/audit"))["data"]]
    assert "member.removed" in listed


async def a_session_is_used(life: Life) -> None:
    """When somebody was last there is written down, but not at every request."""
    name, secret = await _session(life, ago=timedelta(minutes=30))
    person = PersonAt(life.public, {COOKIE: secret})
    await succeeds(person.get("session"))
    await life.becomes(DASHBOARD_SESSION, name, lambda body: (body.get("status") or {}).get("lastSeenAt"))


async def an_unknown_session_is_looked_up(life: Life) -> None:
    """Before it is refused: it may have begun at another replica a moment ago."""
    response = await PersonAt(life.public, {COOKIE: new_secret()}).get("session")
    assert response.status_code == 401, response.text


async def ended_sessions_are_swept_away(life: Life) -> None:
    """Those that nobody ended."""
    name, _ = await _session(life, ago=timedelta(hours=13))
    await life.goes(DASHBOARD_SESSION, name)


async def the_old_goes(life: Life) -> None:
    """Runs, their deliveries, audit entries, revisions, and photos that nobody needs."""
    template = await life.call("POST", "/v1/templates", CHECKLIST, status=201)
    run, event = await life.fails()
    used = await life.dispatch(template_id=template["id"])
    revision = (await life.kube.get(RUN, used["run_id"], HOME))["spec"]["resolved"]["revisionRef"]["name"]
    entry, at = f"aud-{time.time_ns():020}", format_timestamp(utc_now() - timedelta(days=40))
    actor = {"kind": "system", "name": "test"}
    spec = {"at": at, "actor": actor, "action": "run.cancelled", "target": {"kind": "run"}}
    await life.apply(AUDIT_ENTRY, entry, spec)
    await life.call("POST", f"/v1/runs/{used['run_id']}/cancel", {})
    await life.call("DELETE", f"/v1/templates/{template['id']}", status=204)
    keep = {"finishedRunsDays": A_SECOND, "auditDays": 30}
    await life.kube.patch(ORGANIZATION, ORGANIZATION_NAME, {"spec": {"retention": keep}})
    try:
        for kind, name in ((WEBHOOK_DELIVERY, event), (RUN, run), (RUN, used["run_id"]), (AUDIT_ENTRY, entry)):
            await life.goes(kind, name)
        await life.goes(TEMPLATE_REVISION, revision)
    finally:
        await life.kube.patch(ORGANIZATION, ORGANIZATION_NAME, {"spec": {"retention": None}})


async def _session(life: Life, *, ago: timedelta) -> tuple[str, str]:
    """The name of a session that began `ago`, and its secret."""
    secret = new_secret()
    made = utc_now() - ago
    spec = DashboardSessionSpec(
        sha256=digest(secret),
        **{"issuer": "https://people.example", "subject": "ada", "email": "ada@example.com", "name": "Ada"},
        email_verified=True,
        method=SignInMethod.OIDC,
        created_at=made,
        expires_at=made + timedelta(hours=12),
    )
    name = object_name(spec.sha256)
    metadata = {"name": name, "namespace": HOME}
    body = {"apiVersion": API_VERSION, "kind": "DashboardSession", "metadata": metadata, "spec": spec.to_kube()}
    await life.kube.create(DASHBOARD_SESSION, body, HOME)
    return name, secret


async def _new_organization(life: Life, namespace: str) -> str:
    name = f"new-{uuid.uuid4().hex[:8]}"
    spec = {"displayName": "New", "namespace": namespace}
    body = {"apiVersion": API_VERSION, "kind": "Organization", "metadata": {"name": name}, "spec": spec}
    await life.kube.create(ORGANIZATION, body)
    return name


def _status(body: JsonObject, of: str) -> str | None:
    found = condition(body, of)
    return None if found is None else str(found["status"])


def _is_replayed(body: JsonObject) -> bool:
    """Nothing asks for a replay of the delivery any more, and none is under way."""
    is_asked = REPLAY_ANNOTATION in (body["metadata"].get("annotations") or {})
    return not is_asked and not body["status"].get("replay")


ALL: Final[tuple[Scene, ...]] = (
    an_operator_leads,
    an_operator_hands_over,
    lists_are_complete,
    the_installation_is_examined,
    a_template_is_written,
    a_run_is_completed,
    a_run_of_a_new_template_is_completed,
    an_earlier_run_is_shown,
    a_run_ends_otherwise,
    the_count_of_runs_is_kept,
    an_organization_is_judged,
    made_by_kubectl,
    made_in_a_namespace_of_its_own,
    keys_and_members_by_kubectl,
    a_delivery_fails_and_is_replayed,
    an_event_is_told_again,
    an_organization_s_event_is_told_again,
    a_settled_event_is_replayed,
    many_are_replayed,
    a_key_is_made_used_and_revoked,
    an_unknown_key_is_looked_up,
    a_member_is_invited_and_signs_in,
    a_session_is_used,
    an_unknown_session_is_looked_up,
    ended_sessions_are_swept_away,
    the_old_goes,
    everything_is_looked_at_again,
)
