"""`make audit`: a weakness is one, and a database that was not asked is not a clean result."""

import json

from checklist_dev.audit import of_npm, of_python, python_names

LOCK = """\
aiohttp==3.14.5 \\
    --hash=sha256:00 \\
    --hash=sha256:11
redis[hiredis]==8.1.0 ; extra == 'redis' \\
    --hash=sha256:22
"""


def _report(*dependencies: dict[str, object]) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


def test_a_weakness_is_reported_with_the_version_that_fixes_it() -> None:
    found = {"id": "GHSA-1", "fix_versions": ["3.14.6"], "aliases": [], "description": ""}
    weak = {"name": "aiohttp", "version": "3.14.5", "vulns": [found]}
    well: dict[str, object] = {"name": "redis", "version": "8.1.0", "vulns": []}
    verdict = of_python(_report(weak, well), python_names(LOCK), "")
    assert (verdict.weak, verdict.packages, verdict.not_asked) == (("aiohttp 3.14.5: GHSA-1, mended in 3.14.6",), 2, 0)
    of_esbuild = {"vulnerabilities": {"esbuild": {"severity": "high", "range": "<1"}}, "metadata": {}}
    assert of_npm(json.dumps(of_esbuild), 9).weak == ("esbuild <1: high",)
    assert of_npm(json.dumps({"vulnerabilities": {}, "metadata": {}}), 9).not_asked == 0


def test_a_package_without_an_answer_counts_as_not_asked() -> None:
    verdict = of_python(_report({"name": "aiohttp", "skip_reason": "not found"}), python_names(LOCK), "")
    assert (verdict.weak, verdict.not_asked, verdict.why) == ((), 2, "not found")
    assert of_python("", ["a", "b"], "no route").not_asked == 2
    assert of_python('{"dependencies": 7}', ["a"], "").not_asked == 1
    assert of_npm("", 3).not_asked == 3
    refused = of_npm(json.dumps({"message": "405 Method Not Allowed", "statusCode": 405}), 3)
    assert (refused.not_asked, refused.why) == (3, "405 Method Not Allowed")
