"""`make run` and `make stop`: the service on this machine, with an organization, a key, a template and a run.

State is in `.run/` (see `service_state`), logs in `.run/logs/`.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter

from checklist_crds.settings.forms import Switch
from checklist_dev.failures import Failure, end_on_signals, run_tool, say
from checklist_dev.local.bootstrap import NAMESPACE, new_sign_in_link
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.external_cluster import ExternalCluster
from checklist_dev.local.local_service import Cluster, LocalService
from checklist_dev.local.rest import Rest
from checklist_dev.repository import STATE, TEMPLATES
from checklist_dev.system.detach import announce_ready, run_detached
from checklist_dev.system.processes import Watched
from checklist_dev.system.service_state import ServiceState, read_json, write_json
from checklist_dev.system.tether import end_with_parent

DEFAULT_PORT = 8080
EXAMPLE = TEMPLATES / "restaurant-opening.json"
INSECURE_TARGETS = "CHECKLISTS_ALLOW_INSECURE_TARGETS"
SUPERVISE_EVERY_S = 0.5
STOP_WITHIN_S = 60.0


def serve(state: ServiceState, env: Mapping[str, str], *, ready_descriptor: int | None) -> int:
    """Start everything, print a summary, and supervise it until a signal."""
    end_on_signals()
    state.take()
    try:
        service = LocalService(
            state.folder,
            port=_port(env),
            cluster=_cluster(state.folder, env),
            base_url=(env.get("CHECKLISTS_BASE_URL") or "").rstrip("/") or None,
            settings={name: env[name] for name in ("CHECKLISTS_HOST",) if name in env}
            | {INSECURE_TARGETS: env.get(INSECURE_TARGETS, "1")},
            remembered=read_json(state.remembered),
        )
        with service:
            summary = _introduce(service, state, about_targets=about_targets(env))
            if ready_descriptor is None:
                print(summary, flush=True)
                say("Ctrl-C ends it.")
            else:
                announce_ready(ready_descriptor, summary)
            try:
                while True:
                    time.sleep(SUPERVISE_EVERY_S)
                    if service.look_after():
                        _write_pids(service, state)
            except KeyboardInterrupt:
                say("ending: API, operator, then the Kubernetes API")
                state.info.unlink(missing_ok=True)
        say("ended")
    finally:
        state.release()
    return 0


def _introduce(service: LocalService, state: ServiceState, *, about_targets: str) -> str:
    """Create a template and a run, write the state files, and return the summary to print."""
    account = service.account
    remembered = {
        "organization_id": account.organization_id,
        "member_id": account.member_id,
        "api_key": account.api_key,
        "template_id": read_json(state.remembered).get("template_id", ""),
    }
    write_json(state.remembered, remembered)  # at once: the key's plaintext is stored nowhere else
    with Rest(service.local_url, account.api_key) as rest:
        template = str(remembered["template_id"])
        if not template or rest.ask("GET", f"/v1/templates/{template}").is_error:
            template = rest.create_template(json.loads(EXAMPLE.read_text()))
            write_json(state.remembered, {**remembered, "template_id": template})
        run = rest.dispatch(template, executor_ref="make run")
        ways = rest.ask("GET", "/dashboard/api/sign-in")
        takes_links = ways.is_success and ways.json().get("local") is True
    kubectl = service.cluster.run_kubectl
    link = new_sign_in_link(kubectl, account.member_id, service.base_url) if takes_links else ""
    info = {
        "base_url": service.base_url,
        "api_key": account.api_key,
        "organization_id": account.organization_id,
        "template_id": template,
        "run_id": run["run_id"],
        "link": run["link"],
        "sign_in_link": link,
        "kubeconfig": str(service.cluster.kubeconfig),
        "kubectl": str(service.cluster.kubectl),
        "namespace": NAMESPACE,
        "operator_url": f"http://127.0.0.1:{service.operator_port}",
    }
    write_json(state.info, info)
    _write_pids(service, state)
    return _summary(state, info, is_new=account.is_new, about_targets=about_targets)


def _write_pids(service: LocalService, state: ServiceState) -> None:
    pids = {"supervisor": os.getpid(), **service.pids()}
    write_json(state.info, {**read_json(state.info), "pids": pids, "logs": service.logs()})


def about_targets(env: Mapping[str, str]) -> str:
    """Whether insecure webhook targets are allowed. As in API and operator, a blank setting is the default, off.

    Only for valid values: with others, API and operator do not start.
    """
    given = env.get(INSECURE_TARGETS, "1").strip()
    if given and TypeAdapter(Switch).validate_python(given):
        return f"Webhooks to http and to this machine are allowed here ({INSECURE_TARGETS}); elsewhere they are not."
    return f"Webhooks to http and to this machine are refused here, too ({INSECURE_TARGETS}=1 allows them)."


def _summary(state: ServiceState, info: Mapping[str, str], *, is_new: bool, about_targets: str) -> str:
    kubectl = f"KUBECONFIG={info['kubeconfig']} {info['kubectl']} -n {info['namespace']}"
    return f"""
