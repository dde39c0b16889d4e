"""Lines of a part: a run with its objects, or deliveries that were removed before their run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self

from ..resources.run import Run
from ..resources.run_id import run_id_of, run_id_of_delivery
from ..resources.template_definition import Definition
from ..runs.row import ADDED_COLUMNS, RUN_COLUMNS, row_of_run
from ..times import parse_timestamp
from ..values.json_text import JsonObject, from_json, to_json
from .damage import Damaged

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Record:
    """A settled run, as it was in the cluster."""

    run: JsonObject
    """The Run object, without metadata.managedFields."""
    revision: JsonObject | None
    """Its TemplateRevision object; None if that was deleted by hand."""
    deliveries: tuple[JsonObject, ...]
    """The WebhookDelivery objects, ordered by name."""
    photos: tuple[JsonObject, ...]
    """{key, size, sha256} of photos that stay in the photo store, each with a thumbnail."""
    row: JsonObject
    """The run's list entry: values of RUN_COLUMNS by name, times in milliseconds since 1970. It lacks ADDED_COLUMNS
    with their values there, so that a run of an earlier release has the same line."""

    @classmethod
    def of(cls, run: JsonObject, revision: JsonObject | None, deliveries: Iterable[JsonObject]) -> Self:
        """Raises what `row_of_run` raises, and ValueError for a run that is not admitted."""
        row = row_of_run(run)
        if row is None:
            raise ValueError(f"run {run['metadata']['name']} is not admitted")
        ordered = sorted(deliveries, key=lambda one: str(one["metadata"]["name"]))
        return cls(
            _plain(run),
            _plain(revision) if revision is not None else None,
            tuple(map(_plain, ordered)),
            tuple(_photos(run)),
            {
                name: value
                for name, value in zip(RUN_COLUMNS, row, strict=True)
                if name not in ADDED_COLUMNS or value != ADDED_COLUMNS[name]
            },
        )

    @property
    def run_id(self) -> str:
        """The public id."""
        return run_id_of(self.run) or self.name

    @property
    def name(self) -> str:
        """The name of the Run object."""
        return str(self.run["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.run["metadata"]["namespace"])

    @property
    def created_at(self) -> datetime:
        return parse_timestamp(self.run["spec"].get("createdAt") or self.run["metadata"]["creationTimestamp"])

    @property
    def version(self) -> int:
        """Grows with changes of the run and its deliveries: of two records of a run, the higher one is valid."""
        return max(map(_version, (self.run, *self.deliveries)))

    @property
    def values(self) -> tuple[Any, ...]:
        """The row's values in the order of RUN_COLUMNS."""
        row = {**ADDED_COLUMNS, **self.row}
        return tuple(row[name] for name in RUN_COLUMNS)

    def parsed(self) -> Run:
        return Run.parse(self.run)

    def definition(self) -> Definition | None:
        """The template's snapshot."""
        return Definition.model_validate(self.revision["spec"]["definition"]) if self.revision is not None else None

    def contents(self) -> str:
        """The objects and their versions."""
        return " ".join(f"{one['metadata']['name']}@{_version(one)}" for one in (self.run, *self.deliveries))

    def line(self) -> bytes:
        """Encodes one JSON object, without a line feed."""
        return to_json(
            {
                "format": FORMAT,
                "run": self.run,
                "revision": self.revision,
                "deliveries": self.deliveries,
                "photos": self.photos,
                "row": self.row,
            }
        )

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Raises Damaged."""
        document = read_line(line)
        try:
            return cls(
                document["run"],
                document["revision"],
                tuple(document["deliveries"]),
                tuple(document["photos"]),
                document["row"],
            )
        except (KeyError, TypeError) as error:
            raise Damaged(f"a line is no run of format {FORMAT}: {error!r}") from None


@dataclass(frozen=True, slots=True)
class RemovedDeliveries:
    """Deliveries past their retention, removed before their run or after its deletion."""

    run_id: str
    name: str
    """The name of the Run object."""
    namespace: str
    created_at: datetime
    """When the first of their events happened, which decides on the folder's month."""
    deliveries: tuple[JsonObject, ...]

    @classmethod
    def of(cls, deliveries: Iterable[JsonObject]) -> Self:
        """From at least one delivery, all of one run."""
        ordered = tuple(map(_plain, sorted(deliveries, key=lambda one: str(one["metadata"]["name"]))))
        first = ordered[0]
        created_at = min(parse_timestamp(one["spec"]["ts"]) for one in ordered)
        return cls(
            run_id_of_delivery(first),
            str(first["spec"]["runRef"]["name"]),
            str(first["metadata"]["namespace"]),
            created_at,
            ordered,
        )

    @property
    def version(self) -> int:
        return max(map(_version, self.deliveries))

    def contents(self) -> str:
        return " ".join(f"{one['metadata']['name']}@{_version(one)}" for one in self.deliveries)

    def line(self) -> bytes:
        return to_json({"format": FORMAT, "run_id": self.run_id, "deliveries": self.deliveries})

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Raises Damaged."""
        document = read_line(line)
        try:
            return cls.of(document["deliveries"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Damaged(f"a line holds no deliveries of format {FORMAT}: {error!r}") from None


def read_line(line: bytes) -> JsonObject:
    """Raises Damaged unless it is a JSON object of a known format."""
    try:
        document = from_json(line)
    except ValueError as error:
        raise Damaged(f"a line is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Damaged(f"a line is not of format {FORMAT}")
    return document


def _plain(body: Mapping[str, Any]) -> JsonObject:
    """Returns the object without the API server's bookkeeping."""
    metadata = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
    return {**body, "metadata": metadata}


def _version(body: Mapping[str, Any]) -> int:
    version = str(body["metadata"].get("resourceVersion") or 0)
    return int(version) if version.isdecimal() else 0


def _photos(run: Mapping[str, Any]) -> Iterable[JsonObject]:
    """Yields photos of answers and the signature, in the order of `runs.photos.photos_of`."""
    status = run.get("status") or {}
    found = []
    for answer in (status.get("answers") or {}).values():
        found += [*(answer.get("photos") or ()), answer.get("drawing")]
    found += [status.get("drawing"), (status.get("signature") or {}).get("photo")]
    for photo in found:
        if photo:
            yield {"key": photo["key"], "size": photo["bytes"], "sha256": photo["sha256"]}
