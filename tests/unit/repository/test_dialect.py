"""How words of the former dialect are counted, and when their count has risen."""

from collections import Counter

from checklist_dev.dialect import by_folder, risen, uses

WORDS = ["gizmo", "spun up"]


def test_words_are_counted_in_prose_and_in_parts_of_names() -> None:
    text = "Gizmo again: class GizmoStep, MAX_GIZMO, gizmo_once; spun_up, spunUp, spun up."
    assert uses(text, WORDS) == Counter({"gizmo": 4, "spun up": 3})


def test_other_words_that_contain_one_are_not_counted() -> None:
    assert not uses("ungizmo regizmo gizmoo; put it down; inspun upstream", WORDS)


def test_counts_are_kept_by_top_level_folder() -> None:
    found = by_folder({"api/a.py": "gizmo", "api/web/b.ts": "gizmo", "README.md": "spun up"}, WORDS)
    assert found == {"api": Counter(gizmo=2), ".": Counter({"spun up": 1})}


def test_a_count_may_fall_and_not_rise_and_a_new_folder_starts_at_none() -> None:
    found = {"api": Counter(gizmo=2), "cli": Counter(gizmo=1), "new": Counter(gizmo=1)}
    first, second = risen(found, {"api": 1, "cli": 5})
    assert first.startswith("api: 2 ") and "gizmo 2" in first
    assert second.startswith("new: 1 ")
