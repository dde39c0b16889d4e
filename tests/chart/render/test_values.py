"""values.schema.json refuses what is no value; what a schema cannot say, the chart says itself."""

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.render.conftest import IMAGE, helm, rendered

from checklist_dev.generate.chart_files import CHART, generated, leftovers, refusals
from checklist_dev.generate.chart_pod_parts import FILE, asked, text_of
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.repository import CRDS

DEFINITION = "CustomResourceDefinition"


def test_helm_lint_finds_nothing() -> None:
    done = helm("lint", "--strict", CHART, "--set", f"image.repository={IMAGE['repository']}")
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"api": {"replicas": "3"}}, "/api/replicas"),
        ({"operator": {"shards": 0}}, "/operator/shards"),
        ({"api": {"service": {"port": 70000}}}, "/api/service/port"),
        ({"api": {"service": {"type": "Nodeport"}}}, "/api/service/type"),
        ({"image": {"pullPolicy": "always"}}, "/image/pullPolicy"),
        ({"image": {"digest": "latest"}}, "/image/digest"),
        ({"photos": {"store": "pvc"}}, "/photos/store"),
        ({"photos": {"persistentVolume": {"size": "ten"}}}, "/photos/persistentVolume/size"),
        ({"redis": {"url": "redis://user:password@host"}}, "/redis/url"),
        ({"oidc": {"issuer": "id.example"}}, "/oidc/issuer"),
        ({"bootstrap": {"admin": "ada"}}, "/bootstrap/admin"),
        ({"bootstrap": {"runsPerMonth": -5}}, "runsPerMonth"),
        ({"baseUrl": "checklists.example"}, "/baseUrl"),
        ({"clusterRanges": ["10.0.0.0"]}, "/clusterRanges/0"),
        ({"internalReceivers": ["http://erp.svc"]}, "/internalReceivers/0"),
        ({"api": {"probes": {"startup": {"failureTreshold": 9}}}}, "failureTreshold"),
        ({"networkPolicy": {"apiServer": "10.0.0.1/32"}}, "/networkPolicy/apiServer"),
        ({"organizationNamespaces": [{"name": "team-a", "secrets": []}]}, "/organizationNamespaces/0"),
        ({"tls": {"certManager": {"kind": "clusterIssuer"}}}, "kind"),
        ({"settings": {"CHECKLISTS_RATE_LIMIT": "off"}}, "/settings"),
        ({"settings": {"modelKey": "a secret"}}, "/settings"),
        ({"metrics": {"serviceMonitor": {"interval": "30"}}}, "interval"),
        ({"backup": {"address": "file:///backups"}}, "/backup/address"),
        ({"api": None, "apis": {}}, "apis"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_is_refused_by_the_schema(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match="don't meet the specifications") as refused:
        rendered(values)
    assert complaint in str(refused.value)


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"image": {"repository": ""}}, "image.repository is required"),
    (
        {"internalReceivers": ["a.b.svc"], "settings": {"allowInsecureTargets": True}, "clusterRanges": []},
        "internalReceivers and settings",
    ),
    ({"settings": {"allowInsecureTargets": True}}, "name your receivers' hosts in internalReceivers instead"),
    ({"settings": {"allowedAddresses": ["10.0.0.0/8"]}}, "which clusterRanges denies: name your receivers' hosts in"),
    ({"settings": {"allowedAddresses": "fd00::1, fc00::/7"}}, "settings.allowedAddresses has fc00::/7"),
    ({"ingress": {"enabled": True}}, "ingress.enabled needs host"),
    ({"gateway": {"enabled": True, "className": "x"}}, "gateway.enabled needs host"),
    ({"host": "a.example", "gateway": {"enabled": True}}, "needs gateway.parentRefs"),
    ({"tls": {"certManager": {"issuer": "x"}}}, "tls.certManager.issuer needs host"),
    ({"host": "a.example", "tls": {"existingSecret": "a", "certManager": {"issuer": "x"}}}, "only one of them"),
    ({"photos": {"store": "s3"}}, "photos.store=s3 needs photos.s3.bucket"),
    ({"photos": {"store": "url"}}, "photos.store=url needs photos.url.address"),
    ({"oidc": {"issuer": "https://id.example"}}, "oidc.issuer needs oidc.clientId"),
    ({"model": {"url": "https://models.example"}}, "model.url needs model.name"),
    ({"redis": {"url": "redis://r", "builtIn": {"enabled": True}}}, "only one of them"),
    ({"bootstrap": {"admin": "ada@example.com"}}, "bootstrap.admin needs bootstrap.organization"),
    ({"api": {"drainSeconds": 25}}, "terminationGracePeriodSeconds must be ten seconds longer"),
    ({"api": {"autoscaling": {"enabled": True, "minReplicas": 9}}}, "maxReplicas is less than minReplicas"),
    ({"archive": {"address": "s3://b", "existingClaim": "c"}}, "archive.address and archive.existingClaim"),
    ({"networkPolicy": {"enabled": True}}, "networkPolicy.enabled needs networkPolicy.apiServer"),
    ({"photos": {"store": "temporary"}, "settings": {"archive": True}}, "the archive would go with its pod"),
    ({"backup": {"address": "s3://b", "existingClaim": "c"}}, "backup.address and backup.existingClaim"),
    ({"photos": {"store": "temporary"}, "backup": {"address": "s3://b"}}, "photos.store other than temporary"),
    ({"photos": {"store": "temporary"}, "maintenance": {"enabled": True}}, "photos.store other than temporary"),
    ({"operator": {"shards": 2}}, "operator.shards is retired: one operator does all of the work"),
    ({"archive": {"existingClaim": "c"}, "settings": {"archiveStore": "s3://b"}}, "and settings.archiveStore"),
    ({"photos": {"store": "temporary"}, "api": {"replicas": 2}}, "photos.store=temporary needs api.replicas=1"),
    ({"photos": {"store": "temporary"}, "api": {"autoscaling": {"enabled": True}}}, "no api.autoscaling"),
]


