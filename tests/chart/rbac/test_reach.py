"""How far the chart's roles reach: which Secrets, which namespaces, which kinds, and what people may do with them."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from itertools import product
from typing import Any, Final

import httpx
import pytest
from tests.chart.install.installed import RELEASE
from tests.chart.rbac.conftest import ANNEX, BRANCH, ELSEWHERE, HOME, OTHER_SECRET, WEBHOOK_SECRETS
from tests.chart.rbac.rights import ALONE, Audited
from tests.waiting import eventually

from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import ALL_KINDS
from checklist_crds.runs.link_secret import LINK_SECRET_TYPE

OK, CREATED, FORBIDDEN = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.FORBIDDEN
INVALID: Final = HTTPStatus.UNPROCESSABLE_ENTITY
ACCOUNTS: Final = ("api", "operator")
READ: Final = frozenset({"get", "list", "watch"})
WRITE: Final = frozenset({"create", "update", "patch", "delete"})
NAMESPACED: Final = sorted(kind.plural for kind in ALL_KINDS if kind.namespaced)
PEOPLE: Final[dict[str, dict[str, frozenset[str]]]] = {
    "view": dict.fromkeys(
        ("templates", "templaterevisions", "runs", "webhookdeliveries", "deliveryreplays", "members"), READ
    ),
    "edit": {
        **dict.fromkeys(("templates", "runs", "deliveryreplays"), READ | WRITE),
        # To annotate them: that requests a replay. What is in them is immutable.
        "webhookdeliveries": READ | {"patch"},
        **dict.fromkeys(("templaterevisions", "members"), READ),
    },
    "admin": {
        **dict.fromkeys(("templates", "runs", "deliveryreplays", "members"), READ | WRITE),
        **dict.fromkeys(("apikeys", "localaccounts", "dashboardsessions"), READ | WRITE),
        "webhookdeliveries": READ | {"patch"},
        **dict.fromkeys(("templaterevisions", "auditentries", "idempotencyrecords"), READ),
    },
}
"""What Kubernetes' own roles may do with each kind; nothing with what is not named, and no status of any."""

Rules = set[tuple[str, str, str, str]]
"""(API group, resource, name or `*`, verb)"""


@pytest.fixture(scope="module")
def people(installed: Audited) -> Audited:
    """`view`, `edit` and `admin` are what a controller manager makes of them: there is none here, so the rules of the
    ClusterRoles that their own selectors choose are put together by this fixture. One person for each role and
    namespace: `edit-branch` may edit in `branch`.
    """
    kubectl = installed.installation.kubectl
    roles = json.loads(kubectl("get", "clusterroles", "-o", "json"))["items"]
    for name in PEOPLE:
        own = next(role for role in roles if role["metadata"]["name"] == name)
        (selector,) = (one["matchLabels"] for one in own["aggregationRule"]["clusterRoleSelectors"])
        chosen = [
            role for role in roles if selector.items() <= (role["metadata"].get("labels") or {}).items() and role != own
        ]
        assert any(role["metadata"]["name"].startswith(f"{HOME}-{RELEASE}") for role in chosen)
        rules = [rule for role in chosen for rule in role.get("rules") or ()]
        kubectl("patch", "clusterrole", name, "--type", "merge", "-p", json.dumps({"rules": rules}))
        for namespace in (HOME, BRANCH, ANNEX):
            person = f"{name}-{namespace}"
            kubectl("create", "rolebinding", person, "-n", namespace, f"--clusterrole={name}", f"--user={person}")
    return installed


# -- API and operator ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("account", (*ACCOUNTS, "backup", "maintenance"))
def test_no_secret_is_read_except_those_in_webhook_secrets(installed: Audited, account: str) -> None:
    """By real calls with the account's own token; the maintenance pod reads them, too, to say which are missing. (The
    keys of the installation are files in its pods.)"""
    with installed.http(account=account) as http:
        for namespace in (HOME, BRANCH, ANNEX, ELSEWHERE, *ALONE, "kube-system"):
            assert _status(http, "GET", f"{_core(namespace)}/secrets") == FORBIDDEN
        assert _status(http, "GET", "/api/v1/secrets") == FORBIDDEN
        assert _status(http, "GET", f"{_core(HOME)}/secrets/{RELEASE}-keys") == FORBIDDEN
        for namespace, name in WEBHOOK_SECRETS.items():
            path = f"{_core(namespace)}/secrets"
            by_name = OK if account in ("operator", "maintenance") else FORBIDDEN
            assert _status(http, "GET", f"{path}/{name}") == by_name
            assert _status(http, "GET", f"{path}/{OTHER_SECRET}") == FORBIDDEN
            assert _status(http, "GET", f"{path}?watch=1&fieldSelector=metadata.name={name}") == FORBIDDEN
            assert _status(http, "PATCH", f"{path}/{name}", {"data": {}}) == FORBIDDEN
            if account != "operator":
                assert _status(http, "DELETE", f"{path}/{name}") == FORBIDDEN
                assert _status(http, "POST", path, {"metadata": {"name": "new"}}) == FORBIDDEN


