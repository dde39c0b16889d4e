from collections.abc import AsyncIterator

import pytest
from tests.delivery.authority import Authority
from tests.delivery.name_server import NameServer


@pytest.fixture
async def name_server() -> AsyncIterator[NameServer]:
    async with NameServer() as server:
        yield server


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("authority"))