@pytest.mark.parametrize(("values", "complaint"), CONTRADICTIONS, ids=str)
def test_values_that_need_or_exclude_each_other_are_refused_in_words(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        rendered(values)


def test_every_refusal_is_provoked() -> None:
    """(Those that depend on what is in the cluster: tests/chart/install.)"""
    untried = [words for words in refusals() if not any(complaint in words for _, complaint in CONTRADICTIONS)]
    assert [words.split()[:2] for words in untried] == [
        ["the", each] for each in ("Secret", "claim", "cluster", "namespace")
    ]


def test_what_is_generated_is_current() -> None:
    assert [file for file, text in generated().items() if file.read_text("utf-8") != text] + leftovers() == []


def test_artifact_hub_annotations_match_the_chart() -> None:
    """The kinds: below. An address that there is not yet is named nowhere."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["annotations"]["artifacthub.io/license"] == "Apache-2.0"
    assert [one["name"] for one in chart["maintainers"]] == ["Checklist Dispatch maintainers"]
    media_type, _, picture = chart["icon"].removeprefix("data:").partition(";base64,")
    assert media_type == "image/svg+xml"
    assert base64.b64decode(picture, validate=True).startswith(b"<svg ")
    assert not {"home", "sources"} & chart.keys()
    assert "until the project has a public address" in " ".join((CHART / "README.md").read_text().split())


def test_the_chart_carries_the_definitions_as_they_are() -> None:
    """Through Helm's own reading and writing of YAML nothing of a schema is lost. They stay at uninstall, and
    Artifact Hub is shown all of them.
    """
    theirs = {body["metadata"]["name"]: body for body in rendered({}, definitions=True) if body["kind"] == DEFINITION}
    ours = {
        body["metadata"]["name"]: body for file in CRDS.glob("*.yaml") if (body := yaml.safe_load(file.read_text()))
    }
    shown = yaml.safe_load(yaml.safe_load((CHART / "Chart.yaml").read_text())["annotations"]["artifacthub.io/crds"])
    assert theirs.keys() == ours.keys() == {one["name"] for one in shown}
    for name, body in ours.items():
        assert theirs[name]["spec"] == body["spec"]
        assert body["metadata"]["annotations"].items() <= theirs[name]["metadata"]["annotations"].items()
        assert theirs[name]["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_a_parent_chart_switches_it_on_and_off(tmp_path: Path) -> None:
    dependency = {"name": CHART.name, "version": "*", "condition": f"{CHART.name}.enabled"}
    about = {"apiVersion": "v2", "name": "parent", "version": "1.0.0", "dependencies": [dependency]}
    (tmp_path / "Chart.yaml").write_text(json.dumps(about))
    shutil.copytree(CHART, tmp_path / "charts" / CHART.name)
    for enabled in (True, False):
        ours = {"enabled": enabled, "image": IMAGE, "crds": {"enabled": False}}
        done = helm("template", "rel", tmp_path, "--values", "-", stdin=json.dumps({CHART.name: ours}))
        assert done.returncode == 0, done.stderr
        assert ("kind: Deployment" in done.stdout) is enabled


# -- a typo, at every depth -----------------------------------------------------------------------------------------


Schema = dict[str, Any]
Place = tuple[str | int, ...]
SCHEMA: Schema = json.loads((CHART / "values.schema.json").read_text())
# What Helm hands to a chart that is part of another one, what the API server alone writes, objects of others: not ours
# to know.
OPEN = {"global", "fieldsV1", "extraObjects"}


def target(schema: Schema) -> Schema:
    """What a reference leads to."""
    reference = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf", ()) if "$ref" in one), None)
    return SCHEMA["$defs"][reference.rpartition("/")[2]] if reference else schema


def mappings(schema: Schema, path: Place = ()) -> Iterator[tuple[Place, Schema]]:
    """Every place where a mapping may be. 0: in a list; `any`: below a key that everybody names as he likes."""
    schema = target(schema)
    kinds = schema.get("type")
    if "object" in ([kinds] if isinstance(kinds, str) else kinds or ()):
        yield path, schema
        for name, child in schema.get("properties", {}).items():
            yield from mappings(child, (*path, name))
        if isinstance(schema.get("additionalProperties"), dict):
            yield from mappings(schema["additionalProperties"], (*path, "any"))
    if isinstance(schema.get("items"), dict):
        yield from mappings(schema["items"], (*path, 0))


def insert(values: Any, path: Place, key: str) -> None:
    """`key: 1` in the mapping at `path`; the same element of a list for all."""
    for step, following in zip(path, [*path, ""][1:], strict=True):
        empty: Any = [] if following == 0 else {}
        if isinstance(step, int):
            if not values:
                values.append(empty)
            values = values[0]
        else:
            values = values.setdefault(step, empty)
    values[key] = 1


def test_every_mapping_knows_its_keys_or_the_type_of_all_and_refuses_a_typo() -> None:
    """All in one go; Helm names each."""
    values: dict[str, Any] = {}
    typos = []
    for number, (path, schema) in enumerate(mappings(SCHEMA)):
        allowed = schema.get("additionalProperties")
        if allowed is False:
            typos.append(f"typo-{number}")
            insert(values, path, typos[-1])
        elif not OPEN & set(path):
            assert isinstance(allowed, dict) and allowed, path
    assert len(typos) > 150
    with pytest.raises(ValueError, match="additional properties") as refused:
        rendered(values)
    assert [typo for typo in typos if f"'{typo}'" not in str(refused.value)] == []


def test_these_parts_are_those_of_the_api_server(kubectl: Kubectl) -> None:
    """`python -m checklist_dev.generate.chart_pod_parts` writes them."""
    assert FILE.read_text() == text_of(asked(kubectl))
