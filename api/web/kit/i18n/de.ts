/** German. „Sie“, because the person may be anybody; short words, because labels stand on buttons. */

import type { Messages } from "./messages";

export const german: Messages = {
  // --- everywhere
  "app.name": "Checkliste",
  "app.title": "{name} – Checkliste",
  "app.skip_to_content": "Direkt zur Checkliste",
  "app.language": "Sprache",
  "app.close": "Schließen",
  "app.back": "Zurück",
  "app.try_again": "Erneut versuchen",
  "app.try_again_now": "Jetzt erneut versuchen",
  "app.change": "Ändern",
  "app.copied": "Kopiert",
  "app.dismiss": "OK",
  "app.menu": "Menü",
  "app.yes": "Ja",
  "app.no": "Nein",
  "app.none": "Keine",
  "app.done": "Fertig",

  // --- loading
  "loading.title": "Die Checkliste wird geladen …",
  "loading.slow": "Das dauert etwas länger. Vielleicht ist Ihre Verbindung langsam.",

  // --- preview: the link without its secret part
  "preview.from": "Von",
  "preview.length": "Umfang",
  "preview.steps": { one: "{count} Schritt", other: "{count} Schritte" },
  "preview.minutes": { one: "Etwa {count} Minute", other: "Etwa {count} Minuten" },
  "preview.open_until": "Offen bis",
  "preview.no_end": "Ohne Frist",
  "preview.pending": "Noch nicht begonnen",
  "preview.in_progress": "Schon begonnen",
  "preview.completed": "Abgeschlossen",
  "preview.cancelled": "Abgebrochen",
  "preview.completed_text": "Die Antworten wurden abgesendet. Es gibt nichts mehr zu tun.",
  "preview.cancelled_text": "Diese Checkliste nimmt keine Antworten mehr an.",
  "preview.link_incomplete":
    "Ein Teil des Links fehlt. Öffnen Sie zum Antworten den vollständigen Link aus Ihrer Nachricht.",
  "preview.keep_link":
    "Wer den vollständigen Link hat, kann antworten. Geben Sie ihn nur an die Person weiter, die antworten soll.",
  "preview.app_prompt": "In der App geht es noch besser.",
  "preview.app_get": "App laden",

  // --- identity form
  "identity.title": "Wer füllt die Checkliste aus?",
  "identity.text": "{sender} sieht bei Ihren Antworten Ihren Namen und Ihre E-Mail-Adresse.",
  "identity.name": "Ihr Name",
  "identity.email": "Ihre E-Mail-Adresse",
  "identity.start": "Los geht’s",
  "identity.signed_in_as": "Sie antworten als {name}",

  // --- the checklist
  "checklist.sent_by": "Von {sender}",
  "checklist.progress": "{answered} von {total}",
  "checklist.progress_label": "{answered} von {total} Schritten erledigt",
  "checklist.required": "Pflicht",
  "checklist.skip": "Überspringen",
  "checklist.skip_label": "Überspringen: {label}",
  "checklist.skipped": "Übersprungen",
  "checklist.answer_after_all": "Doch beantworten",
  "checklist.clear": "Antwort löschen",
  "checklist.clear_label": "Antwort löschen: {label}",
  "checklist.required_left": { one: "Noch {count} Pflichtschritt", other: "Noch {count} Pflichtschritte" },
  "checklist.next_gap": "Zum nächsten",
  "checklist.to_review": "Prüfen und absenden",
  "checklist.until": "Offen bis {date}",
  "checklist.steps_appeared": {
    one: "Ein neuer Schritt ist dazugekommen: {label}",
    other: "{count} neue Schritte sind dazugekommen",
  },
  "checklist.steps_left": {
    one: "Ein Schritt ist nicht mehr nötig",
    other: "{count} Schritte sind nicht mehr nötig",
  },
  "checklist.nothing_applies": "Hier gibt es nichts zu beantworten.",
  "checklist.instruction": "Bitte lesen",
  "checklist.kept": "Auf diesem Gerät gespeichert",
  "checklist.kept_on_device": "Auf diesem Gerät gespeichert, noch nicht gesendet",
  "checklist.not_kept": "Noch nicht gespeichert. Bitte prüfen.",
  "checklist.clear_photos": {
    one: "Dabei wird auch das Foto entfernt.",
    other: "Dabei werden auch die {count} Fotos entfernt.",
  },
  "checklist.waiting": "Noch nicht gesendet. Bitte lassen Sie diese Seite offen.",
  "checklist.next": "Weiter",
  "checklist.previous": "Vorheriger Schritt",
  "checklist.one_at_a_time": "Schritte einzeln anzeigen",
  "checklist.list": "Alle Schritte als Liste anzeigen",

  // --- all steps
  "steps.title": "Alle Schritte",
  "steps.open_sheet": "{answered} von {total} erledigt: alle Schritte anzeigen",
  "steps.search": "Schritte durchsuchen",
  "steps.only_open": "Nur offene Schritte",
  "steps.none_open": "Es sind keine Schritte mehr offen.",
  "steps.not_found": "Kein Schritt passt zu „{query}“.",
  "steps.answered": "Beantwortet",
  "steps.open": "Offen",

  // --- sync
  "sync.saved": "Gespeichert",
  "sync.saving": "Wird gespeichert …",
  "sync.offline": "Offline",
  "sync.offline_waiting": { one: "Offline: {count} ausstehend", other: "Offline: {count} ausstehend" },
  "sync.attention": "Bitte prüfen",
  "sync.saved_text": "Alle Ihre Antworten sind angekommen.",
  "sync.saving_text": "Ihre Antworten sind unterwegs.",
  "sync.offline_text":
    "Machen Sie einfach weiter. Ihre Antworten sind auf diesem Gerät gespeichert und werden gesendet, sobald Sie wieder online sind.",
  "sync.attention_text": "Etwas konnte nicht gesendet werden. Bitte beachten Sie die Hinweise unten.",
  "sync.back_online": "Wieder online",
  "sync.signed_out": "Abgemeldet",
  "sync.signed_out_waiting": { one: "Abgemeldet: {count} ausstehend", other: "Abgemeldet: {count} ausstehend" },
  "sync.signed_out_text":
    "Machen Sie einfach weiter. Ihre Antworten sind auf diesem Gerät gespeichert und werden gesendet, sobald Sie sich wieder anmelden.",

  // --- controls: number
  "number.between": "Von {min} bis {max}",
  "number.at_least": "Mindestens {min}",
  "number.at_most": "Höchstens {max}",
  "number.whole": "Nur ganze Zahlen",
  "number.decimals": { one: "Höchstens {count} Nachkommastelle", other: "Höchstens {count} Nachkommastellen" },
  "number.sign": "Vorzeichen wechseln",

  // --- controls: choice
  "choice.one": "Bitte auswählen",
  "choice.any": "Wählen Sie alles aus, was zutrifft",
  "choice.exactly": { one: "Wählen Sie {count} aus", other: "Wählen Sie {count} aus" },
  "choice.at_least": { one: "Wählen Sie mindestens {count} aus", other: "Wählen Sie mindestens {count} aus" },
  "choice.at_most": { one: "Wählen Sie höchstens {count} aus", other: "Wählen Sie höchstens {count} aus" },
  "choice.between": "Wählen Sie {min} bis {max} aus",
  "choice.search": "Optionen durchsuchen",
  "choice.found": { one: "{count} Option", other: "{count} Optionen" },
  "choice.not_found": "Keine Option passt zu „{query}“.",

  // --- controls: text
  "text.left": { one: "Noch {count} Zeichen", other: "Noch {count} Zeichen" },
  "text.over": { one: "{count} Zeichen zu viel", other: "{count} Zeichen zu viel" },

  // --- controls: rating
  "rating.value": "{value} von {max}",
  "rating.value_labelled": "{value} von {max}: {label}",

  // --- controls: photo
  "photo.take": "Foto aufnehmen",
  "photo.take_another": "Noch ein Foto aufnehmen",
  "photo.choose": "Foto auswählen",
  "photo.needed": { one: "{count} Foto nötig", other: "{count} Fotos nötig" },
  "photo.have_of_needed": "{have} von {needed} nötigen Fotos",
  "photo.up_to": { one: "Höchstens {count} Foto", other: "Höchstens {count} Fotos" },
  "photo.have": { one: "{count} Foto", other: "{count} Fotos" },
  "photo.full": "Mehr Fotos sind hier nicht möglich.",
  "photo.name": "Foto {number}",
  "photo.view": "Foto {number} ansehen",
  "photo.remove": "Foto {number} entfernen",
  "photo.retake": "Foto {number} neu aufnehmen",
  "photo.kept": "Noch nicht gesendet",
  "photo.uploading": "Wird gesendet … {percent}",
  "photo.sent": "Gesendet",
  "photo.refused": "Nicht angenommen",
  "photo.too_large":
    "Dieses Foto ist zum Senden zu groß, und dieser Browser kann es nicht verkleinern. Bitte wählen Sie ein JPEG-Foto aus oder nehmen Sie es in einer kleineren Größe neu auf.",
  "photo.making_smaller": "Dieses Foto ist zum Senden zu groß. Es wird verkleinert …",
  "photo.made_smaller": {
    one: "Das Foto war zum Senden zu groß und wurde verkleinert.",
    other: "{count} Fotos waren zum Senden zu groß und wurden verkleinert.",
  },
  "photo.no_image": "Diese Datei lässt sich nicht als Foto verwenden. Möglich sind JPEG, PNG, WebP und HEIC.",
  "photo.removed": "Foto entfernt",
  "photo.no_camera": "Die Kamera lässt sich hier nicht verwenden. Sie können stattdessen ein Foto auswählen.",
  "photo.no_preview": "Keine Vorschau",
  "photo.preview_later":
    "Dieser Browser kann dieses Foto nicht anzeigen. Es ist gespeichert und erscheint hier, sobald es gesendet ist.",
  "photo.camera_app": "Kamera-App verwenden",

  // --- controls: signature
  "signature.title": "Unterschrift",
  "signature.name": "Ihr vollständiger Name",
  "signature.draw": "Unterschrift zeichnen",
  "signature.draw_hint": "Sie können auch mit dem Finger unterschreiben. Ihr eingetippter Name genügt aber.",
  "signature.pad": "Zeichenfläche für Ihre Unterschrift",
  "signature.clear": "Zeichnung löschen",
  "signature.signed_by": "Unterschrieben von {name}",

  // --- controls: location
  "geo.add": "Standort hinzufügen",
  "geo.why": "Dieser Schritt fragt auch nach Ihrem Standort. Der Standort wird nur mit dieser Antwort gesendet.",
  "geo.why_required": "Für diesen Schritt ist Ihr Standort nötig. Er wird nur mit dieser Antwort gesendet.",
  "geo.finding": "Standort wird ermittelt …",
  "geo.added": "Standort hinzugefügt",
  "geo.accuracy": "Auf etwa {metres} m genau",
  "geo.accuracy_km": "Auf etwa {km} km genau",
  "geo.rough": "Nur ein ungefährer Standort",
  "geo.rough_text":
    "Versuchen Sie es am Fenster oder im Freien noch einmal oder machen Sie mit diesem Standort weiter.",
  "geo.update": "Standort aktualisieren",
  "geo.denied": "Ihr Browser gibt Ihren Standort nicht frei. Sie können auch ohne Standort weitermachen.",
  "geo.denied_required":
    "Für diesen Schritt ist Ihr Standort nötig. Erlauben Sie den Zugriff für diese Seite in den Einstellungen Ihres Browsers und versuchen Sie es noch einmal.",
  "geo.unavailable": "Ihr Standort wurde nicht gefunden. Versuchen Sie es am Fenster oder im Freien noch einmal.",
  "geo.unsupported": "Dieses Gerät kann seinen Standort nicht ermitteln.",

  // --- controls: date and time
  "date.today": "Heute",
  "time.now": "Jetzt",
  "datetime.zone": "Ihre Ortszeit ({zone})",

  // --- controls: scan
  "scan.start": "Code scannen",
  "scan.again": "Erneut scannen",
  "scan.aim": "Richten Sie die Kamera auf den Code.",
  "scan.type": "Code eintippen",
  "scan.no_camera": "Die Kamera lässt sich hier nicht verwenden. Bitte tippen Sie den Code ein.",

  // --- controls: an answer outside what is expected
  "flag.title": "Nicht wie erwartet",
  "flag.expected": "Erwartet: {expected}",
  "flag.range": "{min} bis {max}",
  "flag.not_before": "nicht vor dem {date}",
  "flag.not_after": "nicht nach dem {date}",
  "flag.note": "Notiz hinzufügen",

  // --- review
  "review.title": "Antworten prüfen",
  "review.text": "Nach dem Absenden können Sie nichts mehr ändern.",
  "review.back": "Zurück zur Checkliste",
  "review.change_label": "Ändern: {label}",
  "review.not_answered": "Nicht beantwortet",
  "review.missing_title": { one: "Noch {count} Pflichtschritt offen", other: "Noch {count} Pflichtschritte offen" },
  "review.sign_text": "Bitte unterschreiben Sie zum Abschluss.",
  "review.submit": "Absenden",
  "review.submitting": "Wird abgesendet …",
  "review.queued_title": "Noch nicht gesendet",
  "review.queued_text":
    "Sie sind offline. Ihre Checkliste ist auf diesem Gerät gespeichert und wird abgesendet, sobald Sie wieder online sind. Wenn Sie diese Seite schließen, öffnen Sie sie dann noch einmal.",
  "review.waiting_first": {
    one: "Vorher wird noch {count} Änderung gesendet.",
    other: "Vorher werden noch {count} Änderungen gesendet.",
  },

  // --- cancel
  "cancel.open": "Ich kann das nicht abschließen",
  "cancel.title": "Diese Checkliste abbrechen?",
  "cancel.text": "{sender} bekommt Ihre bisherigen Antworten. Sie können später nicht weitermachen.",
  "cancel.reason": "Warum? (freiwillig)",
  "cancel.confirm": "Checkliste abbrechen",
  "cancel.keep": "Weitermachen",
  "cancel.queued": "Noch nicht gesendet. Die Checkliste wird abgebrochen, sobald Sie wieder online sind.",

  // --- done
  "done.title": "Fertig. Vielen Dank!",
  "done.text": "{sender} hat Ihre Antworten.",
  "done.receipt": "Beleg",
  "done.run_id": "Nummer der Checkliste",
  "done.completed_at": "Abgesendet",
  "done.answers": "Antworten",
  "done.photos": "Fotos",
  "done.digest": "Prüfwert",
  "done.digest_text":
    "Der Prüfwert belegt, was angekommen ist. Bewahren Sie ihn auf, falls Sie später einen Nachweis brauchen.",
  "done.copy_receipt": "Beleg kopieren",
  "done.signed": "Unterschrieben von",
  "done.close": "Sie können diese Seite schließen.",
  "done.save_receipt": "Beleg speichern (PDF)",
  "done.receipt_working": "Der Beleg wird erstellt …",
  "done.receipt_saved": "Der Beleg ist gespeichert.",
  "done.receipt_offline": "Zum Speichern des Belegs wird eine Verbindung gebraucht.",
  "done.receipt_failed": "Der Beleg konnte nicht erstellt werden. Versuchen Sie es gleich noch einmal.",

  // --- states that end here
  "cancelled.title": "Diese Checkliste wurde abgebrochen",
  "cancelled.text": "Sie nimmt keine Antworten mehr an.",
  "cancelled.by_you": "{sender} hat die Antworten, die Sie bis dahin gegeben haben.",
  "cancelled.reason": "Grund",
  "expired.title": "Dieser Link ist abgelaufen",
  "expired.text":
    "Die Checkliste nimmt keine Antworten mehr an. Bitten Sie die Person, die sie geschickt hat, um einen neuen Link.",
  "expired.ask": "Die Checkliste nimmt keine Antworten mehr an. Bitten Sie {sender} um einen neuen Link.",
  "expired.since": "Er war bis {date} gültig.",
  "not_found.title": "Checkliste nicht gefunden",
  "not_found.text":
    "Prüfen Sie, ob Sie den vollständigen Link geöffnet haben. Lange Links werden in Nachrichten manchmal abgeschnitten.",
  "offline_first.title": "Sie sind offline",
  "offline_first.text":
    "Diese Checkliste wurde auf diesem Gerät noch nicht geöffnet. Beim ersten Mal brauchen Sie eine Internetverbindung, danach geht es auch offline.",
  "unreachable.title": "Gerade nicht erreichbar",
  "unreachable.text": "Die Checkliste ist sicher, nur im Moment nicht erreichbar. Wir versuchen es weiter.",

  // --- a run for members
  "members.sign_in_title": "Zum Antworten anmelden",
  "members.sign_in_text":
    "Diese Checkliste ist für Mitglieder von {organization}. Melden Sie sich an, damit Ihr Name bei Ihren Antworten steht.",
  "members.organization": "Organisation",
  "members.sign_in": "Anmelden",
  "members.sign_in_other": "Anderes Konto verwenden",
  "members.way_back": "Danach kommen Sie wieder zu dieser Checkliste.",
  "members.new_tab": "Die Anmeldung öffnet sich in einem neuen Tab. Kehren Sie danach zu diesem Tab zurück.",
  "members.not_member_title": "Diese Checkliste ist nicht für Sie",
  "members.not_member_text":
    "Nur Mitglieder von {organization} können sie beantworten, und Ihr Konto gehört nicht dazu. Bitten Sie um eine Einladung oder verwenden Sie ein anderes Konto.",
  "members.assigned_title": "Jemand anderes beantwortet diese Checkliste",
  "members.assigned_text":
    "Ein anderes Mitglied hat sie zuerst geöffnet, und nur diese Person kann sie beantworten. Wenn Sie antworten sollen, bitten Sie um eine eigene Checkliste.",
  "members.others_text":
    "Auf diesem Gerät sind noch Antworten eines anderen Mitglieds, die nicht gesendet wurden. Diese Person muss sich zuerst hier anmelden. Sie können Ihren Link auch auf einem anderen Gerät öffnen.",
  "members.signed_in_as": "Angemeldet als",
  "members.not_sent":
    "Sie sind abgemeldet. Ihre Antworten sind auf diesem Gerät gespeichert und werden gesendet, sobald Sie sich wieder anmelden.",
  "members.waiting": {
    one: "{count} Antwort auf diesem Gerät wird gesendet, sobald sich die Person, die sie gegeben hat, hier anmeldet.",
    other: "{count} Antworten auf diesem Gerät werden gesendet, sobald sich die Person, die sie gegeben hat, hier anmeldet.",
  },

  // --- notices
  "notice.other_device_title": "Auf einem anderen Gerät beantwortet",
  "notice.other_device": {
    one: "Ein Schritt wurde auf einem anderen Gerät beantwortet. Die neueste Antwort zählt.",
    other: "{count} Schritte wurden auf einem anderen Gerät beantwortet. Die neuesten Antworten zählen.",
  },
  "notice.replaced": "„{before}“ wurde durch „{now}“ ersetzt.",
  "notice.removed": "„{before}“ wurde entfernt.",
  "notice.storage_full_title": "Der Speicher dieses Geräts ist voll",
  "notice.storage_full":
    "Ihre letzte Änderung konnte nicht gespeichert werden. Geben Sie etwas Speicherplatz frei und versuchen Sie es noch einmal. Ihre früheren Antworten sind sicher.",
  "notice.closed_elsewhere_title": "Checkliste geschlossen",
  "notice.closed_completed": "Diese Checkliste wurde auf einem anderen Gerät abgesendet.",
  "notice.closed_cancelled": "Diese Checkliste wurde abgebrochen.",
  "notice.closed_expired": "Der Link ist abgelaufen.",
  "notice.not_arrived_title": "Nicht alles ist angekommen",
  "notice.not_arrived": {
    one: "Diese Antwort kam zu spät und zählt nicht:",
    other: "Diese {count} Antworten kamen zu spät und zählen nicht:",
  },
  "notice.update_title": "Eine neue Version ist da",
  "notice.update": "Ihre Antworten bleiben erhalten. Es dauert nur eine Sekunde.",
  "notice.update_now": "Jetzt aktualisieren",
  "notice.later": "Später",
  "notice.refused_title": "Eine Antwort wurde nicht angenommen",
  "notice.refused": { one: "Bitte prüfen Sie diesen Schritt:", other: "Bitte prüfen Sie diese {count} Schritte:" },
  "notice.signed_out_title": "Sie sind abgemeldet",
  "notice.not_keeping_title": "Dieser Browser speichert keine Antworten",
  "notice.not_keeping":
    "Ihre Antworten werden sofort gesendet, aber nicht auf diesem Gerät gespeichert. Schließen Sie diese Seite erst, wenn hier „Gespeichert“ steht.",

  // --- what is wrong
  "problem.summary": { one: "Es gibt ein Problem", other: "Es gibt {count} Probleme" },
  "problem.required": "Bitte beantworten Sie diesen Schritt.",
  "problem.choose_one": "Wählen Sie eine der Optionen aus.",
  "problem.number": "Geben Sie eine Zahl ein, zum Beispiel {example}.",
  "problem.number_ambiguous": "Geben Sie die Zahl ohne Tausenderpunkt ein, zum Beispiel 1234.",
  "problem.whole_number": "Geben Sie eine ganze Zahl ein.",
  "problem.out_of_range": "Das ist zu klein oder zu groß.",
  "problem.at_least": "Geben Sie mindestens {min} ein.",
  "problem.at_most": "Geben Sie höchstens {max} ein.",
  "problem.between": "Geben Sie einen Wert von {min} bis {max} ein.",
  "problem.too_many_decimals": {
    one: "Höchstens {count} Nachkommastelle ist möglich.",
    other: "Höchstens {count} Nachkommastellen sind möglich.",
  },
  "problem.unknown_option": "Diese Option gibt es nicht. Wählen Sie eine andere aus.",
  "problem.duplicate_option": "Jede Option lässt sich nur einmal auswählen.",
  "problem.too_few": { one: "Wählen Sie mindestens {count} aus.", other: "Wählen Sie mindestens {count} aus." },
  "problem.too_many": { one: "Wählen Sie höchstens {count} aus.", other: "Wählen Sie höchstens {count} aus." },
  "problem.too_long": {
    one: "Das ist zu lang. Höchstens {count} Zeichen ist möglich.",
    other: "Das ist zu lang. Höchstens {count} Zeichen sind möglich.",
  },
  "problem.invalid_text": "Der Text enthält ein Zeichen, das sich nicht speichern lässt. Bitte geben Sie ihn neu ein.",
  "problem.blank": "Dieses Feld darf nicht leer sein.",
  "problem.name_missing": "Geben Sie Ihren Namen ein.",
  "problem.email": "Geben Sie eine E-Mail-Adresse wie name@example.com ein.",
  "problem.date": "Geben Sie ein gültiges Datum ein.",
  "problem.time": "Geben Sie eine Uhrzeit von 00:00 bis 23:59 ein.",
  "problem.datetime": "Geben Sie Datum und Uhrzeit ein.",
  "problem.signature": "Unterschreiben Sie, indem Sie Ihren Namen eintippen.",
  "problem.identity_required": "Geben Sie zuerst an, wer Sie sind.",
  "problem.geo_required": "Fügen Sie Ihren Standort hinzu.",
  "problem.geo": "Dieser Standort kann nicht stimmen. Versuchen Sie es noch einmal.",
  "problem.skip_not_allowed": "Dieser Schritt lässt sich nicht überspringen.",
  "problem.not_applicable": "Dieser Schritt ist nicht mehr nötig.",
  "problem.too_large": "Ihre Antworten sind zusammen zu lang. Bitte kürzen Sie diese Antwort.",
  "problem.photos_missing": { one: "Noch {count} Foto nötig.", other: "Noch {count} Fotos nötig." },
  "problem.photos_too_many": {
    one: "Hier ist höchstens {count} Foto möglich.",
    other: "Hier sind höchstens {count} Fotos möglich.",
  },
  "problem.photos_full": "Mehr Fotos sind hier nicht möglich.",
  "problem.photo_not_an_image": "Diese Datei ist kein Foto.",
  "problem.photo_unsupported": "Dieser Bildtyp lässt sich nicht verwenden. Möglich sind JPEG, PNG, WebP und HEIC.",
  "problem.photo_broken": "Dieses Foto ist beschädigt. Bitte nehmen Sie es neu auf.",
  "problem.photo_too_large": "Dieses Foto ist zu groß. Bitte nehmen Sie ein kleineres auf.",
  "problem.photo_not_read": "Dieses Foto ließ sich nicht lesen. Bitte nehmen Sie ein anderes auf.",
  "problem.photo_lost": "Dieses Foto ist nicht mehr auf diesem Gerät. Bitte nehmen Sie es neu auf.",
  "problem.note_required": "Fügen Sie eine Notiz zu dieser Antwort hinzu.",
  "problem.generic": "Diese Antwort ist so nicht möglich. Bitte prüfen Sie sie.",
};
