"""values.schema.json refuses what is no value; what a schema cannot say, the chart says itself."""

import json
from typing import Any

import pytest
import yaml

from checklist_dev.chart_files import CHART, leaves, parse_values, stale
from checklist_dev.failures import Failure
from checklist_dev.repository import CRDS

from .conftest import helm, rendered

DEFINITION = "CustomResourceDefinition"
VALUES = parse_values((CHART / "values.yaml").read_text())


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    for word in reversed(path):
        value = {word: value}
    return dict(value)


def test_helm_lint_finds_nothing() -> None:
    done = helm("lint", "--strict", CHART)
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout


def test_a_typo_in_any_value_is_refused() -> None:
    """In one go for each: the last word of every path with its first letters exchanged."""
    values: dict[str, Any] = {}
    typos = []
    for value in leaves(VALUES):
        word = value.path[-1]
        typo = word[1] + word[0] + word[2:]
        typos.append(typo)
        place = values
        for part in value.path[:-1]:
            place = place.setdefault(part, {})
        place[typo] = value.default
    assert len(typos) > 100
    with pytest.raises(ValueError, match="additional properties") as refused:
        rendered(values)
    assert [typo for typo in typos if f"'{typo}'" not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"api": {"replicas": "3"}}, "/api/replicas"),
        ({"api": {"replicas": -1}}, "/api/replicas"),
        ({"operator": {"shards": 0}}, "/operator/shards"),
        ({"operator": {"shards": 7}}, "/operator/shards"),
        ({"api": {"service": {"port": 70000}}}, "/api/service/port"),
        ({"api": {"service": {"type": "Nodeport"}}}, "/api/service/type"),
        ({"api": {"resources": {"limit": {"memory": "1Gi"}}}}, "/api/resources"),
        ({"api": {"podAnnotations": {"a": 1}}}, "/api/podAnnotations/a"),
        ({"image": {"pullPolicy": "always"}}, "/image/pullPolicy"),
        ({"image": {"digest": "latest"}}, "/image/digest"),
        ({"image": {"repository": ""}}, "/image/repository"),
        ({"photos": {"store": "pvc"}}, "/photos/store"),
        ({"photos": {"persistentVolume": {"size": "ten"}}}, "/photos/persistentVolume/size"),
        ({"photos": {"persistentVolume": {"accessMode": "RWX"}}}, "accessMode"),
        ({"redis": {"url": "redis://user:password@host"}}, "/redis/url"),
        ({"redis": {"url": "host:6379"}}, "/redis/url"),
        ({"oidc": {"issuer": "id.example"}}, "/oidc/issuer"),
        ({"bootstrap": {"admin": "ada"}}, "/bootstrap/admin"),
        ({"bootstrap": {"organizationName": "Acme"}}, "organizationName"),
        ({"bootstrap": {"runsPerMonth": -5}}, "runsPerMonth"),
        ({"baseUrl": "checklists.example"}, "/baseUrl"),
        ({"clusterRanges": ["10.0.0.0"]}, "/clusterRanges/0"),
        ({"networkPolicy": {"apiServer": "10.0.0.1/32"}}, "/networkPolicy/apiServer"),
        ({"organizationNamespaces": ["team-a"]}, "/organizationNamespaces/0"),
        ({"organizationNamespaces": [{"name": "team-a", "secrets": []}]}, "/organizationNamespaces/0"),
        ({"gateway": {"parentRefs": [{"names": "g"}]}}, "/gateway/parentRefs/0"),
        ({"tls": {"certManager": {"kind": "clusterIssuer"}}}, "kind"),
        ({"settings": {"CHECKLISTS_RATE_LIMIT": "off"}}, "/settings"),
        ({"settings": {"rateLimit": ["off"]}}, "/settings/rateLimit"),
        ({"metrics": {"serviceMonitor": {"interval": "30"}}}, "interval"),
        ({"imagePullSecrets": ["pull"]}, "/imagePullSecrets/0"),
        ({"backup": {"address": "file:///backups"}}, "/backup/address"),
        ({"backup": {"keepDays": -1}}, "/backup/keepDays"),
        ({"api": None, "apis": {}}, "apis"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_is_refused_by_the_schema(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match="don't meet the specifications") as refused:
        rendered(values)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
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
        ({"settings": {"shard": "0/2"}}, "operator.shards says how many there are"),
    ],
    ids=str,
)
def test_values_that_need_or_exclude_each_other_are_refused_in_words(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        rendered(values)


def test_what_is_generated_is_current() -> None:
    assert stale() == []


def test_a_value_without_a_comment_is_an_error() -> None:
    with pytest.raises(Failure, match=r"a\.b has no comment"):
        parse_values("# A.\na:\n  b: 1\n")


def test_every_value_is_in_the_readme_and_described_in_the_schema() -> None:
    readme = (CHART / "README.md").read_text()
    schema = json.loads((CHART / "values.schema.json").read_text())
    for value in leaves(VALUES):
        assert f"| `{'.'.join(value.path)}` |" in readme
        place = schema
        for word in value.path:
            assert place["additionalProperties"] is False
            place = place["properties"][word]
        assert len(place["description"]) > 5


def test_the_chart_carries_the_definitions_as_they_are() -> None:
    """Through Helm's own reading and writing of YAML nothing of a schema is lost, and they stay at uninstall."""
    theirs = {body["metadata"]["name"]: body for body in rendered({}, definitions=True) if body["kind"] == DEFINITION}
    ours = {
        body["metadata"]["name"]: body for file in CRDS.glob("*.yaml") if (body := yaml.safe_load(file.read_text()))
    }
    assert theirs.keys() == ours.keys()
    for name, body in ours.items():
        assert theirs[name]["spec"] == body["spec"]
        assert body["metadata"]["annotations"].items() <= theirs[name]["metadata"]["annotations"].items()
        assert theirs[name]["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
