"""The operator: delivers events, expires runs, admits runs and templates, archives."""

from checklist_crds.kube.official import import_only_what_is_used

import_only_what_is_used()  # before Kopf, which imports optional packages if they are installed
