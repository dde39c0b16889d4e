"""Write `tests/vectors/executor.json`, or say with `--check` whether it is what the Python core says now."""

import sys

from checklist_dev.generate.generated_file import main_of

from .vectors import FILE, written

if __name__ == "__main__":
    sys.exit(main_of("checklist_dev.generate.vectors", __doc__, FILE, written))