async def test_the_operator_writes_no_secret_but_those_with_links(installed: Audited) -> None:
    """Roles cannot say that, since people choose the names of these Secrets. It reads not even its own ones."""
    admin = installed.installation.kubectl
    account = {"kubernetes.io/service-account.name": f"{RELEASE}-api"}

    def secret(name: str, type_: str, **metadata: Any) -> Any:
        return {"metadata": {"name": name, **metadata}, "type": type_, "data": {"link": "bGluaw=="}}

    with installed.http(account="operator") as http:
        for namespace, name in WEBHOOK_SECRETS.items():
            path = f"{_core(namespace)}/secrets"

            async def denied(path: str = path, name: str = name) -> bool:  # the policy is read by a watch
                return _status(http, "DELETE", f"{path}/{name}?dryRun=All") == INVALID

            await eventually(denied)
            for own in (name, OTHER_SECRET):
                assert _status(http, "DELETE", f"{path}/{own}") == INVALID
                assert _status(http, "PUT", f"{path}/{own}", secret(own, "Opaque")) == INVALID
            assert _status(http, "POST", path, secret("new", "Opaque")) == INVALID
            token = secret("new", "kubernetes.io/service-account-token", annotations=account)
            assert _status(http, "POST", path, token) == INVALID
            assert _status(http, "POST", path, secret("new", LINK_SECRET_TYPE)) == CREATED
            assert _status(http, "GET", f"{path}/new") == FORBIDDEN
            assert _status(http, "PUT", f"{path}/new", secret("new", LINK_SECRET_TYPE)) == OK
            assert _status(http, "PUT", f"{path}/new", secret("new", "Opaque")) == INVALID
            assert _status(http, "DELETE", f"{path}/new") == OK
            assert OTHER_SECRET in admin("get", "secrets", "-n", namespace, "-o", "name")
        for namespace in (ELSEWHERE, *ALONE, "kube-system"):
            path = f"{_core(namespace)}/secrets"
            assert _status(http, "POST", path, secret("new", LINK_SECRET_TYPE)) == FORBIDDEN


@pytest.mark.parametrize("account", ACCOUNTS)
def test_an_account_has_what_the_chart_says_and_nothing_else(installed: Audited, account: str) -> None:
    """The API server's own answer, in each namespace: nothing by another role, nothing in one that no value names."""
    everywhere = _rendered(installed, account, None)
    whole = {"organizations", "organizations/status", "namespaces", "customresourcedefinitions"}
    assert {resource for _, resource, _, _ in everywhere} <= whole
    with installed.http(account=account) as http:
        for namespace in (HOME, BRANCH, ANNEX, *ALONE):
            assert _answered(http, namespace) == everywhere | _rendered(installed, account, namespace)
        assert _answered(http, ELSEWHERE) == everywhere
        # Of organizations, which have no namespace, Events are in `default`, by the operator; and nothing else.
        events = {("", "events", "*", verb) for verb in ("create", "get", "patch")}
        assert _rendered(installed, account, "default") == (events if account == "operator" else set())
        for kind in NAMESPACED:
            assert _status(http, "GET", f"{_ours(ELSEWHERE)}/{kind}") == FORBIDDEN
            assert _status(http, "GET", f"/apis/checklists.dev/v1/{kind}") == FORBIDDEN


def test_neither_account_could_do_the_other_s_work(installed: Audited) -> None:
    api, operator = (
        {(right.resource, right.verb) for right in installed.rights(account)} for account in ("api", "operator")
    )
    only_api, only_operator = api - operator, operator - api
    # Who takes over the operator makes no run, key, member or session, and reads no account.
    assert {
        *((kind, "create") for kind in ("runs", "apikeys", "members", "auditentries", "dashboardsessions")),
        *((kind, "delete") for kind in ("members", "templates")),
        *((kind, "get") for kind in ("localaccounts", "dashboardsessions")),
    } <= only_api
    # Who takes over the API removes no run and no trace of what was done, reads no Secret, and leads nothing.
    assert {
        *((kind, "delete") for kind in ("runs", "auditentries", "webhookdeliveries", "templaterevisions")),
        *(("webhookdeliveries/status", "patch"), ("secrets", "get"), ("leases", "update"), ("events", "create")),
    } <= only_operator
    # Who takes over the backup reads, and changes nothing.
    assert {right.verb for right in installed.rights("backup")} == {"list"}
    assert "dashboardsessions" not in {right.resource for right in installed.rights("backup")}