Checklist Dispatch serves.

  base URL  {info["base_url"]}
  API key   {info["api_key"]}  ({"new, only its digest is stored in the cluster" if is_new else "as before"})
  a run     {info["link"]}
  dashboard {info["sign_in_link"] or info["base_url"] + "/dashboard"}
{_about_link(info)}
{about_targets}
The same is in {state.info}. To paste:

# dispatch a run
curl -sS {info["base_url"]}/v1/runs -H 'Authorization: Bearer {info["api_key"]}' \
-H 'Content-Type: application/json' -d '{{"template_id": "{info["template_id"]}", "expires_in_hours": 24}}'
# make a template from a sentence in English, German, Spanish or French (stored nowhere)
curl -sS {info["base_url"]}/v1/templates/generate -H 'Authorization: Bearer {info["api_key"]}' \
-H 'Content-Type: application/json' -d '{{"prompt": "Van check: tyres ok, lights ok, tyre pressure in bar"}}'
# list the runs
{kubectl} get clrun
# watch what happens to them
{kubectl} get clrun --watch
"""


def _about_link(info: Mapping[str, str]) -> str:
    if not info["sign_in_link"]:
        return ""
    return f"""            (signs you in once, within the hour; each start makes a new link, and so does
            KUBECONFIG={info["kubeconfig"]} .venv/bin/checklist-dispatch sign-in-link developer@example.com \
            --base-url {info["base_url"]})
"""


def _port(env: Mapping[str, str]) -> int:
    text = env.get("CHECKLISTS_PORT") or str(DEFAULT_PORT)
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise Failure(f"CHECKLISTS_PORT must be a port number, not {text!r}")
    return int(text)


def _cluster(folder: Path, env: Mapping[str, str]) -> Cluster:
    own = ControlPlane(folder / "controlplane")
    given = env.get("KUBECONFIG")
    # The user may have exported the KUBECONFIG that the last `make run` printed.
    if not given or Path(given).absolute() == own.kubeconfig:
        return own
    say(f"using the cluster of KUBECONFIG={given}")
    return ExternalCluster(os.pathsep.join(str(Path(name).absolute()) for name in given.split(os.pathsep) if name))


def stop(state: ServiceState) -> int:
    """Stop the running service, if any. Raises Failure if it does not end in time."""
    pid = state.owner()
    if pid is None:
        say("no service is running")
        return 0
    say(f"ending the service (pid {pid})")
    try:
        with Watched(pid) as service:
            service.send_signal(signal.SIGTERM)
            # Wait for the process, since it releases its lock a moment before it ends.
            if not service.wait(STOP_WITHIN_S):
                service.send_signal(signal.SIGKILL)  # its children end with it
                service.wait(STOP_WITHIN_S)
                raise Failure(f"the service did not end within {STOP_WITHIN_S:.0f} s and was killed")
    except ProcessLookupError:
        pass  # it has just ended
    say("ended")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.local.service",
        description="Run the service on this machine: control plane, API, operator.",
        epilog="Settings come from the environment: CHECKLISTS_PORT (8080), CHECKLISTS_BASE_URL, "
        "CHECKLISTS_RETRY_GAPS, CHECKLISTS_RATE_LIMIT, CHECKLISTS_ALLOW_INSECURE_TARGETS (1 here), "
        "KUBECONFIG (use that cluster).",
    )
    parser.add_argument("--state", type=Path, default=STATE, help="folder of data, logs and key (default: .run)")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="start everything and serve until Ctrl-C")
    run.add_argument("--detach", action="store_true", help="return when the service is ready, and keep it running")
    run.add_argument("--end-with-parent", action="store_true", help="stop when the parent process has ended")
    run.add_argument("--ready-descriptor", type=int, help=argparse.SUPPRESS)
    commands.add_parser("stop", help="stop the service")
    arguments = parser.parse_args()
    state = ServiceState(arguments.state.absolute())
    if arguments.command == "stop":
        return stop(state)
    if arguments.detach:
        command = [sys.executable, "-m", "checklist_dev.local.service", "--state", str(state.folder), "run"]
        return run_detached(command, log=state.folder / "logs" / "service.log")
    if arguments.end_with_parent:
        end_with_parent()
    return serve(state, os.environ, ready_descriptor=arguments.ready_descriptor)


if __name__ == "__main__":
    run_tool(main)
