"""What is remembered of changes: the newest of each object, in order, bounded, and never silently incomplete."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from checklist_api.dashboard.live_changes import LiveChange, LiveKind, RecentChanges, Sight

ALL = Sight(("home",), admin=True)
_changes = st.lists(st.tuples(st.sampled_from(["run", "key"]), st.integers(0, 6)), max_size=40)


def _after(recent: RecentChanges, number: int, sight: Sight = ALL) -> list[tuple[str, str, str]] | None:
    changes = recent.after(number, sight)
    if changes is None:
        return None
    return [(each["kind"], each["id"], each["status"]) for each in map(orjson.loads, changes)]


@given(given=_changes, kept=st.integers(1, 8), seen=st.integers(0, 40))
def test_either_the_newest_of_all_that_came_after_or_nothing_at_all(
    given: list[tuple[str, int]], kept: int, seen: int
) -> None:
    recent = RecentChanges(kept)
    for number, (kind, name) in enumerate(given, start=1):
        recent.add(LiveChange(LiveKind(kind), f"{name}", "home", more={"status": str(number)}))
    newest = {(kind, str(name)): number for number, (kind, name) in enumerate(given, start=1) if number > seen}
    expected = [(*subject, str(number)) for subject, number in sorted(newest.items(), key=lambda item: item[1])]
    found = _after(recent, seen)
    if seen > len(given):
        assert found is None
    elif found is not None:
        assert found == expected
        assert len(newest) <= kept
    else:  # something after `seen` was let go of, and nothing newer of it is here
        assert len(set(given)) > kept


def test_what_is_left_out_is_only_what_the_viewer_may_not_hear_of() -> None:
    recent = RecentChanges()
    for kind in LiveKind:
        recent.add(LiveChange(kind, "one", "home", more={"status": "x"}))
    recent.add(LiveChange(LiveKind.RUN, "two", "elsewhere", more={"status": "x"}))
    seen = _after(recent, 0, Sight(("home",), admin=False)) or []
    assert [kind for kind, _, _ in seen] == ["run", "delivery", "replay", "template"]
    assert len(_after(recent, 0) or []) == len(LiveKind)


def test_memory_is_bounded() -> None:
    recent = RecentChanges(kept=10)
    for number in range(1000):
        recent.add(LiveChange(LiveKind.RUN, str(number), "home", more={"status": "x"}))
    assert len(recent._entries) == len(_after(recent, 990) or []) == 10
    assert _after(recent, 0) is _after(recent, 989) is None
