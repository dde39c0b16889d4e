"""The commands of docs/install.md and of the chart's notes, each as it stands, on a real cluster, from install to end.

What the page leaves to the reader is this cluster's: the image, and photos without a StorageClass.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.node.cluster import Cluster
from tests.chart.node.conftest import Image
from tests.chart.node.release import definitions

from checklist_dev.programs.binaries import cached_kubectl
from checklist_dev.programs.go_tools import HELM, find_tool
from checklist_dev.repository import ROOT

PAGE = ROOT / "docs" / "install.md"
CERTIFICATES = ROOT / "tests" / "chart" / "render" / "foreign_crds" / "certificates.cert-manager.io.yaml"
NAMESPACE = "checklists"
FORWARDED = "http://127.0.0.1:8080"
ASK = """
import sys, time, urllib.request
for _ in range(100):
    try:
        with urllib.request.urlopen(sys.argv[1], timeout=10) as answer:
            print(answer.status, answer.read(300).decode(errors="replace"))
        break
    except urllib.error.URLError as error:
        if isinstance(error, urllib.error.HTTPError):
            raise
        time.sleep(0.2)
else:
    sys.exit("no answer")
"""


def fenced(language: str) -> list[str]:
    """The page's blocks of this language."""
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return found


def commands(text: str) -> list[str]:
    """One for each line, or for several that end with a backslash."""
    return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def commands_of_notes(text: str) -> list[str]:
    return [line.strip() for line in text.partition("NOTES:")[2].splitlines() if re.match(r" {3}(kubectl|helm) ", line)]


class Reader:
    """A reader who copies commands into a shell, in a folder with the charts and a values.yaml."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        (folder / "charts").symlink_to(ROOT / "charts")
        # A cluster that is reached through a command brings its own programs.
        own = "" if cluster.prefix else f'PATH="{find_tool(HELM).parent}:{cached_kubectl().parent}:$PATH"; '
        self._before = f'{own}cd "{folder}"; '

    def write(self, values: dict[str, Any]) -> None:
        """A line for each of the chart's values."""
        lines = [f"{name}: {json.dumps(value)}\n" for name, value in values.items()]
        (self.folder / "values.yaml").write_text("".join(lines))

    def run(self, command: str) -> str:
        """What it printed. Raises CommandFailed."""
        return self.cluster.run("sh", "-ec", self._before + command)

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        """One that goes on until it is stopped."""
        words = [*self.cluster.prefix, "sh", "-ec", f"{self._before}exec {command}"]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)

    def ask(self, url: str) -> str:
        return self.cluster.run("python3", "-c", ASK, url)


@pytest.fixture
def reader(cluster: Cluster, loaded: Image, tmp_path: Path) -> Iterator[Reader]:
    if definitions(cluster) or cluster.kubectl("get", "namespace", NAMESPACE, "--ignore-not-found"):
        pytest.skip("the cluster has definitions of checklists.dev, or the page's namespace: an installation")
    try:
        yield Reader(cluster, tmp_path)
    finally:
        cluster.helm("uninstall", "checklist-dispatch", "-n", NAMESPACE, "--ignore-not-found", "--wait")
        if names := definitions(cluster):
            cluster.kubectl("delete", "--timeout=120s", *names)
        cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=120s")


def test_each_command_of_the_install_page_does_what_the_page_says(reader: Reader, loaded: Image) -> None:
    written = next(block for block in fenced("yaml") if block.startswith("# values.yaml"))
    assert len([line for line in written.splitlines() if line and not line.startswith("#")]) <= 5
    image = {"repository": loaded.repository, "tag": loaded.tag}
    reader.write({**yaml.safe_load(written), "image": image, "photos": {"store": "temporary"}})
    cluster, output = reader.cluster, {}
    cluster.kubectl("apply", "--server-side", "-f", str(CERTIFICATES))
    try:
        steps = [command for block in fenced("sh") for command in commands(block)]
        install, sign_in, ask, make_keys, upgrade, history, rollback, uninstall, *rest = steps
        leftovers, remove = rest[:3], rest[3:]
        output["install"] = reader.run(install)
        link = reader.run(sign_in)
        assert link.strip().startswith("https://checklists.example.com/dashboard/sign-in#link="), link
        assert "Succeeded" in reader.run(ask)
        inline = re.search(r"`(kubectl -n checklists port-forward [^`]*)`", PAGE.read_text())
        assert inline is not None
        with reader.running(inline[1]):
            assert reader.ask(f"{FORWARDED}/dashboard/").startswith("200 ")
        for command in commands_of_notes(output["install"]):
            reader.run(command)
        keys = cluster.get("secret", "checklist-dispatch-keys", "-n", NAMESPACE)["data"]
        reader.run(make_keys)
        assert set(cluster.get("secret", "checklist-keys", "-n", NAMESPACE)["data"]) == set(keys)
        reader.run(upgrade)
        assert len(reader.run(history).strip().splitlines()) == 3
        reader.run(rollback)
        organization = cluster.get("organizations.checklists.dev")["items"][0]["metadata"]["uid"]
        reader.run(uninstall)
        assert cluster.get("organizations.checklists.dev")["items"][0]["metadata"]["uid"] == organization
        assert cluster.get("secret", "checklist-dispatch-keys", "-n", NAMESPACE)["data"] == keys
        for command in leftovers:
            reader.run(command)
        kinds = "jobs,pods,leases,roles,rolebindings,serviceaccounts"
        found = cluster.get(kinds, "-n", NAMESPACE)["items"]
        assert {(one["kind"], one["metadata"]["name"]) for one in found} == {("ServiceAccount", "default")}
        for command in remove:
            reader.run(command)
        assert definitions(cluster) == []
        assert cluster.kubectl("get", "namespace", NAMESPACE, "--ignore-not-found") == ""
    finally:
        cluster.kubectl("delete", "-f", str(CERTIFICATES), "--ignore-not-found")
