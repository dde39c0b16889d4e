"""The content of a PDF as plain data: what the worker draws, and in which direction and language."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from checklist_crds.resources.run import Geo

MAX_PHOTOS: Final = 200
"""Maximum number of drawn images; further ones are mentioned."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its storage key, with a caption."""

    key: str
    caption: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A step with its state, answer, notes and images."""

    label: str
    quiet: str = ""
    """Shown instead of an answer: skipped, not answered, does not apply."""
    value: str = ""
    flag: str = ""
    """That the answer is outside what is expected, and what is expected."""
    note: str = ""
    """What the person added in words."""
    notes: list[str] = field(default_factory=list)
    place: str = ""
    map_link: str = ""
    images: list[Image] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class Style:
    """Language, direction and the words that the drawing adds."""

    language: str = "en"
    is_right_to_left: bool = False
    """Then the whole page is mirrored; else only texts that begin with a right-to-left letter are at the right."""
    pictures_in_a_row: int = 2
    page: str = "Page {page} of {pages}"
    """In Latin-1: drawn in a font without other characters."""
    missing_image: str = "This image is no longer stored."
    missing_characters: str = "Characters without a font are printed as a question mark in a diamond:"


@dataclass(frozen=True, slots=True)
class PdfContent:
    run_id: str
    title: str
    sender: str
    """Below the title."""
    status: str
    facts: list[list[str]]
    """Pairs of a name and a value."""
    groups: list[Group]
    digests: list[list[str]]
    """Pairs of a name and a value."""
    explained: str
    last_changed: str
    """ISO 8601, used as the document's time, so that the same run gives the same bytes."""
    style: Style = Style()

    def texts(self) -> Iterator[str]:
        """Yield all texts that are drawn."""
        yield from (self.title, self.sender, self.status, self.explained)
        yield from (self.style.missing_image, self.style.missing_characters)
        for pair in [*self.facts, *self.digests]:
            yield from pair
        for group in self.groups:
            yield group.title
            for entry in group.entries:
                yield from (entry.label, entry.quiet, entry.value, entry.flag, entry.note, entry.place, *entry.notes)
                yield from (image.caption for image in entry.images)

    def images(self) -> Iterator[Image]:
        for group in self.groups:
            for entry in group.entries:
                yield from entry.images

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def parse(cls, document: dict[str, Any]) -> "PdfContent":
        groups = [
            Group(
                group["title"],
                [
                    Entry(**{**entry, "images": [Image(**image) for image in entry["images"]]})
                    for entry in group["entries"]
                ],
            )
            for group in document["groups"]
        ]
        return cls(**{**document, "groups": groups, "style": Style(**document["style"])})


@dataclass(slots=True)
class ImageBudget:
    """Number of images that may still be drawn."""

    images: int = MAX_PHOTOS

    def take(self, images: list[Image]) -> list[Image]:
        taken = images[: self.images]
        self.images -= len(taken)
        return taken


def position(geo: Geo) -> str:
    """Return latitude and longitude."""
    return f"{geo.lat:.6f}, {geo.lng:.6f}"
