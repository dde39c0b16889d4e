"""Texts of the server-rendered page behind a link, by language (the app's texts are in `api/web/kit/i18n`).

The language is selected by `Accept-Language`, since the app with its settings has not started.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from checklist_crds.errors import RunExpired, RunNotFound, ServiceError, ServiceUnavailable

Titled = tuple[str, str]
"""A title and a sentence."""


@dataclass(frozen=True, slots=True)
class PageTexts:
    """The texts of one language. `states` by status, `refusals` by error."""

    language: str
    sender: str
    length: str
    steps: Callable[[int], str]
    about: str
    """Description for messengers, with `{steps}` and `{sender}`."""
    until: str
    no_end: str
    date: str
    """Format for `strftime`; `{day}` is the day without a leading zero."""
    states: Mapping[str, Titled]
    refusals: Mapping[type[ServiceError], Titled]
    get_the_app: str
    stores: tuple[str, str]
    """Names of Apple's and Google's stores for `get_the_app`."""
    no_scripts: Titled
    keep_it: str
    direction: str = "ltr"

    def moment(self, moment: datetime) -> str:
        return moment.strftime(self.date).replace("{day}", str(moment.day))


def _counted(one: str, other: str, singular: frozenset[int] = frozenset({1})) -> Callable[[int], str]:
    return lambda count: f"{count} {one if count in singular else other}"


def _arabic_steps(count: int) -> str:
    """Plural forms of CLDR for integers."""
    if count == 1:
        return "خطوة واحدة"
    if count == 2:
        return "خطوتان"
    return f"{count} خطوات" if 3 <= count % 100 <= 10 else f"{count} خطوة"


_STORES: Final = ("App Store", "Google Play")

ENGLISH: Final = PageTexts(
    language="en",
    sender="From",
    length="Length",
    steps=_counted("step", "steps"),
    about="{steps}, from {sender}",
    until="Open until",
    no_end="no end",
    date="{day} %B %Y, %H:%M UTC",
    states={
        "pending": ("Not started", "There are no answers yet."),
        "in_progress": ("Started", "Some steps are answered."),
        "completed": ("Completed", "The answers were submitted. Nothing is left to do."),
        "cancelled": ("Cancelled", "It no longer accepts answers."),
    },
    refusals={
        RunExpired: (
            "This link has expired",
            "The checklist no longer accepts answers. Ask the person who sent it for a new link.",
        ),
        RunNotFound: (
            "There is no such checklist",
            "Check that the link is complete. It may have been cut where a message broke the line.",
        ),
        ServiceUnavailable: (
            "Not available right now",
            "The checklist is safe, but it cannot be shown at the moment. Load this page again in a few seconds.",
        ),
    },
    get_the_app="Get the app from {store}",
    stores=("the App Store", "Google Play"),
    no_scripts=(
        "To answer it, this page needs JavaScript.",
        "Allow it for this page, or open the complete link in another browser. "
        "Without it, only the information above can be shown.",
    ),
    keep_it="Anyone with the complete link can answer this checklist. Share it only with the person who should do it.",
)

GERMAN: Final = PageTexts(
    language="de",
    sender="Von",
    length="Umfang",
    steps=_counted("Schritt", "Schritte"),
    about="{steps}, von {sender}",
    until="Offen bis",
    no_end="ohne Frist",
    date="%d.%m.%Y, %H:%M UTC",
    states={
        "pending": ("Noch nicht begonnen", "Noch niemand hat etwas beantwortet."),
        "in_progress": ("Schon begonnen", "Ein Teil ist schon beantwortet."),
        "completed": ("Abgeschlossen", "Die Antworten wurden abgeschickt. Es gibt nichts mehr zu tun."),
        "cancelled": ("Abgebrochen", "Diese Checkliste nimmt keine Antworten mehr an."),
    },
    refusals={
        RunExpired: (
            "Dieser Link ist abgelaufen",
            "Die Checkliste nimmt keine Antworten mehr an. "
            "Bitten Sie die Person, die sie geschickt hat, um einen neuen Link.",
        ),
        RunNotFound: (
            "Hier ist keine Checkliste",
            "Prüfen Sie, ob der Link vollständig ist. In Nachrichten werden lange Links manchmal zerteilt.",
        ),
        ServiceUnavailable: (
            "Gerade nicht erreichbar",
            "Die Checkliste ist sicher, kann im Moment aber nicht gezeigt werden. "
            "Laden Sie diese Seite in einigen Sekunden noch einmal.",
        ),
    },
    get_the_app="App holen: {store}",
    stores=_STORES,
    no_scripts=(
        "Zum Antworten braucht diese Seite JavaScript.",
        "Erlauben Sie es für diese Seite, oder öffnen Sie den vollständigen Link in einem anderen Browser. "
        "Ohne lässt sich nur zeigen, was oben steht.",
    ),
    keep_it="Wer den vollständigen Link hat, kann antworten. Geben Sie ihn nur an die Person weiter, die das tun soll.",
)

SPANISH: Final = PageTexts(
    language="es",
    sender="De",
    length="Extensión",
    steps=_counted("paso", "pasos"),
    about="{steps}, de {sender}",
    until="Abierta hasta",
    no_end="sin fecha límite",
    date="%d/%m/%Y, %H:%M UTC",
    states={
        "pending": ("Sin empezar", "Nadie ha respondido nada todavía."),
        "in_progress": ("Ya empezada", "Una parte ya está respondida."),
        "completed": ("Completada", "Las respuestas ya se enviaron. No queda nada por hacer."),
        "cancelled": ("Cancelada", "Esta lista ya no acepta respuestas."),
    },
    refusals={
        RunExpired: (
            "Este enlace ha caducado",
            "La lista ya no acepta respuestas. Pida un enlace nuevo a quien se la envió.",
        ),
        RunNotFound: (
            "Aquí no hay ninguna lista",
            "Compruebe que el enlace está completo. A veces los mensajes parten en dos los enlaces largos.",
        ),
        ServiceUnavailable: (
            "No disponible por ahora",
            "La lista está a salvo, pero en este momento no se puede mostrar. "
            "Vuelva a cargar esta página dentro de unos segundos.",
        ),
    },
    get_the_app="Obtener la aplicación: {store}",
    stores=_STORES,
    no_scripts=(
        "Para responder, esta página necesita JavaScript.",
        "Permítalo en esta página o abra el enlace completo en otro navegador. "
        "Sin él solo se puede mostrar lo que está escrito arriba.",
    ),
    keep_it="Quien tenga el enlace completo puede responder. Compártalo solo con la persona que deba hacerlo.",
)

FRENCH: Final = PageTexts(
    language="fr",
    sender="De",
    length="Longueur",
    steps=_counted("étape", "étapes", frozenset({0, 1})),
    about="{steps}, de {sender}",
    until="Ouverte jusqu’au",
    no_end="sans date limite",
    date="%d/%m/%Y, %H:%M UTC",
    states={
        "pending": ("Pas encore commencée", "Personne n’a encore rien répondu."),
        "in_progress": ("Déjà commencée", "Une partie a déjà une réponse."),
        "completed": ("Terminée", "Les réponses ont été envoyées. Il n’y a plus rien à faire."),
        "cancelled": ("Arrêtée", "Cette liste n’accepte plus de réponses."),
    },
    refusals={
        RunExpired: (
            "Ce lien a expiré",
            "La liste n’accepte plus de réponses. Demandez un nouveau lien à la personne qui vous l’a envoyée.",
        ),
        RunNotFound: (
            "Il n’y a pas de liste ici",
            "Vérifiez que le lien est complet. Les messages coupent parfois les longs liens en deux.",
        ),
        ServiceUnavailable: (
            "Indisponible pour le moment",
            "La liste est en sécurité, mais elle ne peut pas être affichée pour le moment. "
            "Rechargez cette page dans quelques secondes.",
        ),
    },
    get_the_app="Obtenir l’application\u00a0: {store}",
    stores=_STORES,
    no_scripts=(
        "Pour répondre, cette page a besoin de JavaScript.",
        "Autorisez-le pour cette page ou ouvrez le lien complet dans un autre navigateur. "
        "Sans lui, seul ce qui est écrit plus haut peut être affiché.",
    ),
    keep_it="Toute personne qui a le lien complet peut répondre. Ne le transmettez qu’à celle qui doit le faire.",
)

ARABIC: Final = PageTexts(
    language="ar",
    direction="rtl",
    sender="من",
    length="الطول",
    steps=_arabic_steps,
    about="{steps}، من {sender}",
    until="مفتوحة حتى",
    no_end="بلا موعد نهائي",
    date="%d/%m/%Y، %H:%M UTC",
    states={
        "pending": ("لم تبدأ بعد", "لم يُجب أحد عن شيء بعد."),
        "in_progress": ("بدأت بالفعل", "أُجيب عن جزء منها."),
        "completed": ("مكتملة", "أُرسلت الإجابات. لم يبقَ شيء لفعله."),
        "cancelled": ("ملغاة", "لم تعد هذه القائمة تقبل إجابات."),
    },
    refusals={
        RunExpired: (
            "انتهت صلاحية هذا الرابط",
            "لم تعد القائمة تقبل إجابات. يُرجى طلب رابط جديد من الشخص الذي أرسلها.",
        ),
        RunNotFound: (
            "لا توجد قائمة هنا",
            "يُرجى التأكد من أن الرابط كامل. قد تقطع الرسائل الروابط الطويلة أحيانًا.",
        ),
        ServiceUnavailable: (
            "غير متاحة حاليًا",
            "القائمة في أمان، لكن يتعذّر عرضها الآن. يُرجى إعادة تحميل هذه الصفحة بعد ثوانٍ.",
        ),
    },
    get_the_app="الحصول على التطبيق: {store}",
    stores=_STORES,
    no_scripts=(
        "للإجابة تحتاج هذه الصفحة إلى JavaScript.",
        "يُرجى السماح به لهذه الصفحة، أو فتح الرابط الكامل في متصفح آخر. من دونه لا يُعرض إلا ما كُتب أعلاه.",
    ),
    keep_it="كل من لديه الرابط الكامل يستطيع الإجابة. يُرجى عدم مشاركته إلا مع الشخص المعني.",
)

LANGUAGES: Final[Mapping[str, PageTexts]] = {
    texts.language: texts for texts in (ENGLISH, GERMAN, SPANISH, FRENCH, ARABIC)
}


def texts_for(accept_language: str) -> PageTexts:
    """Select by `Accept-Language` (RFC 9110 section 12.5.4); English by default."""
    wanted: list[tuple[float, str]] = []
    for item in accept_language.split(",")[:32]:
        tag, _, parameter = item.strip().partition(";")
        language = tag.strip().partition("-")[0].lower()
        if language in LANGUAGES:
            wanted.append((_weight(parameter), language))
    weight, language = max(wanted, key=lambda one: one[0], default=(0.0, "en"))
    return LANGUAGES[language] if weight > 0 else ENGLISH


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
