"""A line of a part: a run with all that belongs to it, or deliveries that were removed before their run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self

from ..resources.run import Run
from ..resources.template_definition import Definition
from ..runs.row import RUN_COLUMNS, row_of_run
from ..times import parse_timestamp
from ..values.json_text import from_json, to_json
from .damage import Damaged

JsonObject = dict[str, Any]

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Record:
    """A run as the cluster had it when it was settled and old."""

    run: JsonObject
    """The Run object, without metadata.managedFields (book-keeping of the API server)."""
    revision: JsonObject | None
    """The TemplateRevision object that it was made of; None when somebody had deleted it by hand."""
    deliveries: tuple[JsonObject, ...]
    """The WebhookDelivery objects, by name."""
    photos: tuple[JsonObject, ...]
    """{key, size, sha256} of what stays in the store of photos; each has a thumbnail beside it."""
    row: JsonObject
    """What lists show: the values of RUN_COLUMNS by their names, times as milliseconds since 1970."""

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
            dict(zip(RUN_COLUMNS, row, strict=True)),
        )

    @property
    def run_id(self) -> str:
        return str(self.run["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.run["metadata"]["namespace"])

    @property
    def created_at(self) -> datetime:
        return parse_timestamp(self.run["spec"].get("createdAt") or self.run["metadata"]["creationTimestamp"])

    @property
    def version(self) -> int:
        """Grows when the run, or a delivery of it, changes: where a run is archived twice, the higher one holds."""
        return max(map(_version, (self.run, *self.deliveries)))

    @property
    def values(self) -> tuple[Any, ...]:
        """The row in the order of RUN_COLUMNS."""
        return tuple(self.row[name] for name in RUN_COLUMNS)

    def parsed(self) -> Run:
        return Run.parse(self.run)

    def definition(self) -> Definition | None:
        """The snapshot of the template."""
        return Definition.model_validate(self.revision["spec"]["definition"]) if self.revision is not None else None

    def contents(self) -> str:
        """Which objects in which versions."""
        return " ".join(f"{one['metadata']['name']}@{_version(one)}" for one in (self.run, *self.deliveries))

    def line(self) -> bytes:
        """One JSON object, without the line's end."""
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
    """Deliveries that were older than their organization keeps them, of a run that stays or is gone."""

    run_id: str
    namespace: str
    created_at: datetime
    """When the first of their events happened, which is also the month that they are filed under."""
    deliveries: tuple[JsonObject, ...]

    @classmethod
    def of(cls, deliveries: Iterable[JsonObject]) -> Self:
        """All of one run; at least one."""
        ordered = tuple(map(_plain, sorted(deliveries, key=lambda one: str(one["metadata"]["name"]))))
        first = ordered[0]
        created_at = min(parse_timestamp(one["spec"]["ts"]) for one in ordered)
        return cls(str(first["spec"]["runRef"]["name"]), str(first["metadata"]["namespace"]), created_at, ordered)

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
    """Raises Damaged for what is no JSON object of a format that is known."""
    try:
        document = from_json(line)
    except ValueError as error:
        raise Damaged(f"a line is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Damaged(f"a line is not of format {FORMAT}")
    return document


def newest(records: Iterable[Record]) -> Record | None:
    """Of several records of one run, the one that holds."""
    return max(records, key=lambda one: one.version, default=None)


def _plain(body: Mapping[str, Any]) -> JsonObject:
    """The object without what the API server notes for itself."""
    metadata = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
    return {**body, "metadata": metadata}


def _version(body: Mapping[str, Any]) -> int:
    version = str(body["metadata"].get("resourceVersion") or 0)
    return int(version) if version.isdecimal() else 0


def _photos(run: Mapping[str, Any]) -> Iterable[JsonObject]:
    """Of answers and of the signature, in the order in which `runs.photos.photos_of` gives them."""
    status = run.get("status") or {}
    found = []
    for answer in (status.get("answers") or {}).values():
        found += [*(answer.get("photos") or ()), answer.get("drawing")]
    found += [status.get("drawing"), (status.get("signature") or {}).get("photo")]
    for photo in found:
        if photo:
            yield {"key": photo["key"], "size": photo["bytes"], "sha256": photo["sha256"]}
