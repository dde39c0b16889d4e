/** Spanish, for both sides of the Atlantic. «Usted», because the person may be anybody. */

import type { Messages } from "./messages";

export const spanish: Messages = {
  // --- everywhere
  "app.name": "Lista de verificación",
  "app.title": "{name} – Lista de verificación",
  "app.skip_to_content": "Ir directamente a la lista",
  "app.language": "Idioma",
  "app.close": "Cerrar",
  "app.back": "Atrás",
  "app.try_again": "Reintentar",
  "app.try_again_now": "Reintentar ahora",
  "app.change": "Cambiar",
  "app.copied": "Copiado",
  "app.dismiss": "Aceptar",
  "app.menu": "Menú",
  "app.yes": "Sí",
  "app.no": "No",
  "app.none": "Ninguna",
  "app.done": "Listo",

  // --- loading
  "loading.title": "Cargando la lista…",
  "loading.slow": "Está tardando un poco. Puede que su conexión sea lenta.",

  // --- preview: the link without its secret part
  "preview.from": "De",
  "preview.length": "Extensión",
  "preview.steps": { one: "{count} paso", other: "{count} pasos" },
  "preview.minutes": { one: "Alrededor de {count} minuto", other: "Unos {count} minutos" },
  "preview.open_until": "Abierta hasta",
  "preview.no_end": "Sin fecha límite",
  "preview.pending": "Sin empezar",
  "preview.in_progress": "Ya empezada",
  "preview.completed": "Completada",
  "preview.cancelled": "Cancelada",
  "preview.completed_text": "Las respuestas ya se enviaron. No queda nada por hacer.",
  "preview.cancelled_text": "Esta lista ya no acepta respuestas.",
  "preview.link_incomplete": "Falta una parte del enlace. Para responder, abra el enlace completo de su mensaje.",
  "preview.keep_link":
    "Quien tenga el enlace completo puede responder. Compártalo solo con la persona que deba hacerlo.",
  "preview.app_prompt": "En la aplicación funciona aún mejor.",
  "preview.app_get": "Obtener la aplicación",

  // --- identity form
  "identity.title": "Primero, sus datos",
  "identity.text": "{sender} verá su nombre y su correo electrónico junto a sus respuestas.",
  "identity.name": "Su nombre",
  "identity.email": "Su correo electrónico",
  "identity.start": "Empezar",
  "identity.signed_in_as": "Está respondiendo como {name}",

  // --- the checklist
  "checklist.sent_by": "De {sender}",
  "checklist.progress": "{answered} de {total}",
  "checklist.progress_label": "{answered} de {total} pasos completados",
  "checklist.required": "Obligatorio",
  "checklist.skip": "Omitir",
  "checklist.skip_label": "Omitir: {label}",
  "checklist.skipped": "Omitido",
  "checklist.answer_after_all": "Responder",
  "checklist.clear": "Borrar la respuesta",
  "checklist.clear_label": "Borrar la respuesta: {label}",
  "checklist.required_left": { one: "Falta {count} obligatorio", other: "Faltan {count} obligatorios" },
  "checklist.next_gap": "Ir al siguiente",
  "checklist.to_review": "Revisar y enviar",
  "checklist.until": "Abierta hasta el {date}",
  "checklist.steps_appeared": { one: "Se ha añadido un paso: {label}", other: "Se han añadido {count} pasos" },
  "checklist.steps_left": { one: "Un paso ya no hace falta", other: "{count} pasos ya no hacen falta" },
  "checklist.nothing_applies": "Aquí no hay nada que responder.",
  "checklist.instruction": "Para leer",
  "checklist.kept": "Guardado en este dispositivo",
  "checklist.kept_on_device": "Guardado en este dispositivo, aún sin enviar",
  "checklist.not_kept": "Aún sin guardar. Revise la respuesta.",
  "checklist.clear_photos": { one: "También se eliminará la foto.", other: "También se eliminarán las {count} fotos." },
  "checklist.waiting": "Pendiente de envío. No cierre esta página.",
  "checklist.next": "Siguiente",
  "checklist.previous": "Paso anterior",
  "checklist.one_at_a_time": "Mostrar un paso a la vez",
  "checklist.list": "Mostrar todos los pasos en una lista",

  // --- all steps
  "steps.title": "Todos los pasos",
  "steps.open_sheet": "{answered} de {total} completados: ver todos los pasos",
  "steps.search": "Buscar pasos",
  "steps.only_open": "Solo pasos pendientes",
  "steps.none_open": "No queda ningún paso pendiente.",
  "steps.not_found": "Ningún paso coincide con «{query}».",
  "steps.answered": "Respondido",
  "steps.open": "Pendiente",

  // --- sync
  "sync.saved": "Guardado",
  "sync.saving": "Guardando…",
  "sync.offline": "Sin conexión",
  "sync.offline_waiting": { one: "Sin conexión: {count} por enviar", other: "Sin conexión: {count} por enviar" },
  "sync.attention": "Requiere atención",
  "sync.saved_text": "Todas sus respuestas han llegado.",
  "sync.saving_text": "Sus respuestas están en camino.",
  "sync.offline_text":
    "Puede continuar. Sus respuestas se guardan en este dispositivo y se enviarán en cuanto vuelva a tener conexión.",
  "sync.attention_text": "No se pudo enviar todo. Consulte los avisos más abajo.",
  "sync.back_online": "Conexión recuperada",
  "sync.signed_out": "Sesión cerrada",
  "sync.signed_out_waiting": { one: "Sesión cerrada: {count} por enviar", other: "Sesión cerrada: {count} por enviar" },
  "sync.signed_out_text":
    "Puede continuar. Sus respuestas se guardan en este dispositivo y se enviarán en cuanto vuelva a iniciar sesión.",

  // --- controls: number
  "number.between": "De {min} a {max}",
  "number.at_least": "{min} o más",
  "number.at_most": "{max} o menos",
  "number.whole": "Solo números enteros",
  "number.decimals": { one: "Hasta {count} decimal", other: "Hasta {count} decimales" },
  "number.sign": "Cambiar el signo",

  // --- controls: choice
  "choice.one": "Elija una opción",
  "choice.any": "Elija todas las que correspondan",
  "choice.exactly": { one: "Elija {count}", other: "Elija {count}" },
  "choice.at_least": { one: "Elija al menos {count}", other: "Elija al menos {count}" },
  "choice.at_most": { one: "Elija hasta {count}", other: "Elija hasta {count}" },
  "choice.between": "Elija de {min} a {max}",
  "choice.search": "Buscar opciones",
  "choice.found": { one: "{count} opción", other: "{count} opciones" },
  "choice.not_found": "Ninguna opción coincide con «{query}».",

  // --- controls: text
  "text.left": { one: "Queda {count} carácter", other: "Quedan {count} caracteres" },
  "text.over": { one: "Sobra {count} carácter", other: "Sobran {count} caracteres" },

  // --- controls: rating
  "rating.value": "{value} de {max}",
  "rating.value_labelled": "{value} de {max}: {label}",

  // --- controls: photo
  "photo.take": "Tomar una foto",
  "photo.take_another": "Tomar otra foto",
  "photo.choose": "Elegir una foto",
  "photo.needed": { one: "Hace falta {count} foto", other: "Hacen falta {count} fotos" },
  "photo.have_of_needed": "{have} de {needed} fotos necesarias",
  "photo.up_to": { one: "Hasta {count} foto", other: "Hasta {count} fotos" },
  "photo.have": { one: "{count} foto", other: "{count} fotos" },
  "photo.full": "Este paso no admite más fotos.",
  "photo.name": "Foto {number}",
  "photo.view": "Ver la foto {number}",
  "photo.remove": "Eliminar la foto {number}",
  "photo.retake": "Repetir la foto {number}",
  "photo.kept": "Pendiente de envío",
  "photo.uploading": "Enviando… {percent}",
  "photo.sent": "Enviada",
  "photo.refused": "No aceptada",
  "photo.too_large":
    "Esta foto es demasiado grande para enviarla y este navegador no puede reducirla. Elija una foto JPEG o tómela de nuevo en un tamaño menor.",
  "photo.making_smaller": "Esta foto es demasiado grande para enviarla. Se está reduciendo…",
  "photo.made_smaller": {
    one: "La foto era demasiado grande para enviarla, así que se redujo.",
    other: "{count} fotos eran demasiado grandes para enviarlas, así que se redujeron.",
  },
  "photo.no_image": "Este archivo no se puede usar como foto. Use JPEG, PNG, WebP o HEIC.",
  "photo.removed": "Foto eliminada",
  "photo.no_camera": "Aquí no se puede usar la cámara. En su lugar puede elegir una foto.",
  "photo.no_preview": "Sin vista previa",
  "photo.preview_later":
    "Este navegador no puede mostrar esta foto. Está guardada y aparecerá aquí en cuanto se envíe.",
  "photo.camera_app": "Usar la aplicación de cámara",

  // --- controls: signature
  "signature.title": "Firma",
  "signature.name": "Escriba su nombre completo",
  "signature.draw": "Dibuje su firma",
  "signature.draw_hint": "También puede firmar con el dedo, pero basta con que escriba su nombre.",
  "signature.pad": "Zona para dibujar su firma",
  "signature.clear": "Borrar el dibujo",
  "signature.signed_by": "Firmado por {name}",

  // --- controls: location
  "geo.add": "Añadir mi ubicación",
  "geo.why": "Este paso también pide su ubicación. Solo se envía con esta respuesta.",
  "geo.why_required": "Para este paso hace falta su ubicación. Solo se envía con esta respuesta.",
  "geo.finding": "Buscando su ubicación…",
  "geo.added": "Ubicación añadida",
  "geo.accuracy": "Precisión de unos {metres} m",
  "geo.accuracy_km": "Precisión de unos {km} km",
  "geo.rough": "Ubicación aproximada",
  "geo.rough_text": "Inténtelo de nuevo cerca de una ventana o al aire libre, o continúe con esta.",
  "geo.update": "Actualizar la ubicación",
  "geo.denied": "Su navegador no comparte la ubicación. Puede continuar sin ella.",
  "geo.denied_required":
    "Para este paso hace falta su ubicación. Permita el acceso para esta página en los ajustes del navegador e inténtelo de nuevo.",
  "geo.unavailable": "No se encontró su ubicación. Inténtelo de nuevo cerca de una ventana o al aire libre.",
  "geo.unsupported": "Este dispositivo no puede determinar la ubicación.",

  // --- controls: date and time
  "date.today": "Hoy",
  "time.now": "Ahora",
  "datetime.zone": "Su hora local ({zone})",

  // --- controls: scan
  "scan.start": "Escanear un código",
  "scan.again": "Escanear de nuevo",
  "scan.aim": "Apunte la cámara al código.",
  "scan.type": "Escribir el código",
  "scan.no_camera": "Aquí no se puede usar la cámara. Escriba el código.",

  // --- controls: an answer outside what is expected
  "flag.title": "Fuera de lo esperado",
  "flag.expected": "Se espera: {expected}",
  "flag.range": "{min} a {max}",
  "flag.not_before": "no antes del {date}",
  "flag.not_after": "no después del {date}",
  "flag.note": "Añadir una nota",

  // --- review
  "review.title": "Revisar las respuestas",
  "review.text": "Después de enviar ya no podrá cambiar nada.",
  "review.back": "Volver a la lista",
  "review.change_label": "Cambiar: {label}",
  "review.not_answered": "Sin respuesta",
  "review.missing_title": { one: "Falta {count} paso obligatorio", other: "Faltan {count} pasos obligatorios" },
  "review.sign_text": "Firme para terminar.",
  "review.submit": "Enviar",
  "review.submitting": "Enviando…",
  "review.queued_title": "Aún sin enviar",
  "review.queued_text":
    "No tiene conexión. Su lista está guardada en este dispositivo y se enviará en cuanto vuelva a tener conexión. Si cierra esta página, vuelva a abrirla entonces.",
  "review.waiting_first": { one: "Antes se enviará {count} cambio.", other: "Antes se enviarán {count} cambios." },

  // --- cancel
  "cancel.open": "No puedo terminar esto",
  "cancel.title": "¿Cancelar esta lista?",
  "cancel.text": "{sender} recibirá lo que ha respondido hasta ahora. Usted no podrá continuar después.",
  "cancel.reason": "¿Por qué? (opcional)",
  "cancel.confirm": "Cancelar la lista",
  "cancel.keep": "Seguir respondiendo",
  "cancel.queued": "Aún sin enviar. La lista se cancelará en cuanto vuelva a tener conexión.",

  // --- done
  "done.title": "Listo. ¡Muchas gracias!",
  "done.text": "{sender} ya tiene sus respuestas.",
  "done.receipt": "Comprobante",
  "done.run_id": "Número de la lista",
  "done.completed_at": "Enviada",
  "done.answers": "Respuestas",
  "done.photos": "Fotos",
  "done.digest": "Código de control",
  "done.digest_text":
    "El código de control demuestra lo que se recibió. Guárdelo por si necesita una prueba más adelante.",
  "done.copy_receipt": "Copiar el comprobante",
  "done.signed": "Firmado por",
  "done.close": "Ya puede cerrar esta página.",

  // --- states that end here
  "cancelled.title": "Esta lista se ha cancelado",
  "cancelled.text": "Ya no acepta respuestas.",
  "cancelled.by_you": "{sender} tiene lo que usted respondió hasta entonces.",
  "cancelled.reason": "Motivo",
  "expired.title": "Este enlace ha caducado",
  "expired.text": "La lista ya no acepta respuestas. Pida un enlace nuevo a quien se la envió.",
  "expired.since": "Era válido hasta el {date}.",
  "not_found.title": "No se encontró la lista",
  "not_found.text": "Compruebe que abrió el enlace completo. A veces los enlaces largos se cortan en los mensajes.",
  "offline_first.title": "No tiene conexión",
  "offline_first.text":
    "Esta lista todavía no se ha abierto en este dispositivo, así que la primera vez necesita conexión. Después funciona sin ella.",
  "unreachable.title": "No disponible en este momento",
  "unreachable.text": "La lista está a salvo, pero ahora no se puede acceder a ella. Seguimos intentándolo.",

  // --- a run for members
  "members.sign_in_title": "Inicie sesión para responder",
  "members.sign_in_text":
    "Esta lista es para los miembros de {organization}. Inicie sesión para que su nombre aparezca con sus respuestas.",
  "members.organization": "Organización",
  "members.sign_in": "Iniciar sesión",
  "members.sign_in_other": "Usar otra cuenta",
  "members.way_back": "Después volverá a esta lista.",
  "members.new_tab": "El inicio de sesión se abre en una pestaña nueva. Después, vuelva a esta.",
  "members.not_member_title": "Esta lista no es para usted",
  "members.not_member_text":
    "Solo los miembros de {organization} pueden responderla, y su cuenta no es de un miembro. Pida una invitación o use otra cuenta.",
  "members.assigned_title": "Otra persona está respondiendo esta lista",
  "members.assigned_text":
    "Otro miembro la abrió primero y solo esa persona puede responderla. Si le corresponde responder, pida una lista propia.",
  "members.others_text":
    "Las respuestas que otro miembro dio en este dispositivo aún no se han enviado. Esa persona debe iniciar sesión aquí primero. También puede abrir su enlace en otro dispositivo.",
  "members.signed_in_as": "Ha iniciado sesión como",
  "members.not_sent":
    "Su sesión se ha cerrado. Sus respuestas están guardadas en este dispositivo y se enviarán en cuanto vuelva a iniciar sesión.",
  "members.waiting": {
    one: "{count} respuesta de este dispositivo se enviará cuando inicie sesión aquí la persona que la dio.",
    other: "{count} respuestas de este dispositivo se enviarán cuando inicie sesión aquí la persona que las dio.",
  },

  // --- notices
  "notice.other_device_title": "Respuesta desde otro dispositivo",
  "notice.other_device": {
    one: "Se respondió un paso en otro dispositivo. Cuenta la respuesta más reciente.",
    other: "Se respondieron {count} pasos en otro dispositivo. Cuentan las respuestas más recientes.",
  },
  "notice.replaced": "«{before}» se sustituyó por «{now}».",
  "notice.removed": "Se eliminó «{before}».",
  "notice.storage_full_title": "No queda espacio en este dispositivo",
  "notice.storage_full":
    "No se pudo guardar su último cambio. Libere algo de espacio e inténtelo de nuevo. Sus respuestas anteriores están a salvo.",
  "notice.closed_elsewhere_title": "Lista cerrada",
  "notice.closed_completed": "Esta lista se envió desde otro dispositivo.",
  "notice.closed_cancelled": "Esta lista se ha cancelado.",
  "notice.closed_expired": "El enlace ha caducado.",
  "notice.not_arrived_title": "No llegó todo",
  "notice.not_arrived": {
    one: "Esta respuesta llegó tarde y no cuenta:",
    other: "Estas {count} respuestas llegaron tarde y no cuentan:",
  },
  "notice.update_title": "Hay una versión nueva",
  "notice.update": "Sus respuestas se conservan. Es solo un segundo.",
  "notice.update_now": "Actualizar ahora",
  "notice.later": "Más tarde",
  "notice.refused_title": "No se aceptó una respuesta",
  "notice.refused": { one: "Revise este paso:", other: "Revise estos {count} pasos:" },
  "notice.signed_out_title": "Su sesión se ha cerrado",
  "notice.not_keeping_title": "Este navegador no guarda respuestas",
  "notice.not_keeping":
    "Sus respuestas se envían enseguida, pero no se guardan en este dispositivo. No cierre esta página hasta que aparezca «Guardado».",

  // --- what is wrong
  "problem.summary": { one: "Hay un problema", other: "Hay {count} problemas" },
  "problem.required": "Este paso necesita una respuesta.",
  "problem.choose_one": "Elija una de las opciones.",
  "problem.number": "Escriba un número, por ejemplo {example}.",
  "problem.number_ambiguous": "Escriba el número sin separador de miles, por ejemplo 1234.",
  "problem.whole_number": "Escriba un número entero.",
  "problem.out_of_range": "Es demasiado pequeño o demasiado grande.",
  "problem.at_least": "Escriba {min} o más.",
  "problem.at_most": "Escriba {max} o menos.",
  "problem.between": "Escriba un valor de {min} a {max}.",
  "problem.too_many_decimals": { one: "Use {count} decimal como máximo.", other: "Use {count} decimales como máximo." },
  "problem.unknown_option": "Esta opción no existe. Elija otra.",
  "problem.duplicate_option": "Cada opción se puede elegir una sola vez.",
  "problem.too_few": { one: "Elija al menos {count}.", other: "Elija al menos {count}." },
  "problem.too_many": { one: "Elija {count} como máximo.", other: "Elija {count} como máximo." },
  "problem.too_long": {
    one: "Es demasiado largo. Use {count} carácter como máximo.",
    other: "Es demasiado largo. Use {count} caracteres como máximo.",
  },
  "problem.invalid_text": "El texto contiene un carácter que no se puede guardar. Escríbalo de nuevo.",
  "problem.blank": "Este campo no puede quedar vacío.",
  "problem.name_missing": "Escriba su nombre.",
  "problem.email": "Escriba un correo electrónico como nombre@example.com.",
  "problem.date": "Escriba una fecha válida.",
  "problem.time": "Escriba una hora de 00:00 a 23:59.",
  "problem.datetime": "Escriba la fecha y la hora.",
  "problem.signature": "Para firmar, escriba su nombre.",
  "problem.identity_required": "Primero, díganos quién es.",
  "problem.geo_required": "Añada su ubicación.",
  "problem.geo": "Esta ubicación no puede ser correcta. Inténtelo de nuevo.",
  "problem.skip_not_allowed": "Este paso no se puede omitir.",
  "problem.not_applicable": "Este paso ya no hace falta.",
  "problem.too_large": "En conjunto, sus respuestas son demasiado largas. Acorte esta.",
  "problem.photos_missing": { one: "Falta {count} foto.", other: "Faltan {count} fotos." },
  "problem.photos_too_many": {
    one: "Aquí puede añadir {count} foto como máximo.",
    other: "Aquí puede añadir {count} fotos como máximo.",
  },
  "problem.photos_full": "Este paso no admite más fotos.",
  "problem.photo_not_an_image": "Este archivo no es una foto.",
  "problem.photo_unsupported": "Este tipo de imagen no se puede usar. Use JPEG, PNG, WebP o HEIC.",
  "problem.photo_broken": "Esta foto está dañada. Tómela de nuevo.",
  "problem.photo_too_large": "Esta foto es demasiado grande. Tome una más pequeña.",
  "problem.photo_not_read": "No se pudo leer esta foto. Tome otra.",
  "problem.photo_lost": "Esta foto ya no está en este dispositivo. Tómela de nuevo.",
  "problem.note_required": "Añada una nota sobre esta respuesta.",
  "problem.generic": "Esta respuesta no se puede usar. Revísela.",
};
