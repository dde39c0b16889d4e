"""What `make run` prints about webhook targets is what API and operator do with them."""

from base64 import b64encode

import pytest

from checklist_dev.service import INSECURE_TARGETS, about_targets
from checklist_operator.settings import Settings

KEY = b64encode(bytes(32)).decode()
KEYS = {"CHECKLISTS_SERVER_KEY": KEY, "CHECKLISTS_SEALING_KEYS": f"one:{KEY}"}


@pytest.mark.parametrize("value", ["1", "yes", "On", "0", "no", "False", "", " "])
def test_insecure_targets_are_called_allowed_when_they_are(value: str) -> None:
    given = {INSECURE_TARGETS: value}
    allowed = Settings.from_environment(KEYS | given).allow_insecure_targets
    assert (" are allowed here" in about_targets(given)) is allowed
    assert (" are refused here" in about_targets(given)) is not allowed


def test_insecure_targets_are_allowed_unless_a_setting_says_otherwise() -> None:
    assert " are allowed here" in about_targets({})
