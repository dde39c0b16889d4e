"""The index of deliveries: what runs and WebhookDelivery objects say, merged, in either order of arrival."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.kube.memory_cluster import NO_CLUSTER

from checklist_api.index.deliveries import DeliveryFilter, DeliveryIndex
from checklist_api.index.delivery_history import DELIVERED, FAILED, Delivery
from checklist_api.index.endpoint_figures import MAX_WINDOW_HOURS, Endpoint
from checklist_crds.resources.delivery import REPLAY_ANNOTATION, WebhookDeliveryStatus
from checklist_crds.runs.replay_rules import ReplayRefusal, refusal_of
from checklist_crds.times import format_timestamp

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
URLS = ("https://a.example.com/one?key=x", "https://b.example.com:8443/two")
Json = dict[str, Any]


@pytest.fixture
def index() -> Iterator[DeliveryIndex]:
    made = new_index()
    yield made
    made.close()


def new_index() -> DeliveryIndex:
    return DeliveryIndex(NO_CLUSTER, lambda: NOW)


def run_id(number: int) -> str:
    return f"r-{UUID(int=number)}"


def event_id(run: int, seq: int) -> str:
    return f"evt-{uuid5(UUID(int=run), str(seq))}"


def at(minutes: float = 0) -> str:
    return format_timestamp(NOW + timedelta(minutes=minutes))


def waiting(run: int, seq: int, *, event: str = "step.completed", minutes: float = 0) -> Json:
    """An entry of the outbox."""
    return {"seq": seq, "event": event, "eventId": event_id(run, seq), "ts": at(minutes)}


def recorded(run: int, seq: int, phase: str = "Delivered", **changes: Any) -> Json:
    """A record of the run."""
    answered = {"outcome": "success", "httpStatus": 200} if phase == "Delivered" else {"outcome": "timeout"}
    made = {"phase": phase, "attempts": 1, "startedAt": at(), "durationMs": 50}
    return {**waiting(run, seq), **made, **answered, **changes}


def metadata(name: str, version: int, changes: Json) -> Json:
    place = {"namespace": changes.get("namespace", "main"), "annotations": changes.get("annotations", {})}
    return {"name": name, "resourceVersion": str(version), **place}


def line(record: Json) -> str:
    """A record as text, whatever it says."""
    names = ("seq", "event", "phase", "attempts", "outcome", "httpStatus", "durationMs", "ts", "startedAt", "eventId")
    return " ".join(str(record.get(name, "-")) for name in names)


def a_run(number: int, *events: Json, version: int = 1, as_text: bool = True, **changes: Any) -> Json:
    """A run with these events: entries with a phase are records. `changes`: organization, namespace, url, status."""
    outbox = [event for event in events if "phase" not in event]
    records = [event for event in events if "phase" in event]
    stored: Json = {"records": "\n".join(map(line, records))} if as_text else {"deliveries": records}
    webhook = {"url": changes.get("url", URLS[0]), "events": ["*"]}
    return {
        "metadata": metadata(run_id(number), version, changes),
        "spec": {"webhook": webhook, "resolved": {"organization": changes.get("organization", "acme")}},
        "status": {"outbox": outbox, **stored, **changes.get("status", {})},
    }


def an_attempt(number: int = 1, *, minutes: float = 0, **changes: Any) -> Json:
    answered = {"durationMs": 200, "outcome": "http_5xx", "httpStatus": 503}
    return {"number": number, "startedAt": at(minutes), **answered, **changes}


def an_object(run: int, seq: int, *attempts: Json, version: int = 1, **changes: Any) -> Json:
    """A WebhookDelivery. `changes`: namespace, url, annotations, status."""
    status = {"phase": "Pending", "attempt": len(attempts), "attempts": list(attempts)}
    refs = {"organizationRef": {"name": "acme"}, "runRef": {"name": run_id(run)}, "eventId": event_id(run, seq)}
    message = {"event": "step.completed", "seq": seq, "ts": at(), "url": changes.get("url", URLS[0]), "payload": "{}"}
    named = metadata(event_id(run, seq), version, changes)
    return {"metadata": named, "spec": refs | message, "status": status | changes.get("status", {})}


ENDED: Json = {"phase": "Failed", "settled": True, "finishedAt": at(1)}


def listed(index: DeliveryIndex, **wanted: Any) -> list[Delivery]:
    return index.page("acme", ["main"], DeliveryFilter(**wanted), offset=0, limit=100)[1]


def only(index: DeliveryIndex) -> Delivery:
    [delivery] = listed(index)
    return delivery


def only_endpoint(index: DeliveryIndex, hours: int = 24) -> Endpoint:
    [endpoint] = index.endpoints.page("acme", ["main"], hours=hours, offset=0, limit=9)[2]
    return endpoint


def test_an_event_goes_from_the_outbox_into_the_records_and_stays_one(index: DeliveryIndex) -> None:
    index.apply_run("UPSERT", a_run(1, waiting(1, 1)))
    assert (only(index).status, only(index).attempts) == ("pending", ())
    index.informer.observe(an_object(1, 1))
    assert (only(index).status, only(index).refusal) == ("pending", ReplayRefusal.RETRY_PENDING)
    index.informer.forget(an_object(1, 1))
    index.apply_run("UPSERT", a_run(1, recorded(1, 1)))
    delivery = only(index)
    assert (delivery.status, delivery.attempts_made, delivery.listed_at) == ("delivered", 1, NOW.timestamp() * 1000)
    assert delivery.last is not None
    assert (delivery.last.outcome, delivery.last.http_status, delivery.last.duration_ms) == ("success", 200, 50)
    assert delivery.finished_at == NOW.timestamp() * 1000 + 50


def test_objects_and_records_are_indexed_alone(
    index: DeliveryIndex,
) -> None:
    body = an_object(1, 1, *(an_attempt(number) for number in range(1, 6)), status=ENDED)
    index.informer.observe(body)
    index.apply_run("UPSERT", a_run(1, recorded(1, 1, "Failed"), recorded(1, 2)))
    index.apply_run("UPSERT", a_run(1, recorded(1, 2)))
    assert sorted(delivery.event.seq for delivery in listed(index)) == [1, 2]
    index.apply_run("DELETE", a_run(1))
    assert (only(index).event.seq, only(index).refusal) == (1, None)
    index.apply_run("UPSERT", a_run(1, recorded(1, 1, "Failed", attempts=5), version=2))
    index.informer.forget(body)
    delivery = only(index)
    assert (delivery.status, delivery.attempts_made, len(delivery.attempts)) == ("failed", 5, 1)
    assert delivery.refusal is ReplayRefusal.PAYLOAD_NOT_KEPT


def test_old_records_without_time_and_outcome_are_listed_as_well_as_may_be(index: DeliveryIndex) -> None:
    old = [recorded(1, 1), recorded(1, 2, "Failed", httpStatus=404), recorded(1, 3, "Failed")]
    final = recorded(2, 1, event="run.completed")
    expired = recorded(3, 1, event="run.expired")
    for record in (*old, final, expired):
        del record["ts"]
    for record in old:
        del record["outcome"]
    later = recorded(1, 4, "Failed", outcome="of a later release")
    index.apply_run("UPSERT", a_run(1, *old, later, as_text=False))
    by_seq = {delivery.event.seq: delivery for delivery in listed(index)}
    outcomes = [attempt.outcome for seq in (1, 2, 3, 4) for attempt in by_seq[seq].attempts]
    assert outcomes == ["success", "http_4xx", None, None]
    assert {(by_seq[seq].happened_at, by_seq[seq].listed_at) for seq in (1, 2, 3)} == {(None, NOW.timestamp() * 1000)}
    index.apply_run("DELETE", a_run(1))
    index.apply_run("UPSERT", a_run(2, final, status={"completedAt": at(-5)}))
    assert only(index).happened_at == (NOW - timedelta(minutes=5)).timestamp() * 1000
    index.apply_run("DELETE", a_run(2))
    run = a_run(3, expired)
    run["spec"] |= {"createdAt": at(-60), "expiresInHours": 0.5}
    index.apply_run("UPSERT", run)
    assert only(index).happened_at == (NOW - timedelta(minutes=30)).timestamp() * 1000


def test_a_delivery_can_be_replayed_as_the_operator_judges_it_and_only_once_at_a_time(index: DeliveryIndex) -> None:
    failed: Json = {"phase": "Failed", "attempt": 5}
    for version, status in enumerate(
        [
            *({"phase": phase, "attempt": 2} for phase in ("Pending", "InFlight")),
            *(failed | more for more in ({}, {"settled": True}, {"replay": {"requestedAt": at()}})),
            {"phase": "Delivered", "attempt": 1, "settled": True},
            {"phase": "Failed", "attempt": 0, "settled": True},
        ],
        1,
    ):
        index.informer.observe(an_object(1, 1, version=version, status=status))
        assert only(index).refusal is refusal_of(WebhookDeliveryStatus.model_validate(status)), status
    asked_for = {REPLAY_ANNOTATION: at()}
    index.informer.observe(an_object(1, 1, an_attempt(), version=9, status=ENDED, annotations=asked_for))
    assert only(index).refusal is ReplayRefusal.REPLAY_UNDER_WAY


def test_one_that_cannot_be_read_does_not_hide_the_others(index: DeliveryIndex) -> None:
    bad = [{**waiting(1, 1), "event": "step.exploded"}, {**waiting(1, 2), "ts": "yesterday"}]
    index.apply_run("UPSERT", a_run(1, *bad, waiting(1, 3)))
    index.apply_run("UPSERT", {"metadata": {"name": run_id(2), "namespace": "main"}, "spec": {}, "status": []})
    index.informer.observe({**an_object(3, 1), "spec": {}})
    index.informer.observe({**an_object(4, 1), "metadata": {"name": "by-hand", "namespace": "main"}})
    stolen, liar = an_object(5, 1), an_object(1, 3, an_attempt(), status=ENDED)
    stolen["metadata"]["name"] = event_id(6, 1)
    liar["spec"]["runRef"]["name"] = run_id(2)
    index.informer.observe(an_object(6, 1, an_attempt(), status={"phase": "Parked"}))
    for body in (stolen, liar, an_object(7, 1, an_attempt(outcome="quic"), status={"phase": "Failed"})):
        index.informer.observe(body)
    found = {(each.event.run_id, each.event.seq): each.status for each in listed(index)}
    assert (found.keys(), found[run_id(1), 3]) == ({(run_id(1), 3), (run_id(7), 1)}, "pending")
    index.apply_run("UPSERT", a_run(8, *({**recorded(8, seq), "seq": 7} for seq in range(20))))
    ids = [one.event.event_id for one in index.of_run(run_id(8), "main", offset=0, limit=50)[1]]
    assert (len(ids), ids) == (20, sorted(ids)), "of one number, as only a hand makes them"


ANSWERS = st.sampled_from([("success", 200), ("http_4xx", 410), ("timeout", None)])
ATTEMPTS = st.builds(
    lambda minutes, took, answer: an_attempt(minutes=minutes, durationMs=took, outcome=answer[0], httpStatus=answer[1]),
    minutes=st.integers(-6000, 0),
    took=st.integers(0, 10_000),
    answer=ANSWERS,
)
RUN_EVENTS = st.sampled_from([None, "waiting", "Delivered", "Failed", "Pending"])
RUN_STATES = st.tuples(st.lists(RUN_EVENTS, max_size=4), st.booleans())
RUN_CHANGES = st.tuples(st.just("run"), st.integers(1, 3), RUN_STATES)
PHASES = st.sampled_from(["Pending", "InFlight", "Delivered", "Failed"])
STATES = st.none() | st.tuples(st.lists(ATTEMPTS, max_size=3), PHASES)
OBJECT_CHANGES = st.tuples(st.just("object"), st.integers(1, 3), st.tuples(st.integers(1, 4), STATES))


def index_after(changes: list[Any]) -> DeliveryIndex:
    index = new_index()
    for version, (kind, run, what) in enumerate(changes, 1):
        url = URLS[run % 2]
        if kind == "run":
            states, as_text = what
            events = [
                waiting(run, seq, minutes=-seq) if event == "waiting" else recorded(run, seq, event)
                for seq, event in enumerate(states, 1)
                if event is not None
            ]
            body = a_run(run, *events, version=version, url=url, as_text=as_text)
            index.apply_run("UPSERT" if states else "DELETE", body)
        else:
            seq, state = what
            body = an_object(run, seq, *(state[0] if state else ()), version=version, url=url)
            if state is None:
                index.informer.forget(body)
            else:
                body["status"]["phase"] = state[1]
                index.informer.observe(body)
    return index


@settings(max_examples=40)
@given(st.lists(st.one_of(RUN_CHANGES, OBJECT_CHANGES), max_size=12))
def test_after_any_history_the_index_is_as_one_that_learned_only_the_end(changes: list[Any]) -> None:
    last: dict[Any, Any] = {}
    for change in changes:
        kind, run, what = change
        last[kind, run, what[0] if kind == "object" else None] = change
    long, short = index_after(changes), index_after(list(last.values()))
    try:
        assert listed(long) == listed(short)
        for status in ("pending", "in_flight", "delivered", "failed"):
            expected = [each for each in listed(long) if each.status == status]
            found = long.page("acme", ["main"], DeliveryFilter(status=status), offset=0, limit=100)
            assert found == (len(expected), expected)
        assert figures(long) == counted(listed(long))
    finally:
        long.close()
        short.close()


def figures(index: DeliveryIndex) -> dict[str, tuple[Any, ...]]:
    _, total, endpoints = index.endpoints.page("acme", ["main"], hours=24, offset=0, limit=100)
    assert total == len(endpoints)
    return {endpoint.host: figures_of(endpoint) for endpoint in endpoints}


def figures_of(each: Endpoint) -> tuple[Any, ...]:
    return each.deliveries, each.attempts, each.successes, each.pending, each.failed, each.latencies.total()


def counted(deliveries: list[Delivery]) -> dict[str, tuple[Any, ...]]:
    """The figures by counting everything."""
    since = (NOW - 24 * HOUR).timestamp() * 1000
    found: dict[str, Counter[str]] = {}
    for delivery in deliveries:
        counter = found.setdefault(delivery.event.host, Counter())
        recent = [attempt for attempt in delivery.attempts if attempt.started_at >= since]
        counter["deliveries"] += delivery.listed_at >= since
        counter["attempts"] += len(recent)
        counter["successes"] += sum(attempt.ok for attempt in recent)
        counter["pending"] += delivery.status not in {DELIVERED, FAILED}
        counter["failed"] += delivery.status == FAILED
        counter["answered"] += sum(attempt.http_status is not None for attempt in recent)
    names = ("deliveries", "attempts", "successes", "pending", "failed", "answered")
    return {host: tuple(counter[name] for name in names) for host, counter in found.items()}


def test_hours_that_no_window_reaches_any_more_are_forgotten_and_figures_stay_right() -> None:
    now = [NOW - 5000 * HOUR]
    index = DeliveryIndex(NO_CLUSTER, lambda: now[0])
    days = range(0, 5000, 24)
    for seq, hours in enumerate(days, 1):
        now[0] = NOW - (5000 - hours) * HOUR
        index.informer.observe(an_object(1, seq, an_attempt(minutes=60 * (hours - 5000)), status=ENDED))
    now[0] = NOW
    index.informer.observe(an_object(2, 1, an_attempt(), status=ENDED))
    known = sum(len(hours) for hours in index.endpoints._hours.values())
    assert known <= MAX_WINDOW_HOURS // 24 + 5
    # What was counted in an hour that is gone is taken off nowhere when the delivery goes.
    for seq, _ in enumerate(days, 1):
        index.informer.forget({"metadata": {"name": event_id(1, seq), "namespace": "main"}})
    assert figures_of(only_endpoint(index, MAX_WINDOW_HOURS)) == (1, 1, 0, 0, 1, 1)
    index.informer.forget({"metadata": {"name": event_id(2, 1), "namespace": "main"}})
    assert index.endpoints.page("acme", ["main"], hours=1, offset=0, limit=9)[1] == 0
    index.close()


@settings(max_examples=50)
@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=60), st.sampled_from([50, 95, 100]))
def test_a_percentile_is_right_to_five_percent(latencies: list[int], percent: int) -> None:
    index = new_index()
    attempts = [an_attempt(durationMs=latency) for latency in latencies]
    index.informer.observe(an_object(1, 1, *attempts, status=ENDED))
    endpoint = only_endpoint(index)
    index.close()
    exact = sorted(latencies)[-(-len(latencies) * percent // 100) - 1]
    assert endpoint.latency_ms(percent) == pytest.approx(exact, rel=0.05)
