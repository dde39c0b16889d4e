"""For each alert of the chart: what happened when it fires, and what is much like it and leaves it silent.

Series are those that Prometheus scrapes of a release `rel` in the namespace `apps`; a test compares their names and
labels with what the programs expose. One sample a minute.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

HOUR: Final = 60
DAY: Final = 24 * HOUR


@dataclass(frozen=True)
class Story:
    """`series` by selector, in promtool's notation; the alert is looked at `at` this minute."""

    series: Mapping[str, str]
    at: int = 40


@dataclass(frozen=True)
class Case:
    fires: tuple[Story, ...]
    silent: tuple[Story, ...]
    over_days: bool = field(default=False)
    """Looked at every half hour only, since each rule would be evaluated thousands of times otherwise."""


def metric(name: str, **labels: str) -> str:
    words = [f'{label}="{value}"' for label, value in ({"namespace": "apps"} | labels).items()]
    return f"{name}{{{', '.join(words)}}}"


def steady(value: float, minutes: int = 2 * HOUR) -> str:
    return f"{value}x{minutes}"


def counted(*phases: tuple[float, int], start: float = 0) -> str:
    """A counter that rises by so much each minute, for so many minutes, in each phase."""
    words = []
    for each, minutes in phases:
        words.append(f"{start:g}+{each:g}x{minutes - 1}")
        start += each * minutes
    return " ".join(words)


def _up(value: float) -> Story:
    return Story({metric("up", service="rel-checklist-dispatch-api", pod="api-0"): steady(value)})


def _leads(*values: float) -> Story:
    return Story({metric("checklists_leader", pod=f"operator-{n}"): steady(value) for n, value in enumerate(values)})


def _requests(good: float, bad: float) -> Story:
    def request(status: str) -> str:
        return metric("checklists_http_requests_total", route="/v1/templates", method="GET", status=status)

    return Story({request("200"): counted((good, 60)), request("503"): counted((bad, 60))})


def _buckets(name: str, counts: Mapping[str, float], **labels: str) -> Mapping[str, str]:
    """So many a minute at most so many seconds."""
    return {metric(f"{name}_bucket", le=le, **labels): counted((each, 2 * HOUR)) for le, each in counts.items()}


def _slow(share: float) -> Story:
    counts = {"1.0": 100 - share, "2.0": 100 - share, "5.0": 100.0, "+Inf": 100.0}
    return Story(_buckets("checklists_http_request_seconds", counts, route="/v1/runs"))


def _late(receiver: str) -> Story:
    counts = {"10.0": 90.0, "30.0": 90.0, "120.0": 100.0, "+Inf": 100.0}
    return Story(_buckets("checklists_outbox_lag_seconds", counts, receiver=receiver))


def _gauge(value: float, name: str, **labels: str) -> Story:
    return Story({metric(name, **labels): steady(value)})


def _counter(name: str, *phases: tuple[float, int], at: int = 40, **labels: str) -> Story:
    return Story({metric(name, **labels): counted(*phases)}, at)


def _errors(series: str, at: int = 40) -> Story:
    return Story({metric("checklists_unexpected_errors_total", where="kopf"): series}, at)


def _limits(shared: float, fallbacks: float) -> Story:
    return Story(
        {
            metric("checklists_rate_limits_shared", pod="api-0"): steady(shared),
            metric("checklists_rate_limits_fallbacks_total", pod="api-0"): steady(fallbacks),
        }
    )


# -- objectives -----------------------------------------------------------------------------------------------------

Phases = tuple[tuple[float, float, int], ...]
"""So many good ones and so many errors a minute, for so many minutes."""


