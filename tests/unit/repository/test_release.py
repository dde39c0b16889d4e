"""Package, chart and changelog speak of one version, that of pyproject.toml."""

import tomllib
from importlib.metadata import metadata

import yaml

from checklist_dev.chart_files import CHART
from checklist_dev.repository import ROOT


def test_package_and_chart_have_the_version_and_licence_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    package = metadata("checklist-dispatch")
    assert package["Version"] == chart["version"] == chart["appVersion"] == project["version"]
    assert package["License-Expression"] == project["license"] == "Apache-2.0"


def test_the_changelog_describes_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text("utf-8")
