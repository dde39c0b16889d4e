"""What each right of the chart is for: the scene that fails without it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.chart_rbac import scenes
from tests.chart_rbac.audit_log import Right
from tests.chart_rbac.scenes import Scene

OURS: Final = "checklists.dev"


@dataclass(frozen=True, slots=True)
class Use:
    """The scene; `at_start`: the program is started anew for it, since it asks at its start only."""

    scene: Scene
    at_start: bool = False
    told: str = ""
    """Where a person notices nothing, since the program asks otherwise and more often: what its log says then."""


def _at_start(scene: Scene) -> Use:
    return Use(scene, at_start=True)


def _listed(resource: str) -> dict[str, Use]:
    """Without its watch, the list is read again and again, or the cluster is asked at every request."""
    watched = Use(scenes.lists_are_complete, at_start=True, told=f"watch of {resource}")
    return {"list": _at_start(scenes.lists_are_complete), "watch": watched}


_COMPLETED: Final = Use(scenes.a_run_is_completed)
_WRITTEN: Final = Use(scenes.a_template_is_written)
_KEY: Final = Use(scenes.a_key_is_made_used_and_revoked)
_MEMBER: Final = Use(scenes.a_member_is_invited_and_signs_in)
_FAILED: Final = Use(scenes.a_delivery_fails_and_is_replayed)
_MANY: Final = Use(scenes.many_are_replayed)
_APPLIED: Final = Use(scenes.made_by_kubectl)
_PEOPLE: Final = Use(scenes.keys_and_members_by_kubectl)
_OLD: Final = Use(scenes.the_old_goes)
_JUDGED: Final = Use(scenes.an_organization_is_judged)
_EXAMINED: Final = Use(scenes.the_installation_is_examined)


def _each(verbs: str, use: Use) -> dict[str, Use]:
    return dict.fromkeys(verbs.split(), use)


def _watched(scene: Scene) -> dict[str, Use]:
    """Kopf reads a kind by the watch alone; what else lists it is said in the table."""
    return {"watch": _at_start(scene)}


def _looked_at_again(resource: str) -> Use:
    """What a watch has lost is found again by a list now and then; who loses nothing does not miss it."""
    return Use(scenes.everything_is_looked_at_again, told=f"resync: {resource}")


API: Final[dict[str, dict[str, Use]]] = {
    "organizations": {"get": Use(scenes.lists_are_complete), **_listed("organizations")},
    "organizations/status": {"patch": Use(scenes.the_count_of_runs_is_kept)},
    "runs": _each("create get", _COMPLETED) | _listed("runs"),
    "runs/status": {"patch": _COMPLETED},
    "templates": _each("create get update delete", _WRITTEN) | _listed("templates"),
    "templaterevisions": _each("create list", _WRITTEN) | {"get": _at_start(scenes.an_earlier_run_is_shown)},
    "apikeys": _each("create patch", _KEY) | {"get": Use(scenes.an_unknown_key_is_looked_up), **_listed("apikeys")},
    "apikeys/status": {"patch": _KEY},
    "members": _each("create get patch delete", _MEMBER) | _listed("members"),
    "members/status": {"patch": _MEMBER},
    "auditentries": {"create": _KEY, **_listed("auditentries")},
    "webhookdeliveries": _each("get patch", _FAILED) | _listed("webhookdeliveries"),
    "deliveryreplays": _each("create get delete", _MANY) | _listed("deliveryreplays"),
    "localaccounts": _each("create get patch", _MEMBER) | _listed("localaccounts"),
    "localaccounts/status": {"patch": _MEMBER},
    "dashboardsessions": _each("create delete", _MEMBER)
    | {"get": Use(scenes.an_unknown_session_is_looked_up), **_listed("dashboardsessions")},
    "dashboardsessions/status": {"patch": Use(scenes.a_session_is_used)},
    **dict.fromkeys(("leases", "deployments"), _each("list", _EXAMINED)),
    "customresourcedefinitions": _each("get", _EXAMINED),
    "localsubjectaccessreviews": _each("create", _EXAMINED),
}
OPERATOR: Final[dict[str, dict[str, Use]]] = {
    "organizations": {"get": _JUDGED, "list": _OLD, **_watched(scenes.an_organization_is_judged)},
    "organizations/status": {"patch": _JUDGED},
    "namespaces": {"get": _JUDGED},
    "leases": _each("create get list update", Use(scenes.an_operator_leads))
    | {"patch": Use(scenes.an_operator_hands_over)},
    "runs": _each("get patch", _APPLIED) | _each("list delete", _OLD) | _watched(scenes.made_by_kubectl),
    "runs/status": {"patch": _COMPLETED},
    "templates": _each("get patch", _APPLIED) | {"list": _OLD, **_watched(scenes.made_by_kubectl)},
    "templates/status": {"patch": _APPLIED},
    "templaterevisions": _each("list delete", _OLD)
    | {"create": _APPLIED, "get": Use(scenes.a_run_of_a_new_template_is_completed)},
    "apikeys": _each("get patch", _PEOPLE)
    | {"list": _looked_at_again("apikeys"), **_watched(scenes.keys_and_members_by_kubectl)},
    "apikeys/status": {"patch": _PEOPLE},
    "members": _each("get patch", _PEOPLE)
    | {"list": _looked_at_again("members"), **_watched(scenes.keys_and_members_by_kubectl)},
    "members/status": {"patch": _PEOPLE},
    "auditentries": _each("list delete", _OLD),
    "webhookdeliveries": _each("create get patch", _FAILED)
    | _each("list delete", _OLD)
    | _watched(scenes.a_delivery_fails_and_is_replayed),
    "webhookdeliveries/status": {"patch": _FAILED},
    "deliveryreplays": _each("get list patch delete", _MANY) | _watched(scenes.many_are_replayed),
    "deliveryreplays/status": {"patch": _MANY},
    "events": {"create": _FAILED, **_each("get patch", Use(scenes.an_event_is_told_again))},
    "dashboardsessions": _each("list delete", Use(scenes.ended_sessions_are_swept_away)),
    "secrets": {"get": _APPLIED},
}
ALONE: Final[dict[str, dict[str, dict[str, Use]]]] = {
    "default": {"events": _each("create get patch", Use(scenes.an_organization_s_event_is_told_again))}
}
"""The operator's, in namespaces that have roles of their own."""
_FOREIGN: Final = {
    **dict.fromkeys(("namespaces", "events", "secrets"), ""),
    **{"leases": "coordination.k8s.io", "deployments": "apps"},
    **{"customresourcedefinitions": "apiextensions.k8s.io", "localsubjectaccessreviews": "authorization.k8s.io"},
}


def uses() -> Iterator[tuple[Right, Use]]:
    """Of all rights that API and operator should have, and of no others."""
    tables = [("api", API, ""), ("operator", OPERATOR, ""), *(("operator", table, at) for at, table in ALONE.items())]
    for account, table, within in tables:
        for resource, verbs in table.items():
            for verb, use in verbs.items():
                yield Right(account, _FOREIGN.get(resource, OURS), resource, verb, within), use
