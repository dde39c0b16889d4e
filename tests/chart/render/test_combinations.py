"""Each combination of values renders to what it has to, to what it rendered to before (snapshots/), and to settings
that API and operator take.

After a change that was meant: `.venv/bin/python -m pytest tests/chart/render --snapshots=write`, then look at the
difference with git.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.render.conftest import HERE, Case, Object, cases, rendered

from checklist_api.settings.service import Settings as ApiSettings
from checklist_crds.settings.reading import InvalidSetting
from checklist_dev.local.certificates import credentials_in
from checklist_operator.settings import Settings as OperatorSettings

CASES = cases()
MODELS = {"api": ApiSettings, "operator": OperatorSettings}
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
CONTENTS = {"server-key": KEY, "sealing-keys": f"k1:{KEY}"}


def deployments(objects: list[Object], component: str) -> list[Object]:
    return [
        body
        for body in objects
        if body["kind"] == "Deployment" and body["metadata"]["labels"]["app.kubernetes.io/component"] == component
    ]


def environment(deployment: Object, folder: Path, authority: str) -> dict[str, str]:
    """As the container has it, its files here: those that are mounted, and no others."""
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    mounts = {}
    for mount in container["volumeMounts"]:
        here = folder / deployment["metadata"]["name"] / mount["name"]
        here.mkdir(parents=True)
        if mount["mountPath"] != "/tmp":
            mounts[mount["mountPath"]] = here
        volume = volumes[mount["name"]]
        for item in (volume.get("secret") or volume.get("configMap") or {}).get("items", ()):
            (here / item["path"]).write_text(authority if item["path"] == "ca.crt" else CONTENTS.get(item["path"], "x"))
    found: dict[str, str] = {}
    for variable in container["env"]:
        text = variable.get("value", "a-pod")
        for mounted in sorted(mounts, key=len, reverse=True):
            text = text.replace(mounted, str(mounts[mounted]))
        assert variable["name"] not in found, f"{variable['name']} is set twice"
        found[variable["name"]] = text
    return found


def settings(objects: list[Object], component: str, folder: Path, authority: str = "") -> list[Any]:
    """One for each Deployment. Raises InvalidSetting."""
    return [
        MODELS[component].from_environment(environment(body, folder, authority))
        for body in deployments(objects, component)
    ]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Some certificate."""
    return credentials_in(tmp_path_factory.mktemp("authority")).authority.read_text()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_values_render_to_snapshot(case: Case, request: pytest.FixtureRequest, tmp_path: Path, authority: str) -> None:
    objects = rendered(case.values)
    counts = Counter(body["kind"] for body in objects)
    for kind, wanted in case.kinds.items():
        assert counts[kind] == wanted, f"{counts[kind]} of kind {kind}"
    for where, value in case.expect.items():
        assert found_at(objects, where) == value, where
    names = [(body["kind"], body["metadata"].get("namespace"), body["metadata"]["name"]) for body in objects]
    assert len(names) == len(set(names)), "two objects have one name"
    for component in MODELS:
        assert settings(objects, component, tmp_path, authority)
    compare(case.name, objects, write=request.config.getoption("--snapshots") == "write")


def test_there_are_at_least_thirty_combinations_and_no_snapshot_without_one() -> None:
    assert len(CASES) >= 30
    assert {file.stem for file in (HERE / "snapshots").iterdir()} == {file_name(case.name) for case in CASES}


def test_a_setting_that_contradicts_what_the_chart_derives_stops_the_program(tmp_path: Path) -> None:
    objects = rendered({"settings": {"watchNamespaces": ["elsewhere"]}})
    with pytest.raises(InvalidSetting, match="CHECKLISTS_WATCH_NAMESPACES leaves out apps"):
        settings(objects, "api", tmp_path)


def found_at(objects: list[Object], where: str) -> Any:
    """What is at `Kind/name: path`; None for what is not there."""
    kind, _, rest = where.partition("/")
    suffix, _, path = rest.partition(": ")
    names = {suffix, f"rel-checklist-dispatch{suffix}"}
    found = [body for body in objects if body["kind"] == kind and body["metadata"]["name"] in names]
    if not found:
        found = [body for body in objects if body["kind"] == kind and body["metadata"]["name"].endswith(suffix)]
    assert len(found) == 1, f"{len(found)} objects are {kind}/{suffix}"
    if path.startswith("env."):
        variables = found[0]["spec"]["template"]["spec"]["containers"][0]["env"]
        values = [variable["value"] for variable in variables if variable["name"] == path.removeprefix("env.")]
        assert len(values) <= 1, f"{path} is set twice"
        return values[0] if values else None
    place: Any = found[0]
    for word in path.split("."):
        word = word.replace("~", ".")
        if isinstance(place, list):
            place = place[int(word)] if int(word) < len(place) else None
        else:
            place = (place or {}).get(word)
    return place


def compare(name: str, objects: list[Object], *, write: bool) -> None:
    text = yaml.dump_all(map(unrandom, objects), Dumper=yaml.CSafeDumper, sort_keys=True, width=120)
    file = Path(HERE / "snapshots" / f"{file_name(name)}.yaml")
    if write:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"{file} is missing: --snapshots=write makes it"
    assert text == file.read_text(), "it renders to something else: --snapshots=write if that is meant"


def unrandom(body: Object) -> Object:
    """Keys are generated each time; the versions in labels change with every release."""
    if body["kind"] == "Secret":
        body = {**body, "data": dict.fromkeys(body["data"], "MADE")}
    return yaml.load(
        re.sub(
            r"(helm.sh/chart: checklist-dispatch-|app.kubernetes.io/version: )\S+",
            r"\1VERSION",
            yaml.dump(body, Dumper=yaml.CSafeDumper, width=10_000),
        ),
        Loader=yaml.CSafeLoader,
    )


def file_name(name: str) -> str:
    return name.replace(" ", "-")
