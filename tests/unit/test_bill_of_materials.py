"""The image's bill of materials is CycloneDX 1.6 by its own strict schema, and what `make audit` says of packages."""

import json
import re
import sysconfig
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checklist_dev.audit import of_npm, of_python, python_names
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


LOCK = """\
aiohttp==3.14.5 \\
    --hash=sha256:00 \\
    --hash=sha256:11
redis[hiredis]==8.1.0 ; extra == 'redis' \\
    --hash=sha256:22
"""


def _told(*dependencies: dict[str, object]) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


def test_a_weakness_is_told_with_what_mends_it() -> None:
    found = {"id": "GHSA-1", "fix_versions": ["3.14.6"], "aliases": [], "description": ""}
    weak = {"name": "aiohttp", "version": "3.14.5", "vulns": [found]}
    well: dict[str, object] = {"name": "redis", "version": "8.1.0", "vulns": []}
    verdict = of_python(_told(weak, well), python_names(LOCK), "")
    assert (verdict.weak, verdict.packages, verdict.not_asked) == (("aiohttp 3.14.5: GHSA-1, mended in 3.14.6",), 2, 0)
    of_esbuild = {"vulnerabilities": {"esbuild": {"severity": "high", "range": "<1"}}, "metadata": {}}
    assert of_npm(json.dumps(of_esbuild), 9).weak == ("esbuild <1: high",)
    assert of_npm(json.dumps({"vulnerabilities": {}, "metadata": {}}), 9).not_asked == 0


def test_a_package_without_an_answer_counts_as_not_asked() -> None:
    verdict = of_python(_told({"name": "aiohttp", "skip_reason": "not found"}), python_names(LOCK), "")
    assert (verdict.weak, verdict.not_asked, verdict.why) == ((), 2, "not found")
    assert of_python("", ["a", "b"], "no route").not_asked == 2
    assert of_python('{"dependencies": 7}', ["a"], "").not_asked == 1
    assert of_npm("", 3).not_asked == 3
    refused = of_npm(json.dumps({"message": "405 Method Not Allowed", "statusCode": 405}), 3)
    assert (refused.not_asked, refused.why) == (3, "405 Method Not Allowed")
