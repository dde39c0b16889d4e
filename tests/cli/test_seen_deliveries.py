"""What a receiver remembers of events and transmissions."""

from checklist_cli.seen_deliveries import Novelty, SeenDeliveries


def test_an_event_is_a_duplicate_once_it_was_taken_and_a_transmission_is_a_replay_in_any_case() -> None:
    seen = SeenDeliveries()
    assert seen.meet("r-1", "n1", "evt-1") is Novelty.NEW
    assert seen.meet("r-1", "n1", "evt-1") is Novelty.REPLAYED
    assert seen.meet("r-1", "n2", "evt-1") is Novelty.NEW, "it was not taken yet: the first answer was a failure"
    seen.take("evt-1")
    assert seen.meet("r-1", "n3", "evt-1") is Novelty.DUPLICATE
    assert seen.meet("r-2", "n1", "evt-2") is Novelty.NEW, "another run may use the same nonce"


def test_the_oldest_are_forgotten() -> None:
    seen = SeenDeliveries(events=2, nonces=2)
    for number in range(3):
        assert seen.meet("r-1", f"n{number}", f"evt-{number}") is Novelty.NEW
        seen.take(f"evt-{number}")
    assert seen.meet("r-1", "n0", "evt-0") is Novelty.NEW
    assert seen.meet("r-1", "n9", "evt-2") is Novelty.DUPLICATE
