"""What the chart says of the programs is so: public paths, commands, the notes. (Metrics: test_metrics_asked_for.)"""

import json
import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from tests.chart.render.conftest import IMAGE, helm, rendered
from tests.chart.render.test_pods import pods as pods_of

import checklist_api
from checklist_crds.kube.seal_record import SEALED_SINCE, SEALS_EXPIRE_SINCE
from checklist_dev.generate.chart_files import CHART

INTERNAL = {"healthz", "readyz", "metrics"}
EVERYTHING = {
    "host": "a.example",
    "ingress": {"enabled": True},
    "gateway": {"enabled": True, "className": "x"},
    "bootstrap": {"organization": "Example", "admin": "ada@example.com"},
    "metrics": {"prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}},
    "redis": {"builtIn": {"enabled": True}},
    "backup": {"existingClaim": "backups"},
}


def test_all_routes_are_published_but_health_and_metrics() -> None:
    """By Ingress and by HTTPRoute alike."""
    objects = rendered(EVERYTHING)
    ingress = next(body for body in objects if body["kind"] == "Ingress")
    route = next(body for body in objects if body["kind"] == "HTTPRoute")
    by_ingress = {(path["pathType"], path["path"]) for path in ingress["spec"]["rules"][0]["http"]["paths"]}
    by_route = {(match["path"]["type"], match["path"]["value"]) for match in route["spec"]["rules"][0]["matches"]}
    assert by_ingress == {(kind.replace("PathPrefix", "Prefix"), path) for kind, path in by_route}
    published = {path.strip("/") for _, path in by_ingress}
    assert ("Exact", "/") in by_ingress
    assert first_words() - published == INTERNAL
    assert published <= first_words()


def first_words() -> set[str]:
    """The first word of the path of each route that a module of the API adds."""
    texts = [file.read_text() for file in Path(checklist_api.__file__).parent.rglob("*.py")]
    paths = {path for text in texts for path in re.findall(r'\.add_[a-z]+\(\s*f?"/([^"]*)"', text)}
    return {re.split("[/{]", path)[0] for path in paths}


def test_two_installations_of_one_cluster_share_no_object() -> None:
    """The second has another namespace, and leaves the definitions to the first. A renamed one shares no name."""
    values = {"bootstrap": {"organization": "A"}, "backup": {"existingClaim": "b"}, "maintenance": {"enabled": True}}
    seen: set[tuple[str, str, str]] = set()
    for namespace, more in (("apps", {}), ("others", {}), ("apps", {"nameOverride": "lists"})):
        objects = rendered({**values, **more}, "--namespace", namespace)
        names = {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in objects}
        assert len(names) == len(objects) > 30
        # (Two in one namespace are refused where Helm reads the cluster; the record of sealed runs is the namespace's.)
        assert {kind for kind, _, _ in names & seen} <= {"ConfigMap"}
        seen |= names


@pytest.mark.parametrize(("release", "more"), [("other", {}), ("rel", {"fullnameOverride": "cds"})])
def test_a_renamed_release_can_adopt_keys_and_photos(release: str, more: dict[str, Any]) -> None:
    """As docs/install.md says it: under another name, with what stays when the former one is uninstalled."""
    former = rendered({"bootstrap": {"organization": "A"}, "maintenance": {"enabled": True}})
    stays = {
        one["kind"]: one["metadata"]["name"] for one in former if one["kind"] in ("Secret", "PersistentVolumeClaim")
    }
    taken_over = {
        "secrets": {"existingSecret": stays["Secret"]},
        "photos": {"persistentVolume": {"existingClaim": stays["PersistentVolumeClaim"]}},
    }
    values = {"bootstrap": {"organization": "A"}, "maintenance": {"enabled": True}, **taken_over, **more}
    renamed = rendered(values, release=release)
    seen, names = ({(one["kind"], one["metadata"]["name"]) for one in some} for some in (former, renamed))
    # The records of sealed runs are the namespace's, and stay with it.
    assert {name for _, name in names & seen} == {SEALED_SINCE, SEALS_EXPIRE_SINCE}
    assert {kind for kind, _ in names}.isdisjoint(stays)
    text = json.dumps(renamed)
    assert all(f'"{name}"' in text for name in stays.values())


def test_the_commands_that_pods_run_are_installed_with_the_package() -> None:
    installed = {script.name for script in entry_points(group="console_scripts")} | {"redis-server", "python3"}
    pods = dict(pods_of(EVERYTHING)).values()
    assert len(pods) == 6
    for pod in pods:
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            assert container["command"][0] in installed


def notes_of(values: dict[str, Any]) -> str:
    # Notes are shown by an install only; without a cluster, by one that is not done.
    done = helm(
        "install",
        "rel",
        CHART,
        "-n",
        "apps",
        "--dry-run=client",
        "--values",
        "-",
        stdin=json.dumps({"image": IMAGE, **values}),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("NOTES:")[2]


@pytest.mark.parametrize("values", [{}, EVERYTHING])
def test_the_notes_name_three_commands(values: dict[str, Any]) -> None:
    notes = notes_of(values)
    for words in ("1. ", "kubectl -n apps rollout status", "2. ", "sign-in-link", "3. ", "helm -n apps test rel"):
        _, found, notes = notes.partition(words)
        assert found, words


@pytest.mark.parametrize(
    ("more", "is_archived"), [({}, False), ({"archive": {"existingClaim": "old-runs"}}, True)], ids=str
)
def test_temporary_photos_need_a_separate_archive_store(more: dict[str, Any], is_archived: bool) -> None:
    values = {"photos": {"store": "temporary"}, **more}
    deployments = [body for body in rendered(values) if body["kind"] == "Deployment"]
    assert len(deployments) == 2
    for body in deployments:
        (container,) = body["spec"]["template"]["spec"]["containers"]
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert environment.get("CHECKLISTS_ARCHIVE") == (None if is_archived else "0")
    assert ("Nothing is archived" in notes_of(values)) is not is_archived
