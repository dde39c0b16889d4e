"""Takes out of the archive again what somebody erased while we had it in hand."""

from collections.abc import Sequence

from checklist_crds.archive import ArchiveStore, PartPlace
from checklist_crds.archive.erasures import Erasures
from checklist_crds.times import Clock
from checklist_operator.archive.writer import ArchiveWriter, Line


class ErasedMeanwhile:
    """Methods raise StoreUnavailable, Damaged and NotAllowed."""

    def __init__(self, store: ArchiveStore, writer: ArchiveWriter, *, clock: Clock) -> None:
        self._erasures = Erasures(store)
        self._writer = writer
        self._clock = clock

    async def sift(self, place: PartPlace, lines: Sequence[Line]) -> tuple[PartPlace | None, list[Line], list[Line]]:
        """Of a part that counts: where the lines are that stay (None: there are none), those, and the erased ones.

        To be asked after the part counts and before anything is deleted upon it: whoever erases notes first what they
        erase and looks at the archive then, so either they have seen our part, or we see their note.
        """
        erased = await self._erasures.among(place.folder.organization, lines, now=self._clock())
        if not erased:
            return place, list(lines), []
        rest = [line for line in lines if line.run_id not in erased]
        instead = (await self._writer.write(place.folder, rest)).place if rest else None
        await self._writer.withdraw(place)
        return instead, rest, [line for line in lines if line.run_id in erased]
