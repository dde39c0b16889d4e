"""The sizes of the measurements of `make bench`."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int = 9
    posts: int = 500
    answers: int = 600
    answer_rounds: int = 3
    overload_s: float = 60.0
    gets: int = 1500
    latency_rounds: int = 4
    latency_round_s: float = 5.0
    events_per_s: float = 100.0
    deliveries: int = 3000
    live_runs: int = 100_000
    waiting_deliveries: int = 50_000
    retries: int = 10_000
    retries_within_s: float = 60.0
    retrying_runs: int = 500
    photos: int = 100
    quiet_s: float = 8.0
    loads: int = 5
    taps: int = 40
    viewers: int = 500
    viewer_rounds: int = 4
    listed_runs: int = 20_000
    waiters: int = 1_000
    wait_s: int = 60
    large_templates: int = 600
    prompts: int = 10_000
    idle_s: float = 30.0
    remembered_answers: int = 20_000
    archived_runs: int = 100_000
    moved_runs: int = 10_000
    restored_runs: int = 20_000
    exported_of_cluster: int = 10_000
    sized_runs: int = 10_000


QUICK: Final = Sizes(
    rounds=3,
    posts=60,
    answers=100,
    answer_rounds=1,
    overload_s=3.0,
    gets=120,
    latency_rounds=2,
    latency_round_s=1.5,
    events_per_s=20,
    deliveries=180,
    live_runs=300,
    waiting_deliveries=150,
    retries=240,
    retries_within_s=4.0,
    retrying_runs=12,
    photos=8,
    quiet_s=1.0,
    loads=1,
    taps=5,
    viewers=20,
    viewer_rounds=1,
    listed_runs=300,
    waiters=30,
    wait_s=2,
    large_templates=12,
    prompts=300,
    idle_s=2.0,
    remembered_answers=200,
    archived_runs=1_200,
    moved_runs=100,
    restored_runs=100,
    exported_of_cluster=100,
    sized_runs=200,
)
