"""`python3 bill.py`: prints the image's bill of materials, CycloneDX 1.6 as JSON.

It lists the Python distributions of the application, the Debian packages whose files were copied, the interpreter,
and the npm packages in the web app (those of the lock file that are not build tools). Standard library only, since it
runs inside the build.
"""

import argparse
import hashlib
import json
import platform
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

NAME = "checklist-dispatch"
_REQUIRED = re.compile(r"^([A-Za-z0-9._-]+)")

Component = dict[str, Any]


def normal(name: str) -> str:
    """Normalize a distribution name for package URLs (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def python_components(sites: list[Path]) -> Iterator[tuple[Component, list[str]]]:
    """Each distribution in `sites`, with the names of its requirements."""
    for found in metadata.distributions(path=[str(site) for site in sites]):
        name = normal(found.metadata["Name"])
        url = f"pkg:pypi/{name}@{found.version}"
        component: Component = {"type": "library", "bom-ref": url, "name": name, "version": found.version, "purl": url}
        if found_licences := licences(found.metadata):
            component["licenses"] = found_licences
        required = [normal(match[1]) for text in found.requires or [] if (match := _REQUIRED.match(text))]
        yield component, required


def licences(package: metadata.PackageMetadata) -> list[dict[str, Any]]:
    """The declared licence: an SPDX expression, else names; empty if none is declared."""
    if expressions := package.get_all("License-Expression"):
        return [{"expression": expressions[0]}]
    names = [text for text in package.get_all("License") or () if "\n" not in text]  # else it is the licence text
    if not names:
        classifiers = (text for text in package.get_all("Classifier") or () if text.startswith("License :: "))
        names = [text.rpartition(" :: ")[2] for text in classifiers]
    return [{"license": {"name": name}} for name in names]


def debian_components(status: Path) -> Iterator[Component]:
    for path in sorted(status.iterdir()) if status.is_dir() else ():
        fields = dict(line.split(": ", 1) for line in path.read_text().splitlines() if ": " in line and line[0] != " ")
        url = f"pkg:deb/debian/{path.name}@{fields['Version'].replace(':', '%3A').replace('+', '%2B')}"
        url += f"?arch={fields['Architecture']}"
        yield {"type": "library", "bom-ref": url, "name": path.name, "version": fields["Version"], "purl": url}


def npm_components(lock: Path) -> Iterator[Component]:
    """Runtime packages of the web app, without those that only build or test it."""
    for place, package in sorted(json.loads(lock.read_text())["packages"].items()):
        if not place or package.get("dev"):
            continue
        name, version = place.rpartition("node_modules/")[2], package["version"]
        url = f"pkg:npm/{name.replace('@', '%40')}@{version}"
        component: Component = {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}
        if "license" in package:
            component["licenses"] = [{"expression": package["license"]}]
        yield component


def bill(sites: list[Path], status: Path, lock: Path, created: datetime) -> dict[str, Any]:
    """The document, deterministic. `created`: the time of the sources."""
    python = list(python_components(sites))
    version = next(each["version"] for each, _ in python if each["name"] == NAME)
    components = [component for component, _ in python if component["name"] != NAME]
    references = {component["name"]: component["bom-ref"] for component in components}
    own = f"pkg:pypi/{NAME}@{version}"
    edges = {component["bom-ref"]: sorted({references[each] for each in required if each in references})
             for component, required in python if component["name"] != NAME}  # fmt: skip
    runtime = f"pkg:generic/python@{platform.python_version()}"
    others: list[Component] = [
        {
            "type": "platform", "bom-ref": runtime, "name": "python", "version": platform.python_version(),
            "purl": runtime, "licenses": [{"license": {"id": "PSF-2.0"}}],
        },
        *debian_components(status),
        *npm_components(lock),
    ]  # fmt: skip
    components = sorted([*components, *others], key=lambda component: str(component["bom-ref"]))
    edges |= {component["bom-ref"]: [] for component in others}
    edges[own] = [component["bom-ref"] for component in components]
    content = hashlib.sha256(json.dumps(components, sort_keys=True).encode()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "timestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "container", "bom-ref": own, "name": NAME, "version": version, "purl": own},
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": needed} for ref, needed in sorted(edges.items())],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True, help="root file system of the image")
    parser.add_argument("--packages", type=Path, required=True, help="the environment with the locked packages")
    parser.add_argument("--service", type=Path, required=True, help="where the service is installed")
    parser.add_argument("--npm-lock", type=Path, required=True)
    parser.add_argument("--epoch", type=int, required=True, help="time of the sources' last change, in seconds")
    given = parser.parse_args()
    sites = [site for folder in (given.packages, given.service) for site in folder.glob("lib/python3.*/site-packages")]
    status = given.root / "var" / "lib" / "dpkg" / "status.d"
    document = bill(sites, status, given.npm_lock, datetime.fromtimestamp(given.epoch, UTC))
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
