"""All that is done with an installation, in one life. What a person waits for is waited for."""

import asyncio
import base64
import time
import uuid
from datetime import timedelta
from typing import Final

from tests.chart.install.story import ADMIN, ORGANIZATION_NAME, Story, is_so
from tests.chart.rbac.conftest import BRANCH, HOME, WEBHOOK_SECRETS
from tests.cluster.operator_lab import condition
from tests.contract.pictures import drawing, picture
from tests.dashboard_auth.person import PersonAt

from checklist_api.dashboard.access import COOKIE
from checklist_api.dashboard.sessions.store import new_secret, object_name
from checklist_crds.resources.account import DashboardSessionSpec, SignInMethod
from checklist_crds.resources.base import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.resources.delivery import REPLAY_ANNOTATION
from checklist_crds.resources.kinds import (
    API_KEY,
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
    DELIVERY_REPLAY,
    IDEMPOTENCY_RECORD,
    MEMBER,
    ORGANIZATION,
    RUN,
    SECRET,
    TEMPLATE,
    TEMPLATE_REVISION,
    WEBHOOK_DELIVERY,
)
from checklist_crds.secrets.digest import digest
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject

BRANCH_ORGANIZATION: Final = "branch"
GRACE: Final = "grace@example.com"
PASSWORD: Final = "violet tram under gravel"
A_SECOND: Final = 1.0 / 86_400
"""In days."""
STEPS: Final = (
    {"id": "s-clean", "type": "boolean", "label": "Clean?", "photo": {"min": 0, "max": 2}},
    {"id": "s-note", "type": "text", "label": "Anything else?"},
)
CHECKLIST: Final[JsonObject] = {
    "name": "Opening",
    "sections": [{"id": "g-1", "title": "Kitchen", "steps": list(STEPS)}],
    "settings": {"allow_skip": True, "signature_on_complete": True},
}
JPEG, PNG = ({"Content-Type": f"image/{kind}"} for kind in ("jpeg", "png"))


async def live(story: Story) -> None:
    """API and operator are ready, and the receiver listens. They end with it."""
    await story.admit()
    template = await story.template(CHECKLIST)
    earlier = await story.dispatch(template)
    # Ended by SIGTERM, an operator hands its lease over; the API reads what was there before it.
    await asyncio.to_thread(story.installation.restart)
    assert "Kitchen" in str(await story.executor(earlier, "GET", ""))
    await a_template_is_written(story)
    await a_run_is_completed(story, template)
    await runs_end_otherwise(story, template)
    await the_old_goes(story)
    for namespace, organization in ((HOME, ORGANIZATION_NAME), (BRANCH, BRANCH_ORGANIZATION)):
        await made_by_kubectl(story, namespace, organization)
    await keys_and_members_by_kubectl(story)
    await an_organization_is_judged(story)
    await deliveries_fail_and_are_replayed(story, template)
    await a_key_is_made_used_and_revoked(story)
    await a_member_is_invited_and_signs_in(story)
    await sessions_are_used_and_swept_away(story)
    for path in ("/v1/templates", "/v1/runs", "/v1/deliveries", "/v1/deliveries/replays", "/v1/endpoints", "/v1/usage"):
        await story.call("GET", path)
    for path in ("/keys", "/members", "/audit", "/runs", "/templates"):
        await story.desk("GET", path)


async def a_template_is_written(story: Story) -> None:
    """By REST; each version stays to be looked at."""
    made = await story.post_twice("/v1/templates", CHECKLIST, "id")
    path = f"/v1/templates/{made['id']}"
    await story.becomes(TEMPLATE, made["id"], lambda body: condition(body, "Valid"))
    changed = await story.call("PATCH", path, {"name": "Closing"})
    assert (changed["v"], changed["name"]) == (2, "Closing")
    assert (await story.call("GET", f"{path}/versions/1"))["name"] == "Opening"
    assert len((await story.call("GET", f"{path}/versions"))["data"]) == 2
    generated = await story.call(
        "POST", "/v1/templates/generate", {"prompt": "Van check: tyres ok, lights ok, mirrors clean"}
    )
    assert generated["sections"]
    await story.call("DELETE", path, status=204)


