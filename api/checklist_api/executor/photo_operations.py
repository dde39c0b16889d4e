"""OpenAPI operations of photos and drawings."""

from typing import Final

from checklist_crds.errors import AnswerInvalid, InvalidParameter, NotFound
from checklist_crds.limits.organization_limits import LimitName, limit_reached

from ..http.examples import examples
from ..http.operations import Access, Body, Operation, Reply, Upload, problem, query, tagged
from . import models
from .access import BASE
from .operations import (
    GIVEN_AT_PARAMETER,
    IDENTITY_FIRST,
    NO_STEP,
    ONLY_OP_ID,
    OP_ID_PARAMETERS,
    TAG,
    WRITE_ERRORS,
    changed,
)

_PHOTOS: Final = f"{BASE}/answers/{{step_id}}/photos"
_SERVING_HEADERS: Final = {
    "Cache-Control": "",
    "Content-Disposition": "",
    "Content-Security-Policy": "",
    "ETag": "",
    "X-Content-Type-Options": "",
}
_SIGNED: Final = (
    query(
        "o",
        {"type": "string"},
        "The organization; absent for photos from before 0.1.0.",
        examples.ORGANIZATION_ID,
    ),
    query("e", {"type": "integer"}, "Expiry of the URL in Unix seconds.", 1_795_244_600) | {"required": True},
    query("s", {"type": "string"}, "The signature.", "2ZkYp1hD3sXq0v7Jc5tL9bWmR8fNaGuE4oKiTyHxVrQ")
    | {"required": True},
)
_GONE: Final = NotFound("Photo not found, or its URL has expired.")
_REFUSED: Final = (
    AnswerInvalid(
        "The image is damaged and cannot be read.",
        details=[problem("photo", "damaged", "The image is damaged and cannot be read.")],
    ),
    AnswerInvalid(
        "This step takes at most 3 photos.",
        details=[problem("photo", "too_many", "This step takes at most 3 photos.")],
    ),
)
_TAKES: Final = (
    "JPEG, PNG, WebP or HEIC of at most 10 MiB. It is re-encoded upright and without metadata. Alternatively a form "
    "(multipart/form-data) with one file, and the op_id in a field before it. "
)
_FULL: Final = limit_reached(LimitName.RUN_BYTES, limit=4_294_967_296, used=4_294_901_760)
_FIRST: Final = "Errors that do not depend on the image are returned before the body is read."
PHOTO_OPERATIONS: Final = tagged(
    TAG,
    Access.TOKEN,
    Operation(
        f"post {_PHOTOS}",
        "addPhoto",
        "Add a photo to an answer",
        (
            Reply(201, "Stored.", models.PhotoChange, {"added": examples.PHOTO_ADDED}),
            Reply(
                200,
                "This op_id was applied before.",
                models.PhotoChange,
                {"replayed": examples.PHOTO_ADDED | {"replayed": True}},
            ),
        ),
        f"The body is one image: {_TAKES}A photo step, or a step with `photo` bounds, is answered once it has its "
        "minimum; each further change is a new event with the next revision. For a signature step without `photo` "
        "bounds the image is its drawing, which replaces a previous one and requires the name. A run has at most 500 "
        "photos and 2 GiB of images, drawings included, and 1,000 photos including removed and replaced ones. "
        f"{_FIRST} Error codes of images: not_an_image, unsupported_format, truncated, damaged, too_many_pixels, "
        "too_large, too_slow, too_much_memory; others: too_many, too_large, photos_not_taken, not_applicable.",
        parameters=(*OP_ID_PARAMETERS, GIVEN_AT_PARAMETER),
        body=Upload(),
        errors=(*WRITE_ERRORS, NO_STEP, *_REFUSED, IDENTITY_FIRST, _FULL),
    ),
    Operation(
        f"delete {_PHOTOS}",
        "deletePhotos",
        "Remove photos",
        Reply(
            200,
            "Removed, or there were none.",
            models.AnswerChange,
            {"changed": examples.ANSWERED, "replayed": examples.ANSWERED | {"replayed": True}},
        ),
        "Removes one photo, or without `photo_index` all photos of the step. The others keep their index. If the step "
        "remains answered, this is a new event.",
        parameters=(
            query("photo_index", {"type": "integer", "minimum": 0}, "Index of the photo; all photos if absent.", 0),
            *OP_ID_PARAMETERS,
            GIVEN_AT_PARAMETER,
        ),
        body=Body(
            models.RemovePhotosRequest,
            {"one of them": examples.OPERATION_REQUEST | {"photo_index": 0}, "all": examples.OPERATION_REQUEST},
            required=False,
        ),
        errors=(
            *WRITE_ERRORS,
            InvalidParameter(
                details=[
                    problem("photo_index", "wrong_type", "Must be the index of a photo: a whole number from 0 on.")
                ]
            ),
            NO_STEP,
        ),
    ),
    Operation(
        f"put {BASE}/signature",
        "putSignatureDrawing",
        "Upload the signature's drawing",
        changed("Stored until submit; replaces a previous one.", examples.DRAWN),
        f"The body is one image: {_TAKES}For a checklist with `settings.signature_on_complete`. The typed name in "
        f"submit is the signature; the drawing is attached to it. {_FIRST}",
        parameters=OP_ID_PARAMETERS,
        body=Upload(),
        errors=(
            *WRITE_ERRORS,
            AnswerInvalid(
                "This checklist asks for no signature on completion.",
                details=[
                    problem("signature", "signature_not_asked", "This checklist asks for no signature on completion.")
                ],
            ),
            IDENTITY_FIRST,
            _FULL,
        ),
    ),
    Operation(
        f"delete {BASE}/signature",
        "deleteSignatureDrawing",
        "Remove the signature's drawing",
        changed("Removed, or there was none.", examples.CHANGE),
        parameters=OP_ID_PARAMETERS,
        body=ONLY_OP_ID,
        errors=(*WRITE_ERRORS, IDENTITY_FIRST, AnswerInvalid("This checklist asks for no signature on completion.")),
    ),
    *(
        Operation(
            f"get /v1/photos/{{run_id}}/{{photo_id}}{suffix}",
            operation_id,
            summary,
            (
                Reply(200, description, headers=_SERVING_HEADERS, media_type="image/*"),
                Reply(304, "Matches If-None-Match.", headers={"ETag": ""}),
            ),
            "The signed URL comes from an answer (valid for an hour) or an event (7 days) and cannot be forged. It "
            "needs no key.",
            parameters=_SIGNED,
            errors=(_GONE,),
            tag="Photos",
            access=Access.NOTHING,
        )
        for suffix, operation_id, summary, description in (
            ("", "getPhoto", "The image of a photo", "The image."),
            ("/thumbnail", "getThumbnail", "The thumbnail of a photo", "A JPEG of at most 320 px and 18 KiB."),
        )
    ),
)
