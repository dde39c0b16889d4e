"""Closes abandoned asynchronous generators from the outside to the inside.

A generator whose consumer is cancelled between two items stays suspended. The event loop closes such generators at its
end, all at once; if an inner one is closed first, the outer one fails ("generator didn't stop after athrow()",
https://github.com/python-trio/trio/issues/2081). From the outside to the inside is the order in which they first ran.
"""

import logging
import os
import sys
import weakref
from collections.abc import AsyncGenerator
from pathlib import Path
from types import AsyncGeneratorType, TracebackType
from typing import Any, Final, Self

logger = logging.getLogger(__name__)


class GeneratorTracker:
    """Context manager that records the generators of one package started in this thread; call `close` afterwards."""

    def __init__(self, package: Path) -> None:
        # A string, for speed: this is compared for each asynchronous context, several times per delivery.
        self._folder: Final = f"{package}{os.sep}"
        self._begun: list[weakref.ref[AsyncGeneratorType[Any, Any]]] = []

    def __enter__(self) -> Self:
        self._previous = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.set_asyncgen_hooks(firstiter=self._previous.firstiter)

    def _note(self, generator: AsyncGenerator[Any, Any]) -> None:
        if self._previous.firstiter is not None:
            self._previous.firstiter(generator)
        if isinstance(generator, AsyncGeneratorType) and self._is_of_package(generator):
            self._begun = [reference for reference in self._begun if reference() is not None]
            self._begun.append(weakref.ref(generator))

    def _is_of_package(self, generator: AsyncGeneratorType[Any, Any]) -> bool:
        return generator.ag_code.co_filename.startswith(self._folder)

    async def close(self) -> None:
        """Closes suspended generators, outer ones first."""
        for generator in [reference() for reference in self._begun]:
            if generator is None or generator.ag_running:
                continue
            try:
                await generator.aclose()
            except Exception:
                logger.warning("kopf.generator_not_closed", exc_info=True)
        self._begun.clear()
