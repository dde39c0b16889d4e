"""What is taken out of the image is nothing that a program of the service loads."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path, PurePosixPath

from checklist_dev.release.image.slim import is_needed

LOADS_ALL = """
import asyncio, importlib, json, pkgutil, sys
for top in ("checklist_operator", "checklist_api", "checklist_crds", "checklist_composer", "checklist_cli"):
    for found in pkgutil.walk_packages(importlib.import_module(top).__path__, top + "."):
        importlib.import_module(found.name)
import obstore.store, opentelemetry.exporter.otlp.proto.http.trace_exporter, pillow_heif, redis.asyncio, zstandard
from checklist_crds.kube.client import KubeConnection
asyncio.run(KubeConnection.load(sys.argv[1]))
print(json.dumps([module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)]))
"""
SITE = Path(sysconfig.get_paths()["purelib"])


def test_all_that_the_service_loads_stays_in_the_image(tmp_path: Path) -> None:
    """Neither is the synchronous client of Kubernetes loaded, which is not in it."""
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}, "context": {"cluster": "c", "user": "u"}}
    config = {"clusters": [cluster], "contexts": [cluster], "users": [{"name": "u", "user": {"token": "t"}}]}
    (file := tmp_path / "kubeconfig").write_text(json.dumps({**config, "current-context": "c"}))
    words = [sys.executable, "-c", LOADS_ALL, str(file)]
    loaded = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    theirs = [Path(path).relative_to(SITE) for path in loaded if SITE in Path(path).parents]
    assert len(theirs) > 1000
    assert [str(path) for path in theirs if not is_needed(path)] == []
    assert {path.parts[1] for path in theirs if path.parts[0] == "kubernetes"} == {"__init__.py", "aio"}


def test_what_nothing_loads_is_taken_out() -> None:
    paths = [
        "kubernetes/client/models/v1_pod.py",
        "kubernetes/aio/client/models/v1_pod.py",
        "kubernetes/aio/client/api/core_v1_api.py",
        "kubernetes/aio/config/kube_config_test.py",
        "zstandard/_cffi.cpython-311-x86_64-linux-gnu.so",
        "fontTools/misc/bezierTools.c",
        "somewhere/tests/test_it.py",
    ]
    assert [path for path in paths if is_needed(PurePosixPath(path))] == []
