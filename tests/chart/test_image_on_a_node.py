"""The image in a real pod, under restricted Pod Security: who it is, what it may write, what its programs say."""

from collections.abc import Iterator

import pytest
from tests.chart.cluster import Cluster
from tests.chart.conftest import Image
from tests.chart.pods import WAITS_FOREVER, manifest, phase, python_inside, run_to_end

EVERY_WRITABLE_PATH = """
import json, os
found = []
for folder, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in ("/proc", "/sys", "/dev")]
    for name in [".", *files]:
        path = os.path.normpath(os.path.join(folder, name))
        if not os.path.islink(path) and os.access(path, os.W_OK):
            found.append(path)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def pod(cluster: Cluster, loaded: Image, namespace: str) -> Iterator[str]:
    """A pod of the image that does nothing, to look around in."""
    cluster.apply(manifest("inside", namespace, loaded.name, WAITS_FOREVER))
    cluster.wait_until(lambda: phase(cluster, namespace, "inside") == "Running", "the pod runs")
    yield "inside"
    cluster.kubectl("delete", "pod", "inside", "-n", namespace, "--wait=false")


@pytest.mark.parametrize(
    ("command", "missing"), [(None, "CHECKLISTS_"), (["checklist-operator"], "CHECKLISTS_SEALING_KEYS")]
)
def test_without_settings_a_program_says_in_one_line_what_it_misses(
    cluster: Cluster, loaded: Image, namespace: str, command: list[str] | None, missing: str
) -> None:
    """Without a command the image starts the API."""
    name = command[0] if command else "bare"
    ended = run_to_end(cluster, manifest(f"without-settings-{name}", namespace, loaded.name, command))
    assert ended.code == 2
    assert len(ended.output.splitlines()) == 1
    assert missing in ended.output


def test_it_is_not_root_and_has_no_capability(cluster: Cluster, namespace: str, pod: str) -> None:
    script = "import json, os; print(json.dumps([os.getresuid(), os.getresgid(), open('/proc/self/status').read()]))"
    users, groups, status = python_inside(cluster, namespace, pod, script)
    assert (users, groups) == ([65532] * 3, [65532] * 3)
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_it_may_write_tmp_and_nothing_else(cluster: Cluster, namespace: str, pod: str) -> None:
    writable = python_inside(cluster, namespace, pod, EVERY_WRITABLE_PATH)
    assert "/tmp" in writable
    assert [path for path in writable if path != "/tmp" and not path.startswith("/tmp/")] == []


def test_every_module_of_the_service_can_be_loaded(cluster: Cluster, namespace: str, pod: str) -> None:
    script = """
import importlib, json, pkgutil
names = []
for top in ("checklist_api", "checklist_operator", "checklist_crds", "checklist_composer", "checklist_cli"):
    for found in pkgutil.walk_packages(importlib.import_module(top).__path__, top + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
            names.append(found.name)
import pillow_heif, redis.asyncio, obstore.store
print(json.dumps(names))
"""
    names = python_inside(cluster, namespace, pod, script)
    assert {"checklist_api.app", "checklist_operator.term"} <= set(names)
    assert len(names) > 200


def test_the_authorities_that_sign_receivers_certificates_are_known(cluster: Cluster, namespace: str, pod: str) -> None:
    script = "import json, ssl; print(json.dumps(ssl.create_default_context().cert_store_stats()))"
    assert python_inside(cluster, namespace, pod, script)["x509_ca"] > 100
