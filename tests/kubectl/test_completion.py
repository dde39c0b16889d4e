"""Shell completion as kubectl asks for it, and the plugin's help."""

import pytest
from tests.cluster.operator_lab import Lab
from tests.kubectl.plugin_lab import Shell

from checklist_cli.kubectl.completion import complete
from checklist_cli.plugin import COMMANDS, main, parser
from checklist_crds.resources.kinds import TEMPLATE
from checklist_dev.repository import ROOT

GUIDE = (ROOT / "docs" / "kubectl.md").read_text()
Capture = pytest.CaptureFixture[str]


def words(*typed: str) -> list[str]:
    *candidates, directive = complete(parser(), typed).split("\n")
    assert directive == ":4"
    return [candidate.partition("\t")[0] for candidate in candidates]


async def test_kubectl_completes_commands_options_and_names(lab: Lab, shell: Shell) -> None:
    async def completed(*typed: str) -> list[str]:
        done = await shell.run([str(shell.kubectl), "__complete", "checklists", *typed])
        assert done.code == 0, done.err
        *candidates, directive = done.out.splitlines()
        assert directive == ":4"
        return candidates

    assert await completed("wa") == ["wait\twait for the end of a run"]
    first, second = sorted([await lab.dispatch(), await lab.dispatch()])
    assert await completed("wait", "") == [first, second]
    assert await completed("answers", "--step", "s-0", first) == [first]
    assert await completed("tree", first, "r-") == [first, second]
    assert await completed("wait", "-n", "default", "") == []
    assert await completed("dispatch", "--link", "") == [lab.template["metadata"]["name"]]
    listed = await shell.run([str(shell.kubectl), "plugin", "list"])
    assert "kubectl-checklists" in listed.out
    assert (await lab.client.list_all(TEMPLATE, lab.namespace))[0][0]["metadata"]["name"] in await completed(
        "dispatch", "t"
    )


def test_words_are_completed_without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    assert words("") == sorted([*(command.name for command in COMMANDS), "--help", "--version"])
    assert words("no-such-command", "") == []
    assert words("wait", "--time") == ["--timeout"]
    assert words("wait", "-o", "") == ["json", "text"]
    assert words("replay", "--outcome=http_4") == ["--outcome=http_4xx"]
    assert words("wait", "") == [], "a cluster that does not answer offers no names"
    assert words("wait", "r-1", "") == []
    assert complete(parser(), ["wait", "--kubeconfig", ""]) == ":0"


def test_every_command_and_option_is_explained_by_help_and_documentation(capsys: Capture) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main([command.name, "--help"])
        assert ended.value.code == 0
        printed = capsys.readouterr().out
        assert command.description in printed and f"`{command.name}" in GUIDE
        for action in parser()._subparsers._group_actions[0].choices[command.name]._actions:  # type: ignore[union-attr, index]
            assert action.help, f"{command.name} {action.option_strings} says nothing"
            for option in set(action.option_strings) - {"-h", "--help", "--kubeconfig"}:
                assert option in GUIDE, f"{command.name} {option}"
