"""OpenAPI operations of photos and drawings."""

from typing import Final

from checklist_crds.errors import AnswerInvalid, InvalidParameter, NotFound
from checklist_crds.limits.caps import LimitName, limit_reached

from ..http.example_values import ORGANIZATION_ID
from ..http.operations import Access, Body, Operation, Reply, Upload, problem, query, tagged
from . import examples, models
from .access import BASE
from .operations import IDENTITY_FIRST, NO_STEP, ONLY_OP_ID, OP_ID_PARAMETERS, TAG, WRITE_ERRORS, changed

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
        "The organization; absent in addresses of photos from before 0.1.0.",
        ORGANIZATION_ID,
    ),
    query("e", {"type": "integer"}, "When the address expires, in Unix seconds.", 1_795_244_600) | {"required": True},
    query("s", {"type": "string"}, "The signature.", "2ZkYp1hD3sXq0v7Jc5tL9bWmR8fNaGuE4oKiTyHxVrQ")
    | {"required": True},
)
_GONE: Final = NotFound("There is no such photo, or its address has expired.")
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
    "JPEG, PNG, WebP or HEIC, at most 10 MiB, which is decoded, turned upright and written anew without its metadata. "
    "It may also be the one file of a form (multipart/form-data), with the op_id as a field before it. "
)
_FULL: Final = limit_reached(LimitName.RUN_BYTES, limit=4_294_967_296, used=4_294_901_760)
_FIRST: Final = "What can be refused without the image is refused before the body is read."
PHOTO_OPERATIONS: Final = tagged(
    TAG,
    Access.TOKEN,
    Operation(
        f"post {_PHOTOS}",
        "addPhoto",
        "Add a photo to an answer",
        (
            Reply(201, "Kept.", models.PhotoChange, {"added": examples.PHOTO_ADDED}),
            Reply(
                200,
                "This op_id was kept before.",
                models.PhotoChange,
                {"replayed": examples.PHOTO_ADDED | {"replayed": True}},
            ),
        ),
        f"The body is one image: {_TAKES}A photo step, and a step with `photo` bounds, is answered once it has its "
        "minimum; each further change is a new event with the next revision. To a signature step without `photo` "
        "bounds the image is its drawing: one, which a later one replaces, and nothing without the name. A run takes "
        "at most 500 photos and 2 GiB of them, drawings included, and 1,000 photos with those that were taken back or "
        f"replaced. {_FIRST} Refusals of images have the codes not_an_image, "
        "unsupported_format, truncated, damaged, too_many_pixels, too_large, too_slow, too_much_memory; others "
        "too_many, too_large, photos_not_taken, not_applicable.",
        parameters=OP_ID_PARAMETERS,
        body=Upload(),
        errors=(*WRITE_ERRORS, NO_STEP, *_REFUSED, IDENTITY_FIRST, _FULL),
    ),
    Operation(
        f"delete {_PHOTOS}",
        "deletePhotos",
        "Take photos back",
        Reply(
            200,
            "Taken back; also when there was nothing.",
            models.AnswerChange,
            {"changed": examples.ANSWERED, "replayed": examples.ANSWERED | {"replayed": True}},
        ),
        "One photo, or without `photo_index` all of the step. The others keep their index. While the step stays "
        "answered this is a new event.",
        parameters=(
            query("photo_index", {"type": "integer", "minimum": 0}, "Which one; absent: all of them.", 0),
            *OP_ID_PARAMETERS,
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
        "Draw the signature on completion",
        changed("Kept until submit; a later one replaces it.", examples.DRAWN),
        f"The body is one image: {_TAKES}For a checklist with `settings.signature_on_complete`. The typed name in "
        f"submit is the signature; the drawing goes with it. {_FIRST}",
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
        "Take the drawn signature back",
        changed("Taken back; also when there was none.", examples.CHANGE),
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
                Reply(304, "As If-None-Match has it.", headers={"ETag": ""}),
            ),
            "The address, with `e` and `s`, comes from an answer (valid for an hour) or an event (7 days); nobody can "
            "make one. It needs no key.",
            parameters=_SIGNED,
            errors=(_GONE,),
            tag="Photos",
            access=Access.NOTHING,
        )
        for suffix, operation_id, summary, description in (
            ("", "getPhoto", "The image of a photo", "The image."),
            ("/thumbnail", "getThumbnail", "A small copy of a photo", "A JPEG of at most 320 px and 18 KiB."),
        )
    ),
)
