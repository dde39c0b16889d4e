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
  "app.try_again": "Noch einmal versuchen",
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
  "loading.slow": "Das dauert etwas. Vielleicht ist Ihr Netz langsam.",

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
  "preview.completed_text": "Die Antworten wurden abgeschickt. Es gibt nichts mehr zu tun.",
  "preview.cancelled_text": "Diese Checkliste nimmt keine Antworten mehr an.",
  "preview.link_incomplete":
    "Öffnen Sie zum Antworten den vollständigen Link aus Ihrer Nachricht. Hier fehlt ein Teil davon.",
  "preview.keep_link":
    "Wer den vollständigen Link hat, kann antworten. Geben Sie ihn nur an die Person weiter, die das tun soll.",
  "preview.app_prompt": "In der App geht es noch besser.",
  "preview.app_get": "App holen",

  // --- identity form
  "identity.title": "Zuerst: Wer sind Sie?",
  "identity.text": "{sender} sieht Ihren Namen und Ihre E-Mail-Adresse bei Ihren Antworten.",
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
  "checklist.kept": "Gespeichert",
  "checklist.kept_on_device": "Auf diesem Gerät gespeichert, noch nicht gesendet",
  "checklist.not_kept": "Noch nicht gespeichert. Bitte prüfen.",
  "checklist.clear_photos": {
    one: "Das Foto dieser Antwort wird auch entfernt.",
    other: "Die {count} Fotos dieser Antwort werden auch entfernt.",
  },
  "checklist.waiting": "Wartet auf das Senden. Bitte diese Seite offen lassen.",

  // --- sync
  "sync.saved": "Gespeichert",
  "sync.saving": "Wird gespeichert …",
  "sync.offline": "Offline",
  "sync.offline_waiting": { one: "Offline: {count} wartet", other: "Offline: {count} warten" },
  "sync.attention": "Bitte ansehen",
  "sync.saved_text": "Alle Ihre Antworten sind angekommen.",
  "sync.saving_text": "Ihre Antworten sind unterwegs.",
  "sync.offline_text":
    "Machen Sie einfach weiter. Ihre Antworten bleiben auf diesem Gerät und werden gesendet, sobald Sie wieder Netz haben.",
  "sync.attention_text": "Etwas konnte nicht gesendet werden. Die Hinweise unten sagen mehr.",
  "sync.back_online": "Wieder online",
  "sync.signed_out": "Abgemeldet",
  "sync.signed_out_waiting": { one: "Abgemeldet: {count} wartet", other: "Abgemeldet: {count} warten" },
  "sync.signed_out_text": "Machen Sie ruhig weiter. Ihre Antworten bleiben auf diesem Gerät und werden gesendet, sobald Sie sich wieder angemeldet haben.",

  // --- controls: number
  "number.between": "Von {min} bis {max}",
  "number.at_least": "Mindestens {min}",
  "number.at_most": "Höchstens {max}",
  "number.whole": "Nur ganze Zahlen",
  "number.decimals": { one: "Höchstens {count} Nachkommastelle", other: "Höchstens {count} Nachkommastellen" },
  "number.sign": "Plus oder minus",

  // --- controls: choice
  "choice.one": "Wählen Sie eins aus",
  "choice.any": "Wählen Sie alles aus, was zutrifft",
  "choice.exactly": { one: "Wählen Sie {count} aus", other: "Wählen Sie {count} aus" },
  "choice.at_least": { one: "Wählen Sie mindestens {count} aus", other: "Wählen Sie mindestens {count} aus" },
  "choice.at_most": { one: "Wählen Sie höchstens {count} aus", other: "Wählen Sie höchstens {count} aus" },
  "choice.between": "Wählen Sie {min} bis {max} aus",
  "choice.search": "Auswahl durchsuchen",
  "choice.found": { one: "{count} Möglichkeit", other: "{count} Möglichkeiten" },
  "choice.not_found": "Nichts passt zu „{query}“.",

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
  "photo.up_to": { one: "Bis zu {count} Foto", other: "Bis zu {count} Fotos" },
  "photo.have": { one: "{count} Foto", other: "{count} Fotos" },
  "photo.full": "Mehr Fotos sind hier nicht möglich.",
  "photo.name": "Foto {number}",
  "photo.view": "Foto {number} ansehen",
  "photo.remove": "Foto {number} entfernen",
  "photo.retake": "Foto {number} neu aufnehmen",
  "photo.kept": "Wartet auf das Senden",
  "photo.uploading": "Wird gesendet … {percent}",
  "photo.sent": "Gesendet",
  "photo.refused": "Nicht angenommen",
  "photo.too_large": "Dieses Foto ist zum Senden zu groß, und dieser Browser kann es nicht verkleinern. Bitte wählen Sie ein JPEG oder nehmen Sie das Foto in einer kleineren Größe auf.",
  "photo.making_smaller": "Dieses Foto ist zum Senden zu groß. Es wird verkleinert …",
  "photo.made_smaller": {
    one: "Das Foto war zum Senden zu groß und wurde verkleinert.",
    other: "{count} Fotos waren zum Senden zu groß und wurden verkleinert.",
  },
  "photo.no_image": "Diese Datei ist kein brauchbares Foto. Möglich sind JPEG, PNG, WebP und HEIC.",
  "photo.removed": "Foto entfernt",
  "photo.no_camera": "Die Kamera lässt sich hier nicht nutzen. Sie können stattdessen ein Foto auswählen.",
  "photo.no_preview": "Keine Vorschau",
  "photo.preview_later": "Dieser Browser kann dieses Foto nicht anzeigen. Es ist trotzdem gesichert und hier zu sehen, sobald es gesendet ist.",

  // --- controls: signature
  "signature.title": "Unterschrift",
  "signature.name": "Ihr voller Name",
  "signature.draw": "Unterschrift zeichnen",
  "signature.draw_hint": "Wenn Sie möchten, unterschreiben Sie mit dem Finger. Ihr getippter Name genügt.",
  "signature.pad": "Zeichenfläche für Ihre Unterschrift",
  "signature.clear": "Zeichnung löschen",
  "signature.signed_by": "Unterschrieben von {name}",

  // --- controls: location
  "geo.add": "Standort hinzufügen",
  "geo.why": "Dieser Schritt fragt auch, wo Sie sind. Ihr Standort wird nur mit dieser Antwort gesendet.",
  "geo.why_required": "Dieser Schritt braucht Ihren Standort. Er wird nur mit dieser Antwort gesendet.",
  "geo.finding": "Standort wird gesucht …",
  "geo.added": "Standort hinzugefügt",
  "geo.accuracy": "Auf etwa {metres} m genau",
  "geo.update": "Standort erneuern",
  "geo.denied": "Ihr Browser gibt den Standort nicht weiter. Sie können ohne ihn weitermachen.",
  "geo.denied_required":
    "Dieser Schritt braucht Ihren Standort. Erlauben Sie ihn für diese Seite in den Einstellungen Ihres Browsers und versuchen Sie es noch einmal.",
  "geo.unavailable": "Ihr Standort wurde nicht gefunden. Versuchen Sie es am Fenster oder im Freien.",
  "geo.unsupported": "Dieses Gerät kennt seinen Standort nicht.",

  // --- controls: date and time
  "date.today": "Heute",
  "time.now": "Jetzt",
  "datetime.zone": "Ihre Ortszeit ({zone})",

  // --- controls: scan
  "scan.start": "Code scannen",
  "scan.again": "Noch einmal scannen",
  "scan.aim": "Richten Sie die Kamera auf den Code.",
  "scan.type": "Code eintippen",
  "scan.no_camera": "Die Kamera lässt sich hier nicht nutzen. Bitte tippen Sie den Code ein.",

  // --- review
  "review.title": "Prüfen Sie Ihre Antworten",
  "review.text": "Nach dem Absenden lässt sich nichts mehr ändern.",
  "review.back": "Zurück zur Checkliste",
  "review.change_label": "Ändern: {label}",
  "review.not_answered": "Nicht beantwortet",
  "review.missing_title": { one: "{count} Pflichtschritt fehlt", other: "{count} Pflichtschritte fehlen" },
  "review.sign_text": "Unterschreiben Sie zum Abschluss.",
  "review.submit": "Absenden",
  "review.submitting": "Wird abgesendet …",
  "review.queued_title": "Noch nicht gesendet",
  "review.queued_text":
    "Sie sind offline. Ihre Checkliste bleibt auf diesem Gerät und wird abgesendet, sobald Sie wieder Netz haben. Öffnen Sie diese Seite dann wieder, falls Sie sie schließen.",
  "review.waiting_first": {
    one: "{count} Änderung wird vorher gesendet.",
    other: "{count} Änderungen werden vorher gesendet.",
  },

  // --- cancel
  "cancel.open": "Ich kann das nicht zu Ende bringen",
  "cancel.title": "Diese Checkliste abbrechen?",
  "cancel.text": "{sender} bekommt Ihre bisherigen Antworten. Später weitermachen geht nicht.",
  "cancel.reason": "Warum? (freiwillig)",
  "cancel.confirm": "Checkliste abbrechen",
  "cancel.keep": "Weitermachen",
  "cancel.queued": "Noch nicht gesendet. Die Checkliste wird abgebrochen, sobald Sie wieder Netz haben.",

  // --- done
  "done.title": "Fertig. Vielen Dank!",
  "done.text": "{sender} hat Ihre Antworten.",
  "done.receipt": "Beleg",
  "done.run_id": "Nummer der Checkliste",
  "done.completed_at": "Abgesendet",
  "done.answers": "Antworten",
  "done.photos": "Fotos",
  "done.digest": "Prüfwert",
  "done.digest_text": "Er beweist, was angekommen ist. Heben Sie ihn auf, wenn Sie das später zeigen möchten.",
  "done.copy_receipt": "Beleg kopieren",
  "done.signed": "Unterschrieben von",
  "done.close": "Sie können diese Seite schließen.",

  // --- states that end here
  "cancelled.title": "Diese Checkliste wurde abgebrochen",
  "cancelled.text": "Sie nimmt keine Antworten mehr an.",
  "cancelled.by_you": "{sender} hat Ihre Antworten bis dahin.",
  "cancelled.reason": "Grund",
  "expired.title": "Dieser Link ist abgelaufen",
  "expired.text":
    "Die Checkliste nimmt keine Antworten mehr an. Bitten Sie die Person, die sie geschickt hat, um einen neuen Link.",
  "expired.since": "Sie war offen bis {date}.",
  "not_found.title": "Hier ist keine Checkliste",
  "not_found.text":
    "Prüfen Sie, ob Sie den vollständigen Link geöffnet haben. In Nachrichten werden lange Links manchmal zerteilt.",
  "offline_first.title": "Sie sind offline",
  "offline_first.text":
    "Diese Checkliste wurde auf diesem Gerät noch nie geöffnet, darum braucht sie einmal Netz. Danach geht es auch offline.",
  "unreachable.title": "Gerade nicht erreichbar",
  "unreachable.text": "Die Checkliste ist sicher, nur im Moment nicht erreichbar. Wir versuchen es weiter.",

  // --- a run for members
  "members.sign_in_title": "Zum Antworten anmelden",
  "members.sign_in_text": "Diese Checkliste ist für Mitglieder von {organization}. Melden Sie sich an, damit Ihre Antworten Ihren Namen tragen.",
  "members.organization": "Organisation",
  "members.sign_in": "Anmelden",
  "members.sign_in_other": "Als jemand anderes anmelden",
  "members.way_back": "Danach kommen Sie zu dieser Checkliste zurück.",
  "members.new_tab": "Sie melden sich in einem neuen Tab an. Kommen Sie danach in diesen zurück.",
  "members.not_member_title": "Diese Checkliste ist nicht für Sie",
  "members.not_member_text": "Nur Mitglieder von {organization} können sie beantworten, und so, wie Sie angemeldet sind, sind Sie keines. Bitten Sie um eine Einladung, oder melden Sie sich als jemand anderes an.",
  "members.assigned_title": "Jemand anderes beantwortet diese Checkliste",
  "members.assigned_text": "Ein anderes Mitglied hat sie zuerst geöffnet, und nur dieses kann sie beantworten. Sollten Sie das sein, bitten Sie um eine eigene Checkliste.",
  "members.others_text": "Antworten, die ein anderes Mitglied auf diesem Gerät gegeben hat, sind noch nicht gesendet. Es muss sich hier zuerst anmelden, oder Sie öffnen Ihren Link auf einem anderen Gerät.",
  "members.signed_in_as": "Angemeldet als",
  "members.not_sent": "Sie sind abgemeldet. Was Sie angegeben haben, bleibt auf diesem Gerät und wird gesendet, sobald Sie sich wieder angemeldet haben.",
  "members.waiting": {
    one: "{count} Antwort von diesem Gerät wartet, bis sich hier anmeldet, wer sie gegeben hat.",
    other: "{count} Antworten von diesem Gerät warten, bis sich hier anmeldet, wer sie gegeben hat.",
  },

  // --- notices
  "notice.other_device_title": "Auf einem anderen Gerät beantwortet",
  "notice.other_device": {
    one: "Ein Schritt wurde inzwischen woanders beantwortet. Sie sehen die neueste Antwort.",
    other: "{count} Schritte wurden inzwischen woanders beantwortet. Sie sehen die neuesten Antworten.",
  },
  "notice.storage_full_title": "Dieses Gerät ist voll",
  "notice.storage_full":
    "Ihre letzte Änderung konnte nicht gespeichert werden. Schaffen Sie etwas Platz und versuchen Sie es noch einmal. Frühere Antworten sind sicher.",
  "notice.closed_elsewhere_title": "Inzwischen geschlossen",
  "notice.closed_completed": "Diese Checkliste wurde von einem anderen Gerät abgesendet.",
  "notice.closed_cancelled": "Diese Checkliste wurde inzwischen abgebrochen.",
  "notice.closed_expired": "Der Link ist inzwischen abgelaufen.",
  "notice.not_arrived_title": "Nicht alles ist angekommen",
  "notice.not_arrived": {
    one: "Diese Antwort kam zu spät und zählt nicht:",
    other: "Diese {count} Antworten kamen zu spät und zählen nicht:",
  },
  "notice.update_title": "Eine neue Version ist da",
  "notice.update": "Ihre Antworten bleiben. Es dauert nur eine Sekunde.",
  "notice.update_now": "Jetzt aktualisieren",
  "notice.later": "Später",
  "notice.refused_title": "Eine Antwort wurde nicht angenommen",
  "notice.refused": {
    one: "Bitte sehen Sie sich diesen Schritt noch einmal an:",
    other: "Bitte sehen Sie sich diese {count} Schritte noch einmal an:",
  },
  "notice.signed_out_title": "Sie sind abgemeldet",
  "notice.not_keeping_title": "Dieser Browser behält nichts",
  "notice.not_keeping":
    "Ihre Antworten werden sofort gesendet, bleiben aber nicht auf diesem Gerät. Schließen Sie diese Seite erst, wenn hier „Gespeichert“ steht.",

  // --- what is wrong
  "problem.summary": { one: "Etwas stimmt noch nicht", other: "{count} Dinge stimmen noch nicht" },
  "problem.required": "Dieser Schritt braucht eine Antwort.",
  "problem.choose_one": "Wählen Sie eine der Möglichkeiten aus.",
  "problem.number": "Geben Sie eine Zahl ein, zum Beispiel {example}.",
  "problem.number_ambiguous": "Geben Sie die Zahl ohne Tausendertrennzeichen ein.",
  "problem.whole_number": "Geben Sie eine ganze Zahl ein.",
  "problem.out_of_range": "Das ist zu klein oder zu groß.",
  "problem.at_least": "Geben Sie mindestens {min} ein.",
  "problem.at_most": "Geben Sie höchstens {max} ein.",
  "problem.between": "Geben Sie einen Wert von {min} bis {max} ein.",
  "problem.too_many_decimals": {
    one: "Höchstens {count} Nachkommastelle ist möglich.",
    other: "Höchstens {count} Nachkommastellen sind möglich.",
  },
  "problem.unknown_option": "Diese Möglichkeit gibt es nicht. Wählen Sie eine andere aus.",
  "problem.duplicate_option": "Jede Möglichkeit lässt sich nur einmal auswählen.",
  "problem.too_few": { one: "Wählen Sie mindestens {count} aus.", other: "Wählen Sie mindestens {count} aus." },
  "problem.too_many": { one: "Wählen Sie höchstens {count} aus.", other: "Wählen Sie höchstens {count} aus." },
  "problem.too_long": {
    one: "Das ist zu lang. Höchstens {count} Zeichen ist möglich.",
    other: "Das ist zu lang. Höchstens {count} Zeichen sind möglich.",
  },
  "problem.invalid_text": "Darin ist ein Zeichen, das sich nicht speichern lässt. Bitte tippen Sie es neu.",
  "problem.blank": "Das darf nicht leer sein.",
  "problem.name_missing": "Geben Sie Ihren Namen ein.",
  "problem.email": "Geben Sie eine E-Mail-Adresse wie name@example.com ein.",
  "problem.date": "Geben Sie ein Datum ein, das es gibt.",
  "problem.time": "Geben Sie eine Uhrzeit von 00:00 bis 23:59 ein.",
  "problem.datetime": "Geben Sie Datum und Uhrzeit ein.",
  "problem.signature": "Unterschreiben Sie, indem Sie Ihren Namen tippen.",
  "problem.identity_required": "Sagen Sie uns zuerst, wer Sie sind.",
  "problem.geo_required": "Fügen Sie Ihren Standort hinzu.",
  "problem.geo": "Dieser Standort kann nicht stimmen. Versuchen Sie es noch einmal.",
  "problem.skip_not_allowed": "Dieser Schritt lässt sich nicht überspringen.",
  "problem.not_applicable": "Dieser Schritt ist nicht mehr nötig.",
  "problem.too_large": "Alle Antworten zusammen sind zu lang. Bitte kürzen Sie diese.",
  "problem.photos_missing": { one: "Noch {count} Foto nötig.", other: "Noch {count} Fotos nötig." },
  "problem.photos_too_many": {
    one: "Hier ist höchstens {count} Foto möglich.",
    other: "Hier sind höchstens {count} Fotos möglich.",
  },
  "problem.photos_full": "Mehr Fotos sind hier nicht möglich.",
  "problem.photo_not_an_image": "Diese Datei ist kein Foto.",
  "problem.photo_unsupported": "Diese Art von Bild lässt sich nicht nutzen. Möglich sind JPEG, PNG, WebP und HEIC.",
  "problem.photo_broken": "Dieses Foto ist beschädigt. Bitte nehmen Sie es neu auf.",
  "problem.photo_too_large": "Dieses Foto ist zu groß. Bitte nehmen Sie ein kleineres auf.",
  "problem.photo_not_read": "Dieses Foto ließ sich nicht lesen. Bitte nehmen Sie ein anderes.",
  "problem.photo_lost": "Dieses Foto ist nicht mehr auf diesem Gerät. Bitte nehmen Sie es neu auf.",
  "problem.generic": "Diese Antwort geht so nicht. Bitte prüfen Sie sie.",
};
