"""The verifiers of other languages, made once, and a batch of real deliveries that several tests look at."""

import pytest

from checklist_dev.failures import say
from checklist_dev.programs.verifiers import Programs, make_programs


@pytest.fixture(scope="session")
def programs() -> Programs:
    """Installed and built now when they are not current; a machine that cannot have them fails the tests, loudly."""
    return make_programs(report=say)
