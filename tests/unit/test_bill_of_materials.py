"""The image's bill of materials is CycloneDX 1.6, for CycloneDX' own strict schema. (tests/chart asks the image.)"""

import json
import re
import sysconfig
from datetime import UTC, datetime
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from checklist_dev.image.bill import bill, licences
from checklist_dev.repository import ROOT

CREATED = datetime(2026, 11, 22, tzinfo=UTC)
STATUS = "Package: libc6\nVersion: 1:2.36-9+deb12u13\nArchitecture: amd64\nDescription: C library\n more of it\n"


def problem(document: dict[str, Any]) -> str | None:
    """What the schema has against it."""
    found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))
    return str(found)[:500] if found is not None else None


def bill_of(status: str, folder: Path) -> dict[str, Any]:
    """Of the packages of this environment and one of the system with this status."""
    (folder / "libc6").write_text(status)
    lock = ROOT / "api" / "web" / "package-lock.json"
    return bill([Path(sysconfig.get_path("purelib"))], folder, lock, CREATED)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return bill_of(STATUS, tmp_path_factory.mktemp("status"))


def test_it_is_valid_cyclonedx_with_packages_of_all_kinds(document: dict[str, Any]) -> None:
    assert problem(document) is None
    kinds = {component["purl"].partition("/")[0] for component in document["components"]}
    assert kinds == {"pkg:pypi", "pkg:generic", "pkg:deb", "pkg:npm"}
    (libc,) = [component for component in document["components"] if component["name"] == "libc6"]
    assert libc["purl"] == "pkg:deb/debian/libc6@1%3A2.36-9%2Bdeb12u13?arch=amd64"
    for component in document["components"]:
        assert re.fullmatch(r"pkg:[a-z]+/[^ @]+@[^ @]+", component["purl"]), component["purl"]


@pytest.mark.parametrize(
    "change",
    [
        {"serialNumber": "urn:uuid:none"},
        {"materials": []},
        {"components": [{"type": "thing", "name": "x"}]},
        {"components": [{"type": "library", "name": "x", "licenses": ["MIT"]}]},
    ],
    ids=str,
)
def test_a_document_that_is_not_valid_would_be_found(document: dict[str, Any], change: dict[str, Any]) -> None:
    assert problem({**document, **change}) is not None


def test_the_same_contents_are_the_same_document(document: dict[str, Any], tmp_path: Path) -> None:
    assert bill_of(STATUS, tmp_path) == document
    assert bill_of(STATUS.replace("u13", "u14"), tmp_path)["serialNumber"] != document["serialNumber"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (["License-Expression: MIT OR Apache-2.0", "License: MIT"], [{"expression": "MIT OR Apache-2.0"}]),
        (["License: Apache 2.0", "Classifier: License :: OSI Approved :: MIT License"], ["Apache 2.0"]),
        (["License: The text\n        of it", "Classifier: License :: OSI Approved :: MIT License"], ["MIT License"]),
        (["Classifier: License :: A", "Classifier: License :: B", "Classifier: Topic :: C"], ["A", "B"]),
        (["Classifier: Topic :: C"], []),
    ],
    ids=str,
)
def test_a_licence_is_told_in_the_words_of_its_distribution(fields: list[str], told: list[Any], tmp_path: Path) -> None:
    folder = tmp_path / "x-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", "Name: x", "Version: 1", *fields]) + "\n")
    found = licences(PathDistribution(folder).metadata)
    assert found == [each if isinstance(each, dict) else {"license": {"name": each}} for each in told]
