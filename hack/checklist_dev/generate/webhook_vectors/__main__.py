"""Write `docs/webhook-vectors.json`, or say with `--check` whether it is what would be written now."""

import sys

from checklist_dev.generate.generated_file import main_of
from checklist_dev.generate.webhook_vectors.document import FILE, written

if __name__ == "__main__":
    sys.exit(main_of("checklist_dev.generate.webhook_vectors", __doc__, FILE, written))
