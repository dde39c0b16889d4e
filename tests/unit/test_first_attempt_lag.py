"""What counts as late through no fault of ours: a receiver that takes long, until it answers soon again."""

from checklist_operator.delivery.host_standing import HostStandings
from checklist_operator.delivery.outcome import OutcomeClass
from checklist_operator.metrics import Metrics

HOST = "a.example"


def standings() -> HostStandings:
    return HostStandings(slow_after_timeouts=5, prompt_s=1.0)


def test_a_host_holds_nothing_up_until_it_leaves_attempts_hanging() -> None:
    of = standings()
    assert not of.holds_up(HOST, 0)
    of.begun(HOST, 0)
    assert not of.holds_up(HOST, 0.5)
    assert of.holds_up(HOST, 1.5)
    refusing = standings()
    refusing.ended(HOST, OutcomeClass.HTTP_5XX, 0.1, 10, more_in_flight=False)
    assert not refusing.holds_up(HOST, 11)


def test_so_does_one_after_a_timeout_or_a_slow_answer_until_it_answers_soon() -> None:
    of = standings()
    for outcome, duration_s in ((OutcomeClass.TIMEOUT, 10.0), (OutcomeClass.SUCCESS, 3.0)):
        of.ended(HOST, outcome, duration_s, 10, more_in_flight=False)
        assert of.holds_up(HOST, 11)
        of.ended(HOST, OutcomeClass.SUCCESS, 0.1, 12, more_in_flight=False)
        assert not of.holds_up(HOST, 13)


def test_lags_are_told_apart_by_receiver() -> None:
    metrics = Metrics()
    metrics.first_attempt_started(7, held_up=True)
    metrics.first_attempt_started(-1, held_up=False)

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"checklists_outbox_lag_seconds_{name}", labels)

    assert (value("sum", receiver="slow"), value("sum", receiver="prompt")) == (7, 0)
    assert (value("bucket", receiver="slow", le="5.0"), value("bucket", receiver="prompt", le="5.0")) == (0, 1)
