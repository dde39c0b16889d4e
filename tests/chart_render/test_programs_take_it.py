"""What the chart gives to the programs is what they take: API and operator read the settings of every combination."""

from pathlib import Path
from typing import Any

import pytest

from checklist_api.settings import Settings as ApiSettings
from checklist_crds.settings.reading import InvalidSetting
from checklist_dev.certificates import credentials_in
from checklist_operator.settings import Settings as OperatorSettings

from .conftest import Case, Object, cases, rendered

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


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_programs_start_with_every_combination(case: Case, tmp_path: Path, authority: str) -> None:
    objects = rendered(case.values)
    for component in MODELS:
        assert settings(objects, component, tmp_path, authority)


def test_each_shard_is_told_its_own_part(tmp_path: Path) -> None:
    objects = rendered({"operator": {"shards": 3}})
    found = settings(objects, "operator", tmp_path)
    assert [(one.shard.index, one.shard.count) for one in found] == [(0, 3), (1, 3), (2, 3)]
    assert len(settings(objects, "api", tmp_path)) == 1


def test_a_setting_that_contradicts_what_the_chart_derives_stops_the_program(tmp_path: Path) -> None:
    objects = rendered({"settings": {"watchNamespaces": ["elsewhere"]}})
    with pytest.raises(InvalidSetting, match="CHECKLISTS_WATCH_NAMESPACES leaves out apps"):
        settings(objects, "api", tmp_path)
