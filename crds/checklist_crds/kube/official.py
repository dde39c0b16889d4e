"""The asynchronous half of the official `kubernetes` package, without what its packages import unasked.

`kubernetes/__init__.py` imports the synchronous client, and `kubernetes/aio/__init__.py` parts that nothing here uses:
a third of a second and 250 modules at each start. The image does not even hold them
(hack/checklist_dev/release/image/slim.py).
"""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Final

_PACKAGES: Final = ("kubernetes", "kubernetes.aio")
_UNUSED: Final = "kubernetes.client"
"""The synchronous client, which Kopf imports when it is there."""


def import_only_what_is_used() -> None:
    """Makes both packages importable by their modules alone; to be called before the first import of one.

    Does nothing in a process that has imported them as they are.
    """
    if _PACKAGES[0] in sys.modules:
        return
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = module_from_spec(spec)  # its own code is not run
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    sys.modules[_UNUSED] = None  # type: ignore[assignment]  # an import of it is an ImportError
