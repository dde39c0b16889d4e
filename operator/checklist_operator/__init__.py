"""The operator: delivers events, ends what has expired, admits, labels, archives."""

from checklist_crds.kube.official import import_only_what_is_used

import_only_what_is_used()  # before Kopf, which imports all that is there
