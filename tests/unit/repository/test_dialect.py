"""How words of the former dialect are counted, and when their count has risen."""

from collections import Counter

from checklist_dev.dialect import by_folder, risen, uses

WORDS = ["told", "put down"]


def test_words_are_counted_in_prose_and_in_parts_of_names() -> None:
    text = "Told again: class ToldStep, MAX_TOLD, told_once; put_down, putDown, put down."
    assert uses(text, WORDS) == Counter({"told": 4, "put down": 3})


def test_other_words_that_contain_one_are_not_counted() -> None:
    assert not uses("untold retold toldo; put it down; input downstream", WORDS)


def test_counts_are_kept_by_top_level_folder() -> None:
    found = by_folder({"api/a.py": "told", "api/web/b.ts": "told", "README.md": "put down"}, WORDS)
    assert found == {"api": Counter(told=2), ".": Counter({"put down": 1})}


def test_a_count_may_fall_and_not_rise_and_a_new_folder_starts_at_none() -> None:
    found = {"api": Counter(told=2), "cli": Counter(told=1), "new": Counter(told=1)}
    first, second = risen(found, {"api": 1, "cli": 5})
    assert first.startswith("api: 2 ") and "told 2" in first
    assert second.startswith("new: 1 ")
