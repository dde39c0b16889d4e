"""The real API on the session's control plane, members without a binding, and people at their browsers."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import pytest
from tests.browser.local_accounts import make_token
from tests.contract.conftest import (  # noqa: F401 - fixtures
    Api,
    StartApi,
    api,
    kube,
    namespace,
    photo_settings,
    sealing_keys,
    server_key,
    start_api,
)

from checklist_crds.kube.client import KubeClient
from checklist_dev.failures import say
from checklist_dev.programs.verifiers import make_oidc_provider

from .person import PersonAt
from .real_provider import RealProvider

PASSWORD = "violet tram under gravel"
MakeLink = Callable[..., Awaitable[str]]


@pytest.fixture(scope="package")
def command() -> tuple[str, ...]:
    return make_oidc_provider(report=say)


@pytest.fixture(scope="package")
def shared(command: tuple[str, ...]) -> Iterator[RealProvider]:
    """For tests that do nothing to it."""
    provider = RealProvider(command).start()
    yield provider
    provider.stop()


@pytest.fixture
def own(command: tuple[str, ...]) -> Iterator[RealProvider]:
    """For tests that stop it or change its keys. Not started."""
    provider = RealProvider(command)
    yield provider
    provider.stop()


@pytest.fixture
def make_link(kube: KubeClient, namespace: str) -> MakeLink:  # noqa: F811
    """`await make_link("ada@example.com", purpose=..., lifetime=...)`: the token of a new link."""
    return partial(make_token, kube, namespace)


async def with_password(api: Api, make_link: MakeLink, email: str, password: str = PASSWORD) -> PersonAt:  # noqa: F811
    """A person with a local account who has set `password` and is signed in."""
    person = PersonAt(api.anonymous)
    assert (await person.post("sign-in/link", {"secret": await make_link(email)})).status_code == 200
    await person.session()
    response = await person.post("account/password", {"new_password": password})
    assert response.status_code == 200, response.text
    await person.session()
    return person
