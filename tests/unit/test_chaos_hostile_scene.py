"""The scene of hostile receivers says that it held only when something was sent and everything was right."""

import pytest

from checklist_dev.chaos.hostile_receivers import judged

FIGURES = "10258 deliveries: 67.6 -> 83.1 MiB\n."


def test_a_test_that_passed_with_its_figures_holds() -> None:
    result = judged(0, f"{FIGURES}\n1 passed in 190.12s", "pytest.log")
    assert result.holds
    assert result.figures == {"deliveries": 10258, "mib_before": 67.6, "mib_after": 83.1}


@pytest.mark.parametrize(
    ("status", "output"),
    [(1, f"{FIGURES}\nassert 31.0 <= 20"), (0, "1 skipped"), (0, "0 deliveries: 1.0 -> 1.0 MiB"), (5, "")],
    ids=["failed", "sent nothing", "sent none", "said nothing"],
)
def test_anything_else_does_not(status: int, output: str) -> None:
    result = judged(status, output, "pytest.log")
    assert not result.holds
    assert result.findings[0].violations