async def a_run_is_completed(story: Story, template: str) -> None:
    """Dispatched once however often it is requested, looked at, answered with a photo, signed; its events arrive."""
    run = await story.post_twice("/v1/runs", story.a_run(template), "run_id")
    path = f"/v1/runs/{run['run_id']}"
    assert (await story.public.get(f"{path}/preview")).status_code == 200
    await story.executor(run, "POST", "/open", json={})
    await story.executor(run, "PUT", "/answers/s-clean", json={"value": True})
    await story.executor(run, "POST", "/answers/s-clean/photos", content=picture(), headers=JPEG)
    await story.executor(run, "POST", "/steps/s-note/skip", json={})
    await story.executor(run, "PUT", "/signature", content=drawing(), headers=PNG)
    await story.executor(run, "POST", "/submit", json={"signature": {"name": "Ada"}})
    await story.arrives(run["run_id"], "run.completed")
    await story.becomes(RUN, run["run_id"], lambda body: body["status"].get("settled"))
    assert (await story.call("GET", path))["status"] == "completed"
    delivered = (await story.call("GET", f"{path}/deliveries"))["data"]
    assert {one["status"] for one in delivered} == {"delivered"}
    # What arrived at once has no object; a replay makes it.
    chosen = {"filter": {"run_id": run["run_id"], "status": "delivered"}}
    made = await story.call("POST", "/v1/deliveries/replay", chosen, status=202)
    await story.becomes(DELIVERY_REPLAY, made["replay_id"], lambda body: body["status"].get("settled"))


async def runs_end_otherwise(story: Story, template: str) -> None:
    """One is cancelled, one expires; a count without a run is taken back."""
    cancelled, expiring = await story.dispatch(template), await story.dispatch(template, expires_in_hours=0.5 / 3600)
    await story.call("POST", f"/v1/runs/{cancelled['run_id']}/cancel", {})
    await story.arrives(cancelled["run_id"], "run.cancelled")
    await story.arrives(expiring["run_id"], "run.expired")
    quota = (await story.kube.get(ORGANIZATION, ORGANIZATION_NAME))["status"]["quota"]
    since = format_timestamp(utc_now() - timedelta(seconds=60))
    pending = {**quota, "pending": [{"runId": f"r-{uuid.uuid4()}", "since": since}]}
    await story.kube.patch_status(ORGANIZATION, ORGANIZATION_NAME, {"quota": pending})
    await story.becomes(ORGANIZATION, ORGANIZATION_NAME, lambda body: not body["status"]["quota"].get("pending"))


async def the_old_goes(story: Story) -> None:
    """Runs, their deliveries, audit entries, revisions, and photos without a run."""
    template = await story.template(CHECKLIST)
    run, event = await story.fails(template)
    revision = (await story.kube.get(RUN, run, HOME))["spec"]["resolved"]["revisionRef"]["name"]
    entry, at = f"aud-{time.time_ns():020}", format_timestamp(utc_now() - timedelta(days=40))
    actor = {"kind": "system", "name": "test"}
    spec = {"at": at, "actor": actor, "action": "run.cancelled", "target": {"kind": "run"}}
    story.apply(AUDIT_ENTRY, entry, spec)
    story.apply(IDEMPOTENCY_RECORD, entry, {"expiresAt": at})
    await story.call("DELETE", f"/v1/templates/{template}", status=204)
    keep = {"finishedRunsDays": A_SECOND, "auditDays": 30}
    await story.kube.patch(ORGANIZATION, ORGANIZATION_NAME, {"spec": {"retention": keep}})
    for kind, name in (
        (WEBHOOK_DELIVERY, event),
        (RUN, run),
        (AUDIT_ENTRY, entry),
        (IDEMPOTENCY_RECORD, entry),
        (TEMPLATE_REVISION, revision),
    ):
        await story.goes(kind, name)
    await story.kube.patch(ORGANIZATION, ORGANIZATION_NAME, {"spec": {"retention": None}})