def _dispatches(*phases: tuple[float, float, int]) -> Story:
    def request(status: str) -> str:
        return metric("checklists_http_requests_total", route="/v1/runs", method="POST", status=status)

    good = counted(*((good, minutes) for good, _, minutes in phases))
    bad = counted(*((bad, minutes) for _, bad, minutes in phases))
    return Story({request("201"): good, request("500"): bad}, sum(minutes for *_, minutes in phases) - HOUR // 2)


def _lags(name: str, le: str, labels: Mapping[str, str], *phases: tuple[float, float, int]) -> Story:
    good = counted(*((good, minutes) for good, _, minutes in phases))
    every = counted(*((good + bad, minutes) for good, bad, minutes in phases))
    at = sum(minutes for *_, minutes in phases) - HOUR // 2
    return Story({metric(f"{name}_bucket", le=le, **labels): good, metric(f"{name}_count", **labels): every}, at)


def _first_attempts(*phases: tuple[float, float, int]) -> Story:
    return _lags("checklists_outbox_lag_seconds", "5.0", {"receiver": "prompt"}, *phases)


def _slow_receivers(*phases: tuple[float, float, int]) -> Story:
    return _lags("checklists_outbox_lag_seconds", "5.0", {"receiver": "slow"}, *phases)


def _expiries(*phases: tuple[float, float, int]) -> Story:
    return _lags("checklists_expiry_lag_seconds", "10.0", {}, *phases)


# A story is looked at half an hour before its end. Per mille of a hundred a minute; the budget of dispatches is 1 in a
# thousand, those of the other two are ten times that.
_QUICK: Phases = ((100, 0, 8 * HOUR), (98, 2, 90))
"""2 % in the last hour: 14.4 times the budget is 1.44 %; of six hours it is 0.33 %, and 6 times is 0.6 %."""
_QUICK_OVER: Phases = ((100, 0, 8 * HOUR), (98, 2, HOUR), (100, 0, HOUR))
_STEADY: Phases = ((99.2, 0.8, 8 * HOUR),)
"""0.8 %: not 14.4 times the budget, but 6 times."""
_STEADY_OVER: Phases = ((99.2, 0.8, 6 * HOUR), (100, 0, 2 * HOUR))
_FEW: Phases = ((0.05, 0, 8 * HOUR), (0.05, 0.02, 90))
"""Every third one fails, but there was one of them."""
_A_DAY: Phases = ((300, 0, 2 * DAY), (99.6, 0.4, DAY))
"""0.4 % in a day, of a third of the traffic: 3 times the budget is 0.3 %, and of three days it is 0.06 %."""
_A_DAY_OVER: Phases = ((300, 0, 2 * DAY), (99.6, 0.4, DAY - 6 * HOUR), (100, 0, 7 * HOUR))
_THREE_DAYS: Phases = ((99.8, 0.2, 3 * DAY),)
"""0.2 %: not 3 times the budget, but more than it."""
_WITHIN: Phases = ((99.95, 0.05, 3 * DAY),)


def _tenfold(tell: Callable[..., Story], *several: Phases) -> tuple[Story, ...]:
    """Stories that use up as much of a budget that is ten times as large."""
    return tuple(tell(*((good - 9 * bad, 10 * bad, minutes) for good, bad, minutes in phases)) for phases in several)


CASES: Final[dict[str, Case]] = {
    "ChecklistApiDown": Case((_up(0), Story({})), (_up(1),)),
    "ChecklistOperatorWithoutLeader": Case((_leads(0, 0), Story({})), (_leads(1, 0),)),
    "ChecklistApiErrors": Case((_requests(90, 10),), (_requests(99, 1),)),
    "ChecklistApiSlow": Case((_slow(5),), (_slow(0.5),)),
    "ChecklistKubernetesApiAway": Case((_gauge(0, "checklists_kube_up"),), (_gauge(1, "checklists_kube_up"),)),
    "ChecklistDeliveriesFail": Case(
        (_counter("checklists_deliveries_total", (0, 20), (1, 1), (0, 60), result="failed"),),
        (
            _counter("checklists_deliveries_total", (1, 90), result="delivered"),
            _counter("checklists_deliveries_total", (0, 20), (1, 1), (0, 90), at=90, result="failed"),
        ),
    ),
    "ChecklistOutboxLate": Case((_late("prompt"),), (_late("slow"),)),
    "ChecklistEventsWait": Case(
        (_gauge(300, "checklists_oldest_waiting_seconds", of="first_attempt"),),
        (
            _gauge(60, "checklists_oldest_waiting_seconds", of="first_attempt"),
            _gauge(300, "checklists_oldest_waiting_seconds", of="retry"),
        ),
    ),
    "ChecklistRetriesWait": Case(
        (_gauge(600, "checklists_oldest_waiting_seconds", of="retry"),),
        (
            _gauge(200, "checklists_oldest_waiting_seconds", of="retry"),
            _gauge(600, "checklists_oldest_waiting_seconds", of="first_attempt"),
        ),
    ),
    "ChecklistOwnFaults": Case(
        (_counter("checklists_own_faults_total", (1, 90), at=60, reason="SecretNotFound"),),
        (_counter("checklists_own_faults_total", (1, 5), (0, 90), at=60, reason="SecretNotFound"),),
    ),
    "ChecklistUnexpectedErrors": Case(
        (_errors("_x30 1x60"), _errors(counted((0, 30), (1, 1), (0, 60)))),
        (_errors(steady(3)), _errors("_x20 1x60"), _errors(steady(0))),
    ),
    "ChecklistRateLimitsLocal": Case((_limits(0, 1),), (_limits(0, 0), _limits(1, 3))),
    "ChecklistSettingStale": Case(
        (_gauge(1, "checklists_setting_stale", setting="CHECKLISTS_SERVER_KEY"),),
        (_gauge(0, "checklists_setting_stale", setting="CHECKLISTS_SERVER_KEY"),),
    ),
    "ChecklistArchiveLate": Case(
        (_gauge(13 * 3600, "checklists_archive_backlog_seconds"),),
        (
            _gauge(6 * 3600, "checklists_archive_backlog_seconds"),  # a few wait for others
            Story({metric("checklists_archive_backlog_seconds"): f"{13 * 3600}x20 0x60"}),
        ),
    ),
    "ChecklistArchiveStoreAway": Case(
        (
            _gauge(0, "checklists_archive_available"),
            Story({metric("checklists_archive_available", pod=f"operator-{n}"): steady(n) for n in range(2)}),
        ),
        (
            _gauge(1, "checklists_archive_available"),
            Story({metric("checklists_archive_available"): "1x10 0x10 1x60"}, 21),
        ),
    ),
    "ChecklistArchiveFails": Case(
        (
            _counter("checklists_archive_failures_total", (0, 20), (1, 1), (0, 60), reason="damaged"),
            _counter("checklists_archive_failures_total", (0.2, 60), reason="unreadable"),
        ),
        (
            _counter("checklists_archive_failures_total", (1, 90), reason="store"),
            _counter("checklists_archive_failures_total", (0, 20), (1, 1), (0, 90), at=90, reason="damaged"),
        ),
    ),
    "ChecklistArchiveUnseen": Case(
        (
            Story({metric("checklists_archive_look_age_seconds", pod="api-0"): counted((60, 60))}),
            Story(
                {
                    metric("checklists_archive_look_age_seconds", pod="api-0"): steady(20),
                    metric("checklists_archive_look_age_seconds", pod="api-1"): steady(900),
                }
            ),
        ),
        (
            _gauge(200, "checklists_archive_look_age_seconds"),
            Story({metric("checklists_archive_look_age_seconds"): "20x35 400x3 20x30"}),
        ),
    ),
    "ChecklistArchiveDamaged": Case(
        (
            _counter("checklists_archive_read_failures_total", (0, 20), (1, 1), (0, 60), reason="damaged"),
            _counter("checklists_archive_read_failures_total", (0, 20), (2, 30), reason="disk"),
        ),
        (
            _counter("checklists_archive_read_failures_total", (2, 90), reason="store"),
            _counter("checklists_archive_read_failures_total", (0, 20), (1, 1), (0, 90), at=90, reason="damaged"),
        ),
    ),
    "ChecklistDispatchBudgetBurning": Case(
        (_dispatches(*_QUICK), _dispatches(*_STEADY)),
        tuple(_dispatches(*phases) for phases in (_QUICK_OVER, _STEADY_OVER, _FEW, _A_DAY, _WITHIN)),
        over_days=True,
    ),
    "ChecklistDispatchBudgetShrinking": Case(
        (_dispatches(*_A_DAY), _dispatches(*_THREE_DAYS)),
        tuple(_dispatches(*phases) for phases in (_A_DAY_OVER, _FEW, _WITHIN)),
        over_days=True,
    ),
    "ChecklistFirstAttemptBudgetBurning": Case(
        _tenfold(_first_attempts, _QUICK, _STEADY),
        _tenfold(_first_attempts, _QUICK_OVER, _A_DAY) + _tenfold(_slow_receivers, _QUICK),
        over_days=True,
    ),
    "ChecklistFirstAttemptBudgetShrinking": Case(
        _tenfold(_first_attempts, _A_DAY, _THREE_DAYS),
        _tenfold(_first_attempts, _WITHIN) + _tenfold(_slow_receivers, _THREE_DAYS),
        over_days=True,
    ),
    "ChecklistExpiryBudgetBurning": Case(
        _tenfold(_expiries, _QUICK, _STEADY), _tenfold(_expiries, _QUICK_OVER, _A_DAY), over_days=True
    ),
    "ChecklistExpiryBudgetShrinking": Case(
        _tenfold(_expiries, _A_DAY, _THREE_DAYS), _tenfold(_expiries, _A_DAY_OVER, _WITHIN), over_days=True
    ),
}
