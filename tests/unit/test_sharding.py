"""How operators divide the work: every organization has one shard, whatever their number."""

import re
from typing import Any

import pytest

from checklist_crds.slots import SLOT_LABEL, SLOTS, slot_of
from checklist_operator.sharding import Shard, has_slot

COUNTS = [1, 2, 3, 4, 5, 7, 60]


def selects(selector: str | None, slot: str | None) -> bool:
    """As the API server does it: `notin` also selects what has no such label."""
    if selector is None:
        return True
    match = re.fullmatch(rf"{SLOT_LABEL} (in|notin) \((.*)\)", selector)
    assert match is not None
    return (slot in match[2].split(",")) == (match[1] == "in")


def body(slot: str | None) -> Any:
    return {"metadata": {"labels": {SLOT_LABEL: slot}} if slot is not None else {}}


@pytest.mark.parametrize("count", COUNTS)
def test_each_organization_has_one_shard_and_its_objects_are_selected_by_that_one(count: int) -> None:
    shards = [Shard(index, count) for index in range(count)]
    for number in range(300):
        organization = f"org-{number}"
        [owner] = [shard for shard in shards if shard.owns(organization)]
        assert [shard for shard in shards if selects(shard.selector, slot_of(organization))] == [owner]


def test_what_has_no_slot_that_there_is_comes_to_the_first_shard() -> None:
    for slot in (None, "", "60", "07", "x", "-1", "1.5"):
        for count in COUNTS:
            assert [index for index in range(count) if selects(Shard(index, count).selector, slot)] == [0]
        assert not has_slot(body(slot))


def test_slots_never_change_and_are_spread() -> None:
    assert [slot_of("org-1"), slot_of("acme"), slot_of("org-a2f3")] == ["11", "25", "49"]
    assert {slot_of(f"org-{number}") for number in range(2000)} == {str(slot) for slot in range(SLOTS)}
    assert all(has_slot(body(str(slot))) for slot in range(SLOTS))


def test_pods_of_a_stateful_set_know_their_shard_and_further_ones_stand_by() -> None:
    pods = [Shard.parse("ordinal/3", host=f"operator-{number}") for number in range(6)]
    assert pods == [Shard(0, 3), Shard(1, 3), Shard(2, 3)] * 2
    assert [Shard.parse(text, host="x") for text in ("", "2/3")] == [Shard(), Shard(2, 3)]
    for text in ("3/3", "0/0", "0/61", "1", "a/3", "-1/3", "0/3 ", "ordinal/3"):
        with pytest.raises(ValueError, match=r"/3|number"):
            Shard.parse(text, host="laptop")


def test_a_lease_tells_its_division() -> None:
    names = [Shard(index, count).lease_name for count in (1, 2, 3) for index in range(count)]
    assert len(set(names)) == 6
    for count in (1, 2, 3):
        others = [name for name in [*names, "x", "x-0-of-2"] if Shard(0, count).is_of_another_division(name)]
        assert len(others) == 6 - count and not set(others) & {"x", "x-0-of-2"}
