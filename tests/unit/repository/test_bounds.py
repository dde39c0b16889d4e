"""The bounds that the web apps have a copy of."""

import re

from checklist_api.executor.models import MAX_EMAIL, MAX_NAME, MAX_REASON
from checklist_crds.resources.run import MAX_EXPIRY_HOURS, MAX_NOTE
from checklist_crds.step_types.photo_bounds import MAX_PHOTOS_PER_STEP
from checklist_dev.repository import ROOT


def test_the_web_apps_have_the_bounds_of_the_service() -> None:
    text = (ROOT / "api/web/core/bounds.ts").read_text("utf-8")
    assert dict(re.findall(r"^export const (\w+) = ([\d_]+);$", text, re.MULTILINE)) == {
        "MAX_NAME": f"{MAX_NAME}",
        "MAX_EMAIL": f"{MAX_EMAIL}",
        "MAX_REASON": f"{MAX_REASON}",
        "MAX_NOTE": f"{MAX_NOTE:_}",
        "MAX_PHOTOS_PER_STEP": f"{MAX_PHOTOS_PER_STEP}",
        "MAX_EXPIRY_HOURS": f"{MAX_EXPIRY_HOURS:_}",
    }
