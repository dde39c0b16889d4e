"""OpenAPI operation of the PDF receipt."""

from typing import Final

from checklist_crds.errors import RunExpired, RunNotCompleted, RunNotFound

from ...http.operations import Access, Operation, Reply, header, query, tagged
from ...http.pagination import invalid_parameter
from ..operations import TAG
from .routes import RECEIPT
from .texts import RECEIPT_TEXTS

RECEIPT_OPERATIONS: Final = tagged(
    TAG,
    Access.TOKEN,
    Operation(
        f"get {RECEIPT}",
        "getReceipt",
        "The receipt as a PDF",
        Reply(
            200,
            "The receipt.",
            headers={
                "Cache-Control": "",
                "Content-Disposition": "",
                "Content-Language": "",
                "Vary": "",
                "X-Content-Type-Options": "",
            },
            media_type="application/pdf",
        ),
        "What the person has submitted: the sender, the time, the answers with small photos, places, notes and the "
        "signature, and the digest of `receipt`. Only of a completed run. It takes some seconds; of one run there is "
        "one at a time, else 429.",
        parameters=(
            header(
                "Accept-Language",
                {"type": "string"},
                f"The language of the receipt ({', '.join(RECEIPT_TEXTS)}); English by default. What the sender and "
                "the person have written stays as it is.",
                "ar, en;q=0.5",
            ),
            query(
                "time_zone",
                {"type": "string", "maxLength": 64},
                "Name of the time zone of times, from the IANA database. UTC if it is absent or unknown.",
                "Europe/Berlin",
            ),
        ),
        errors=(
            invalid_parameter("time_zone", "must be the name of a time zone such as Europe/Berlin"),
            RunNotFound(),
            RunNotCompleted(),
            RunExpired(),
        ),
    ),
)
