"""Imports only the needed modules of the official `kubernetes` package.

`kubernetes/__init__.py` imports the synchronous client, and `kubernetes/aio/__init__.py` unused parts: a third of a
second and 250 modules at each start. The image does not contain them (hack/checklist_dev/release/image/slim.py).
"""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Final

_PACKAGES: Final = ("kubernetes", "kubernetes.aio")
_UNUSED: Final = "kubernetes.client"
"""The synchronous client, which Kopf imports if it is installed."""


def import_only_what_is_used() -> None:
    """Makes both packages importable by single modules; call it before the first import of one.

    Does nothing if they are already imported.
    """
    if _PACKAGES[0] in sys.modules:
        return
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = module_from_spec(spec)  # does not execute the module
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    sys.modules[_UNUSED] = None  # type: ignore[assignment]  # an import of it is an ImportError
