"""A human step in the demo with kubectl alone: no API key, no dashboard."""

import base64
import json
from collections.abc import Callable
from typing import Final

from checklist_crds.ids import is_id
from checklist_dev.demo.transcript import Transcript
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.kubectl import Kubectl

_SOON: Final = "--timeout=20s"


def human_step(
    kubectl: Kubectl, say: Transcript, template_id: str, step: str, answer: Callable[[str, str], None]
) -> str:
    """Create a run, read its link from the Secret, wait for its end, and read an answer; return the public id.

    `answer` does the person's part for a public id and a link.
    """
    manifest = {
        "apiVersion": "checklists.dev/v1",
        "kind": "Run",
        "metadata": {"generateName": "demo-", "namespace": NAMESPACE},
        "spec": {"templateId": template_id, "executorRef": "made with kubectl", "linkSecretRef": {}},
    }
    run = kubectl("create", "-f", "-", "-o", "name", stdin=json.dumps(manifest)).strip()
    secret = run.partition("/")[2]
    kubectl("wait", "--for=condition=LinkReady", run, "-n", NAMESPACE, _SOON)

    def field(path: str, of: str = run) -> str:
        return kubectl("get", of, "-n", NAMESPACE, "-o", f"jsonpath={path}")

    run_id = field("{.status.resolved.runId}")
    say.check(
        f"kubectl create makes {run} from generateName, and the service gives it an id", is_id("r", run_id), run_id
    )
    link = base64.b64decode(field("{.data.link}", f"secret/{secret}")).decode()
    say.check("the Secret has its link", f"/r/{run_id}#" in link, run_id)
    whole = kubectl("get", run, "-n", NAMESPACE, "-o", "yaml")
    say.check("kubectl get -o yaml of the run does not", link.partition("#")[2] not in whole)
    answer(run_id, link)
    kubectl("wait", "--for=condition=Ended", run, "-n", NAMESPACE, _SOON)
    reason = field('{.status.conditions[?(@.type=="Ended")].reason}')
    say.check("kubectl wait --for=condition=Ended returns: Completed", reason == "Completed", reason)
    value = field(f"{{.status.answers.{step}.value}}")
    say.check("JSONPath reads the answer", value == "true", value)
    kubectl("wait", "--for=delete", f"secret/{secret}", "-n", NAMESPACE, _SOON)
    say.check("the Secret with the link is gone", True)
    return run_id
