"""Samples of a /metrics page."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

Labels = Mapping[str, str]
REQUESTS: Final = "apiserver_request_total"
"""What an API server counts of its requests."""


def samples(text: str, *names: str) -> Iterator[Sample]:
    """Only of these names: an API server's page has megabytes."""
    lines = [line for line in text.splitlines() if line.startswith(names)]
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        yield from (sample for sample in family.samples if sample.name in names)


def total(text: str, name: str, keep: Callable[[Labels], bool] = lambda labels: True) -> float | None:
    """The sum of those samples that `keep` accepts; None when the page has none of this name."""
    found = list(samples(text, name))
    return sum(sample.value for sample in found if keep(sample.labels)) if found else None