async def made_by_kubectl(story: Story, namespace: str, organization: str) -> None:
    """A template, its next version, and a run that signs with a Secret and has its link in another one: judged,
    labelled, admitted, delivered."""
    name, run = "by-git", f"r-{uuid.uuid4()}"
    where = {"namespace": namespace, "organization": organization}
    definition = {key: value for key, value in CHECKLIST.items() if key != "settings"}
    story.apply(TEMPLATE, name, definition, **where)
    first = await story.becomes(TEMPLATE, name, lambda body: condition(body, "Valid"), namespace)
    assert first["metadata"]["labels"][ORGANIZATION_LABEL] == organization
    story.apply(TEMPLATE, name, {**definition, "name": "Closing"}, **where)

    def is_second(body: JsonObject) -> bool:
        return (condition(body, "Valid") or {}).get("observedGeneration") == 2

    await story.becomes(TEMPLATE, name, is_second, namespace)
    webhook = {"url": story.receiver.url, "events": ["*"], "secretRef": {"name": WEBHOOK_SECRETS[namespace]}}
    spec = {"templateRef": {"name": name}, "webhook": webhook, "expiresInHours": 1, "linkSecretRef": {"name": "link"}}
    story.apply(RUN, run, spec, **where)
    admitted = await story.becomes(RUN, run, lambda body: is_so(body, "Admitted"), namespace)
    assert admitted["metadata"]["labels"][ORGANIZATION_LABEL] == organization
    await story.becomes(RUN, run, lambda body: is_so(body, "LinkReady"), namespace)
    link = (await story.kube.get(SECRET, "link", namespace))["data"]["link"]
    assert f"/r/{run}#" in base64.b64decode(link).decode()
    if namespace == HOME:
        await story.call("POST", f"/v1/runs/{run}/cancel", {})
        await story.arrives(run, "run.cancelled")
        await story.goes(SECRET, "link")


async def keys_and_members_by_kubectl(story: Story) -> None:
    """They are judged and labelled."""
    story.apply(MEMBER, "alan", {"name": "Alan", "email": "alan@example.com", "role": "viewer"})
    spec = {"name": "by hand", "sha256": digest("cds_live_by-hand"), "prefix": "cds_live_", "createdBy": "alan"}
    story.apply(API_KEY, "by-hand", spec)
    for kind, name in ((MEMBER, "alan"), (API_KEY, "by-hand")):
        judged = await story.becomes(kind, name, lambda body: is_so(body, "Ready"))
        assert judged["metadata"]["labels"][ORGANIZATION_LABEL] == ORGANIZATION_NAME


async def an_organization_is_judged(story: Story) -> None:
    """By its namespace. Its Events are in `default`, since it has none; of what happens twice, one counts."""
    story.apply(ORGANIZATION, "new", {"displayName": "New", "namespace": "nowhere"})
    for count in (1, 2):
        for reason, namespace in (("NamespaceNotFound", HOME), ("Ready", "nowhere")):
            await story.has_event("new", reason, namespace="default", count=count)
            await story.kube.patch(ORGANIZATION, "new", {"spec": {"namespace": namespace}})
    await story.kube.delete(ORGANIZATION, "new")


async def deliveries_fail_and_are_replayed(story: Story, template: str) -> None:
    """An event is kept with its attempts, shown as Events, and sent again by REST and by kubectl; many at once, too."""
    run, event = await story.fails(template)
    await story.has_event(event, "DeliveryFailed")
    shown = await story.call("GET", f"/v1/deliveries/{event}")
    assert (shown["status"], len(shown["attempts"])) == ("failed", 5)
    story.receiver.answer = lambda _: 500
    for count in (1, 2):
        patch = {"metadata": {"annotations": {REPLAY_ANNOTATION: format_timestamp(utc_now())}}}
        await story.kube.patch(WEBHOOK_DELIVERY, event, patch, HOME)
        await story.becomes(WEBHOOK_DELIVERY, event, is_replayed)
        await story.has_event(event, "ReplayFailed", count=count)
    story.receiver.answer = lambda _: 204
    await story.call("POST", f"/v1/deliveries/{event}/replay", {}, status=202)
    await story.becomes(WEBHOOK_DELIVERY, event, lambda body: body["status"].get("phase") == "Delivered")
    await story.arrives(run, "run.cancelled")
    await story.becomes(WEBHOOK_DELIVERY, event, is_replayed)

    run, _ = await story.fails(template)
    made = await story.post_twice("/v1/deliveries/replay", {"filter": {"run_id": run}}, "replay_id", status=202)
    path = f"/v1/deliveries/replays/{made['replay_id']}"

    async def is_delivered() -> bool:
        return bool((await story.call("GET", path))["delivered"] == 1)

    await story.comes(is_delivered, "the replayed event")
    await story.call("DELETE", path, status=204)
    story.apply(DELIVERY_REPLAY, "again", {"filter": {"host": "elsewhere.example"}, "ttlSecondsAfterFinished": 1})
    await story.goes(DELIVERY_REPLAY, "again")


