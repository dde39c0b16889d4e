"""The content of a receipt: what the executor app shows of a completed run, and nothing of its owner.

It is drawn by the renderer of the owner's PDF (`exports/pdf`). Steps are those of the app's review: those that apply
and take an answer.
"""

from collections.abc import Sequence
from math import ceil
from typing import Final

from checklist_crds.photos.keys import thumbnail_key
from checklist_crds.resources.run import Answer, Geo, Run
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.receipt import receipt_view
from checklist_crds.templates.answers import display_value, expected_text

from ...exports.pdf.content import Entry, Group, Image, ImageBudget, PdfContent, Style, position
from ...runs.steps import StepResult, StepState, step_results
from .texts import AnswerText, ReceiptTexts

_SHOWN: Final = frozenset({StepState.ANSWERED, StepState.SKIPPED, StepState.OPEN})
_PICTURES_IN_A_ROW: Final = 4
_KM: Final = 1_000


def receipt_content(
    run: Run, definition: Definition, *, sender: str, answered_by: str, words: AnswerText
) -> PdfContent:
    """Return the receipt of a completed run. `answered_by`: empty for an anonymous person."""
    completed_at, receipt, texts = run.status.completed_at, receipt_view(run), words.texts
    if completed_at is None or receipt is None:
        raise ValueError(f"run {run.name} is not completed")
    budget = ImageBudget()
    shown = [result for result in step_results(run, definition) if result.state in _SHOWN]
    groups = []
    for section in definition.sections:
        if entries := [_entry(result, words, budget) for result in shown if result.section is section]:
            groups.append(Group(section.title, entries))
    if (signed := _signature(run, texts, budget)) is not None:
        groups.append(Group(texts.signature, [signed]))
    facts = [
        [texts.submitted, words.moment(completed_at)],
        [texts.answered_by, answered_by],
        [texts.answers, words.number(str(receipt["answers"]))],
        [texts.photos, words.number(str(receipt["photos"]))],
        [texts.run_id, run.id],
    ]
    return PdfContent(
        run_id=run.id,
        title=run.admitted_as.template_name,
        sender=texts.insert(texts.sender, sender=sender),
        status=texts.receipt,
        facts=[[name, value] for name, value in facts if value],
        groups=groups,
        digests=[[texts.digest, receipt["digest"]]],
        explained=texts.explained,
        last_changed=completed_at.isoformat(),
        style=_style(texts),
    )


def _style(texts: ReceiptTexts) -> Style:
    return Style(
        language=texts.language,
        is_right_to_left=texts.is_right_to_left,
        pictures_in_a_row=_PICTURES_IN_A_ROW,
        page=texts.page,
        missing_image=texts.missing_image,
        missing_characters=texts.missing_characters,
    )


def _entry(result: StepResult, words: AnswerText, budget: ImageBudget) -> Entry:
    texts, step, answer = words.texts, result.step, result.answer
    if result.state is StepState.SKIPPED:
        return Entry(step.label, quiet=texts.skipped)
    if result.state is StepState.OPEN or answer is None:
        return Entry(step.label, quiet=texts.not_answered)
    value, images = display_value(step, answer.value, words), _images(answer, texts)
    drawn = budget.take(images)
    left = len(images) - len(drawn)
    return Entry(
        step.label,
        quiet="" if value or images else texts.not_answered,
        value=value,
        flag=_flag(result, words),
        note=texts.insert(texts.note, note=answer.note) if answer.note else "",
        notes=[
            *(_accuracy(answer.geo, words) if answer.geo is not None else ()),
            *([texts.counted(texts.more_images, left)] if left else []),
        ],
        place=position(answer.geo) if answer.geo is not None else "",
        images=drawn,
    )


def _flag(result: StepResult, words: AnswerText) -> str:
    if result.answer is None or not result.answer.flagged:
        return ""
    texts, expected = words.texts, expected_text(result.step, words)
    return f"{texts.flagged}. {texts.insert(texts.expected, expected=expected)}" if expected else texts.flagged


def _accuracy(geo: Geo, words: AnswerText) -> Sequence[str]:
    texts, metres = words.texts, geo.accuracy_m
    if metres is None:
        return ()
    if metres < _KM:
        return (texts.accuracy.format(metres=words.number(str(ceil(metres)))),)
    return (texts.accuracy_km.format(km=words.number(f"{metres / _KM:.1f}")),)


def _signature(run: Run, texts: ReceiptTexts, budget: ImageBudget) -> Entry | None:
    signature = run.status.signature
    if signature is None:
        return None
    drawn = budget.take([Image(signature.photo.key, "")] if signature.photo is not None else [])
    return Entry(texts.signed_by, value=signature.name, images=drawn)


def _images(answer: Answer, texts: ReceiptTexts) -> list[Image]:
    count = str(len(answer.photos))
    photos = [
        Image(thumbnail_key(photo.key), texts.photo.format(number=number, count=count))
        for number, photo in enumerate(answer.photos, 1)
    ]
    return photos + ([Image(answer.drawing.key, "")] if answer.drawing is not None else [])
