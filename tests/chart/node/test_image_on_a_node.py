"""The image in a real pod, under restricted Pod Security: who it is, what it may write, what its programs say."""

import json
import uuid
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from tests.chart.node.cluster import Cluster, CommandFailed
from tests.chart.node.conftest import Image
from tests.chart.node.pods import phase, run_inside, waiting_pod

Inside = Callable[..., str]
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
def inside(cluster: Cluster, loaded: Image) -> Iterator[Inside]:
    """Runs words in a pod of the image that does nothing, to look around there; what they print."""
    with cluster.namespace(f"test-{uuid.uuid4().hex[:10]}") as namespace:
        cluster.apply(waiting_pod("inside", namespace, loaded.name))
        cluster.wait_until(lambda: phase(cluster, namespace, "inside") == "Running", "the pod runs")
        yield partial(run_inside, cluster, namespace, "inside")


@pytest.mark.parametrize(
    ("program", "missing"), [("checklist-api", "CHECKLISTS_"), ("checklist-operator", "CHECKLISTS_SEALING_KEYS")]
)
def test_without_settings_a_program_says_in_one_line_what_it_misses(inside: Inside, program: str, missing: str) -> None:
    with pytest.raises(CommandFailed, match="exit code 2") as ended:
        inside(program)
    said, _ = str(ended.value).splitlines()  # the second line is kubectl's
    assert missing in said


def test_it_is_not_root_and_has_no_capability(inside: Inside) -> None:
    script = "import json, os; print(json.dumps([os.getresuid(), os.getresgid(), open('/proc/self/status').read()]))"
    users, groups, status = json.loads(inside("python3", "-c", script))
    assert (users, groups) == ([65532] * 3, [65532] * 3)
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_it_may_write_tmp_and_nothing_else(inside: Inside) -> None:
    writable = json.loads(inside("python3", "-c", EVERY_WRITABLE_PATH))
    assert "/tmp" in writable
    assert [path for path in writable if path != "/tmp" and not path.startswith("/tmp/")] == []


def test_every_module_of_the_service_can_be_loaded(inside: Inside) -> None:
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
    names = json.loads(inside("python3", "-c", script))
    assert {"checklist_api.app", "checklist_operator.term"} <= set(names)
    assert len(names) > 200


def test_the_authorities_that_sign_receivers_certificates_are_known(inside: Inside) -> None:
    script = "import json, ssl; print(json.dumps(ssl.create_default_context().cert_store_stats()))"
    assert json.loads(inside("python3", "-c", script))["x509_ca"] > 100