async def a_key_is_made_used_and_revoked(story: Story) -> None:
    """When it was last used is shown; revoked, it opens nothing. One that is unknown is looked up and refused."""
    made = await story.desk("POST", "/keys", {"name": "export"}, status=201)
    bearer = f"Bearer {made['key']}"
    await story.call("GET", "/v1/templates", Authorization=bearer)
    await story.becomes(API_KEY, made["id"], lambda body: body["status"].get("lastUsedAt"))
    await story.desk("POST", f"/keys/{made['id']}/revoke")
    for refused in (bearer, f"Bearer cds_live_{uuid.uuid4().hex}"):
        await story.call("GET", "/v1/templates", status=401, Authorization=refused)


async def a_member_is_invited_and_signs_in(story: Story) -> None:
    """With a link, then a password; is seen, changed and reset by an admin, and another one is removed."""
    invited = {"email": GRACE, "name": "Grace", "role": "viewer"}
    path = f"/members/{(await story.desk('POST', '/members', invited, status=201))['id']}"
    again = await story.desk("POST", f"{path}/invitation", status=201)
    person, second = PersonAt(story.public), PersonAt(story.public)
    session = await story.sign_in(person, "link", secret=again["link"].partition("#link=")[2])
    assert len(session["organizations"]) == 1  # the member is theirs now
    assert (await person.post("account/password", {"new_password": PASSWORD})).is_success
    for one in (person, second):
        await story.sign_in(one, "password", email=GRACE, password=PASSWORD)
    assert (await story.desk("PATCH", path, {"role": "editor"}))["role"] == "editor"
    for one, ended in ((person, "session"), (second, "sessions")):
        assert (await one.delete(ended)).is_success
        assert not await one.is_signed_in()
    await story.sign_in(second, "password", email=GRACE, password=PASSWORD)
    await story.desk("POST", f"{path}/reset")
    again = await story.desk("POST", f"{path}/invitation", status=201)
    await story.sign_in(person, "link", secret=again["link"].partition("#link=")[2])
    assert (await person.post("account/password", {"new_password": PASSWORD})).is_success
    other = await story.desk("POST", "/members", {**invited, "email": "leaving@example.com"}, status=201)
    await story.desk("DELETE", f"/members/{other['id']}", status=204)
    assert "member.removed" in [one["action"] for one in (await story.desk("GET", "/audit"))["data"]]


async def sessions_are_used_and_swept_away(story: Story) -> None:
    """When a session was last used is recorded; an expired one is removed. An unknown one is looked up."""
    used, secret = await a_session(story, ago=timedelta(minutes=30))
    assert await PersonAt(story.public, {COOKIE: secret}).is_signed_in()
    await story.becomes(DASHBOARD_SESSION, used, lambda body: body["status"].get("lastSeenAt"))
    assert not await PersonAt(story.public, {COOKIE: new_secret()}).is_signed_in()
    ended, _ = await a_session(story, ago=timedelta(hours=13))
    await story.goes(DASHBOARD_SESSION, ended)


# -- what scenes are made of ---------------------------------------------------------------------------------------


async def a_session(story: Story, *, ago: timedelta) -> tuple[str, str]:
    """The name of a session that began `ago`, and its secret."""
    secret, made = new_secret(), utc_now() - ago
    spec = DashboardSessionSpec(
        sha256=digest(secret),
        **{"issuer": "https://people.example", "subject": "ada", "email": ADMIN, "name": "Ada"},
        email_verified=True,
        method=SignInMethod.OIDC,
        created_at=made,
        expires_at=made + timedelta(hours=12),
    )
    name = object_name(spec.sha256)
    metadata = {"name": name, "namespace": HOME}
    body = {"apiVersion": API_VERSION, "kind": "DashboardSession", "metadata": metadata, "spec": spec.to_kube()}
    await story.kube.create(DASHBOARD_SESSION, body, HOME)
    return name, secret


def is_replayed(body: JsonObject) -> bool:
    """Nothing asks for a replay of the delivery any more, and none is under way."""
    is_asked = REPLAY_ANNOTATION in (body["metadata"].get("annotations") or {})
    return bool(not is_asked and body["status"].get("settled") and not body["status"].get("replay"))