# -- people --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", list(PEOPLE))
def test_people_may_do_what_their_role_says_in_their_namespace_and_nothing_in_another(
    people: Audited, role: str
) -> None:
    for own in (BRANCH, ANNEX):
        with people.http(user=f"{role}-{own}") as http:
            found = {namespace: _answered(http, namespace) for namespace in (BRANCH, ANNEX, HOME, ELSEWHERE)}
        may = {(kind, verb) for kind, verbs in PEOPLE[role].items() for verb in verbs}
        for namespace, rules in found.items():
            ours = {(resource, verb) for group, resource, _, verb in rules if group == "checklists.dev"}
            assert ours == (may if namespace == own else set()), (own, namespace)


def test_an_editor_s_real_calls_end_at_their_namespace(people: Audited) -> None:
    path = f"{_ours(ANNEX)}/templates"
    sections = [{"id": "g-1", "title": "Kitchen", "steps": [{"id": "s-1", "type": "boolean", "label": "Clean?"}]}]
    template = {
        "apiVersion": "checklists.dev/v1",
        "kind": "Template",
        "metadata": {"name": "of-the-annex"},
        "spec": {"organizationRef": {"name": "annex"}, "name": "Opening", "sections": sections},
    }
    rename = {"spec": {"name": "Renamed"}}
    with people.http(user=f"edit-{ANNEX}") as theirs, people.http(user=f"edit-{BRANCH}") as stranger:
        assert _status(theirs, "POST", path, template) == CREATED
        smuggled = {**template, "metadata": {"name": "smuggled"}}
        for method, where, body in (
            ("GET", f"{path}/of-the-annex", None),
            ("GET", path, None),
            ("GET", "/apis/checklists.dev/v1/templates", None),
            ("GET", f"{_ours(ANNEX)}/runs", None),
            ("POST", path, smuggled),
            ("PATCH", f"{path}/of-the-annex", rename),
            ("DELETE", f"{path}/of-the-annex", None),
        ):
            assert _status(stranger, method, where, body) == FORBIDDEN
        assert _status(theirs, "PATCH", f"{path}/of-the-annex", rename) == OK
        assert _status(theirs, "PATCH", f"{path}/of-the-annex/status", {"status": {"version": 9}}) == FORBIDDEN


async def test_an_editor_cannot_set_what_the_api_decides_about_a_run(people: Audited) -> None:
    path = f"{_ours(ANNEX)}/runs"
    resolved = {"organization": "annex", "templateId": "t-1", "templateVersion": 1, "templateName": "Opening"}
    resolved |= {"revisionRef": {"name": "t-1-v1"}, "identityMode": "anonymous", "stepCount": 1, "applicableSteps": 1}

    def status(http: httpx.Client, **spec: Any) -> int:
        run = {"apiVersion": "checklists.dev/v1", "kind": "Run", "metadata": {"name": new_id("r")}}
        run["spec"] = {"templateId": "t-1", **spec}
        return _status(http, "POST", path, run)

    with people.http(user=f"edit-{ANNEX}") as editor, people.http(account="api") as api:
        await eventually(lambda: status(editor, resolved=resolved) == FORBIDDEN)  # the policy is read by a watch
        assert status(editor) == CREATED
        assert status(api, resolved=resolved) == CREATED


# -- requests ------------------------------------------------------------------------------------------------------


def _status(http: httpx.Client, method: str, path: str, body: Any = None) -> int:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    content = None if body is None else json.dumps(body)
    return http.request(method, path, content=content, headers={"Content-Type": kind}).status_code


def _core(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}"


def _ours(namespace: str) -> str:
    return f"/apis/checklists.dev/v1/namespaces/{namespace}"


def _answered(http: httpx.Client, namespace: str) -> Rules:
    """All that the API server would let the caller do in a namespace, without what everybody may ask of themselves."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    response = http.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", json=review)
    assert response.status_code == CREATED, response.text
    status = response.json()["status"]
    assert not status.get("incomplete")
    return {each for rule in status["resourceRules"] for each in _each(rule) if not each[1].startswith("selfsubject")}


def _rendered(release: Audited, account: str, namespace: str | None) -> Rules:
    """What the chart says; None: of its ClusterRoles."""
    rules = [rule for role, rule in release.rules(account) if role["metadata"].get("namespace") == namespace]
    return {each for rule in rules for each in _each(rule)}


def _each(rule: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    yield from product(rule["apiGroups"], rule["resources"], rule.get("resourceNames") or ["*"], rule["verbs"])
