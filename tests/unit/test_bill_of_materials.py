"""The image's bill of materials is CycloneDX 1.6, for CycloneDX' own strict schema. (tests/chart asks the image.)"""

import json
import re
import sysconfig
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checklist_dev.image.bill import bill
from checklist_dev.repository import ROOT

CREATED = datetime(2026, 11, 22, tzinfo=UTC)
STATUS = "Package: libc6\nVersion: 1:2.36-9+deb12u13\nArchitecture: amd64\nDescription: C library\n more of it\n"


def bill_of(status: str, folder: Path) -> dict[str, Any]:
    """Of the packages of this environment and one of the system with this status."""
    (folder / "libc6").write_text(status)
    lock = ROOT / "api" / "web" / "package-lock.json"
    return bill([Path(sysconfig.get_path("purelib"))], folder, lock, CREATED)


def test_it_is_valid_cyclonedx_with_packages_of_all_kinds_and_changes_with_its_contents(tmp_path: Path) -> None:
    # Imported here: loading its JSON schemas takes three seconds.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    document = bill_of(STATUS, tmp_path)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document)) is None
    kinds = {component["purl"].partition("/")[0] for component in document["components"]}
    assert kinds == {"pkg:pypi", "pkg:generic", "pkg:deb", "pkg:npm"}
    (libc,) = [component for component in document["components"] if component["name"] == "libc6"]
    assert libc["purl"] == "pkg:deb/debian/libc6@1%3A2.36-9%2Bdeb12u13?arch=amd64"
    for component in document["components"]:
        assert re.fullmatch(r"pkg:[a-z]+/[^ @]+@[^ @]+", component["purl"]), component["purl"]
    assert bill_of(STATUS, tmp_path) == document
    assert bill_of(STATUS.replace("u13", "u14"), tmp_path)["serialNumber"] != document["serialNumber"]
