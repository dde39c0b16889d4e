"""The collector waits while anybody composes, and goes on afterwards, whatever happened."""

import gc
import threading
from collections.abc import Iterator

import pytest

from checklist_composer.collector import CollectorAtRest
from checklist_composer.composing import NothingToCompose, compose


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_enabled else gc.disable)()


def test_it_waits_inside_and_goes_on_after_a_failure() -> None:
    at_rest = CollectorAtRest()
    with pytest.raises(ZeroDivisionError), at_rest:
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_it_waits_for_the_last_of_several_threads() -> None:
    at_rest, inside, leave = CollectorAtRest(), threading.Event(), threading.Event()

    def other() -> None:
        with at_rest:
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=other)
    with at_rest:
        thread.start()
        assert inside.wait(20)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_a_process_without_a_collector_keeps_none() -> None:
    gc.disable()
    with CollectorAtRest():
        pass
    assert not gc.isenabled()


@pytest.mark.parametrize("prompt", ["Check the fridge.", "...."])
def test_composing_leaves_it_as_it_was(prompt: str) -> None:
    try:
        compose(prompt)
    except NothingToCompose:
        assert prompt == "...."
    assert gc.isenabled()
