/**
 * French. « Vous », because the person may be anybody. The spaces before : ; ? ! and inside guillemets do not break
 * (\u00a0, and the narrow \u202f), as French is set. `one` is for 0 and 1.
 */

import type { Messages } from "./messages";

export const french: Messages = {
  // --- everywhere
  "app.name": "Liste de contrôle",
  "app.title": "{name} – Liste de contrôle",
  "app.skip_to_content": "Aller directement à la liste",
  "app.language": "Langue",
  "app.close": "Fermer",
  "app.back": "Retour",
  "app.try_again": "Réessayer",
  "app.try_again_now": "Réessayer maintenant",
  "app.change": "Modifier",
  "app.copied": "Copié",
  "app.dismiss": "OK",
  "app.menu": "Menu",
  "app.yes": "Oui",
  "app.no": "Non",
  "app.none": "Aucune",
  "app.done": "Terminé",

  // --- loading
  "loading.title": "Chargement de la liste…",
  "loading.slow": "C’est un peu long. Votre réseau est peut-être lent.",

  // --- preview: the link without its secret part
  "preview.from": "De",
  "preview.length": "Longueur",
  "preview.steps": { one: "{count} étape", other: "{count} étapes" },
  "preview.minutes": { one: "Environ {count} minute", other: "Environ {count} minutes" },
  "preview.open_until": "Ouverte jusqu’au",
  "preview.no_end": "Sans date limite",
  "preview.pending": "Pas encore commencée",
  "preview.in_progress": "Déjà commencée",
  "preview.completed": "Terminée",
  "preview.cancelled": "Arrêtée",
  "preview.completed_text": "Les réponses ont été envoyées. Il n’y a plus rien à faire.",
  "preview.cancelled_text": "Cette liste n’accepte plus de réponses.",
  "preview.link_incomplete": "Pour répondre, ouvrez le lien complet de votre message. Ici, il en manque une partie.",
  "preview.keep_link":
    "Toute personne qui a le lien complet peut répondre. Ne le transmettez qu’à celle qui doit le faire.",
  "preview.app_prompt": "C’est encore mieux dans l’application.",
  "preview.app_get": "Obtenir l’application",

  // --- identity form
  "identity.title": "D’abord, qui êtes\u2011vous\u202f?",
  "identity.text": "{sender} verra votre nom et votre adresse e-mail à côté de vos réponses.",
  "identity.name": "Votre nom",
  "identity.email": "Votre adresse e-mail",
  "identity.start": "Commencer",
  "identity.signed_in_as": "Vous répondez en tant que {name}",

  // --- the checklist
  "checklist.sent_by": "De la part de {sender}",
  "checklist.progress": "{answered} sur {total}",
  "checklist.progress_label": "{answered} étapes sur {total} terminées",
  "checklist.required": "Obligatoire",
  "checklist.skip": "Passer",
  "checklist.skip_label": "Passer\u00a0: {label}",
  "checklist.skipped": "Passée",
  "checklist.answer_after_all": "Répondre quand même",
  "checklist.clear": "Effacer la réponse",
  "checklist.clear_label": "Effacer la réponse\u00a0: {label}",
  "checklist.required_left": { one: "Encore {count} obligatoire", other: "Encore {count} obligatoires" },
  "checklist.next_gap": "Aller à la suivante",
  "checklist.to_review": "Vérifier et envoyer",
  "checklist.until": "Ouverte jusqu’au {date}",
  "checklist.steps_appeared": {
    one: "Une nouvelle étape est apparue\u00a0: {label}",
    other: "{count} nouvelles étapes sont apparues",
  },
  "checklist.steps_left": {
    one: "Une étape n’est plus nécessaire",
    other: "{count} étapes ne sont plus nécessaires",
  },
  "checklist.nothing_applies": "Il n’y a rien à répondre ici.",
  "checklist.instruction": "À lire",
  "checklist.kept": "Enregistré",
  "checklist.kept_on_device": "Enregistré sur cet appareil, pas encore envoyé",
  "checklist.not_kept": "Pas encore enregistré. À vérifier.",
  "checklist.clear_photos": {
    one: "La photo de cette réponse sera aussi retirée.",
    other: "Les {count} photos de cette réponse seront aussi retirées.",
  },
  "checklist.waiting": "En attente d’envoi. Gardez cette page ouverte.",

  // --- sync
  "sync.saved": "Enregistré",
  "sync.saving": "Enregistrement…",
  "sync.offline": "Hors ligne",
  "sync.offline_waiting": { one: "Hors ligne\u00a0: {count} en attente", other: "Hors ligne\u00a0: {count} en attente" },
  "sync.attention": "À vérifier",
  "sync.saved_text": "Toutes vos réponses sont arrivées.",
  "sync.saving_text": "Vos réponses sont en route.",
  "sync.offline_text":
    "Continuez. Vos réponses sont gardées sur cet appareil et envoyées dès que vous serez de nouveau en ligne.",
  "sync.attention_text": "Quelque chose n’a pas pu être envoyé. Voyez les messages ci-dessous.",
  "sync.back_online": "De nouveau en ligne",
  "sync.signed_out": "Déconnecté",
  "sync.signed_out_waiting": { one: "Déconnecté\u00a0: {count} en attente", other: "Déconnecté\u00a0: {count} en attente" },
  "sync.signed_out_text": "Continuez sans crainte. Vos réponses sont gardées sur cet appareil et seront envoyées dès que vous vous serez reconnecté.",

  // --- controls: number
  "number.between": "De {min} à {max}",
  "number.at_least": "{min} ou plus",
  "number.at_most": "{max} ou moins",
  "number.whole": "Nombres entiers uniquement",
  "number.decimals": { one: "Au plus {count} décimale", other: "Au plus {count} décimales" },
  "number.sign": "Plus ou moins",

  // --- controls: choice
  "choice.one": "Choisissez une option",
  "choice.any": "Choisissez tout ce qui convient",
  "choice.exactly": { one: "Choisissez-en {count}", other: "Choisissez-en {count}" },
  "choice.at_least": { one: "Choisissez-en au moins {count}", other: "Choisissez-en au moins {count}" },
  "choice.at_most": { one: "Choisissez-en au plus {count}", other: "Choisissez-en au plus {count}" },
  "choice.between": "Choisissez-en de {min} à {max}",
  "choice.search": "Chercher dans les options",
  "choice.found": { one: "{count} option", other: "{count} options" },
  "choice.not_found": "Aucune option ne correspond à «\u00a0{query}\u00a0».",

  // --- controls: text
  "text.left": { one: "Encore {count} caractère", other: "Encore {count} caractères" },
  "text.over": { one: "{count} caractère de trop", other: "{count} caractères de trop" },

  // --- controls: rating
  "rating.value": "{value} sur {max}",
  "rating.value_labelled": "{value} sur {max}\u00a0: {label}",

  // --- controls: photo
  "photo.take": "Prendre une photo",
  "photo.take_another": "Prendre une autre photo",
  "photo.choose": "Choisir une photo",
  "photo.needed": { one: "{count} photo nécessaire", other: "{count} photos nécessaires" },
  "photo.have_of_needed": "{have} sur {needed} nécessaires",
  "photo.up_to": { one: "Jusqu’à {count} photo", other: "Jusqu’à {count} photos" },
  "photo.have": { one: "{count} photo", other: "{count} photos" },
  "photo.full": "Cette étape n’accepte plus de photos.",
  "photo.name": "Photo {number}",
  "photo.view": "Voir la photo {number}",
  "photo.remove": "Retirer la photo {number}",
  "photo.retake": "Reprendre la photo {number}",
  "photo.kept": "En attente d’envoi",
  "photo.uploading": "Envoi… {percent}",
  "photo.sent": "Envoyée",
  "photo.refused": "Refusée",
  "photo.too_large": "Cette photo est trop grande pour être envoyée, et ce navigateur ne peut pas la réduire. Choisissez un JPEG ou prenez la photo dans une taille plus petite.",
  "photo.making_smaller": "Cette photo est trop grande pour être envoyée telle quelle. Réduction en cours…",
  "photo.made_smaller": {
    one: "La photo était trop grande pour être envoyée : elle a été réduite.",
    other: "{count} photos étaient trop grandes pour être envoyées : elles ont été réduites.",
  },
  "photo.no_image": "Ce fichier n’est pas une photo utilisable. Utilisez JPEG, PNG, WebP ou HEIC.",
  "photo.removed": "Photo retirée",
  "photo.no_camera": "L’appareil photo n’est pas utilisable ici. Vous pouvez choisir une photo à la place.",
  "photo.no_preview": "Pas d’aperçu",
  "photo.preview_later": "Ce navigateur ne peut pas afficher cette photo. Elle est tout de même conservée, et sera visible ici une fois envoyée.",

  // --- controls: signature
  "signature.title": "Signature",
  "signature.name": "Saisissez votre nom complet",
  "signature.draw": "Dessinez votre signature",
  "signature.draw_hint": "Si vous le souhaitez, signez du doigt. Votre nom saisi suffit.",
  "signature.pad": "Zone pour dessiner votre signature",
  "signature.clear": "Effacer le dessin",
  "signature.signed_by": "Signé par {name}",

  // --- controls: location
  "geo.add": "Ajouter ma position",
  "geo.why": "Cette étape demande aussi où vous êtes. Votre position est envoyée avec cette réponse seulement.",
  "geo.why_required": "Cette étape a besoin de votre position. Elle est envoyée avec cette réponse seulement.",
  "geo.finding": "Recherche de votre position…",
  "geo.added": "Position ajoutée",
  "geo.accuracy": "Précise à environ {metres}\u00a0m",
  "geo.accuracy_km": "Précise à environ {km}\u00a0km",
  "geo.rough": "Position approximative seulement",
  "geo.rough_text": "Réessayez près d’une fenêtre ou dehors, ou continuez avec celle-ci.",
  "geo.update": "Actualiser la position",
  "geo.denied": "Votre navigateur ne partage pas votre position. Vous pouvez continuer sans elle.",
  "geo.denied_required":
    "Cette étape a besoin de votre position. Autorisez-la pour cette page dans les réglages du navigateur, puis réessayez.",
  "geo.unavailable": "Votre position est introuvable. Réessayez près d’une fenêtre ou dehors.",
  "geo.unsupported": "Cet appareil ne peut pas donner sa position.",

  // --- controls: date and time
  "date.today": "Aujourd’hui",
  "time.now": "Maintenant",
  "datetime.zone": "Votre heure locale ({zone})",

  // --- controls: scan
  "scan.start": "Scanner un code",
  "scan.again": "Scanner à nouveau",
  "scan.aim": "Visez le code avec l’appareil photo.",
  "scan.type": "Saisir le code",
  "scan.no_camera": "L’appareil photo n’est pas utilisable ici. Saisissez le code.",

  // --- controls: an answer outside what is expected
  "flag.title": "En dehors de ce qui est attendu",
  "flag.expected": "Attendu : {expected}",
  "flag.range": "de {min} à {max}",
  "flag.not_before": "pas avant le {date}",
  "flag.not_after": "pas après le {date}",
  "flag.note": "Ajouter une note",

  // --- review
  "review.title": "Vérifiez vos réponses",
  "review.text": "Après l’envoi, plus rien ne peut être modifié.",
  "review.back": "Revenir à la liste",
  "review.change_label": "Modifier\u00a0: {label}",
  "review.not_answered": "Sans réponse",
  "review.missing_title": {
    one: "Il manque {count} étape obligatoire",
    other: "Il manque {count} étapes obligatoires",
  },
  "review.sign_text": "Signez pour terminer.",
  "review.submit": "Envoyer",
  "review.submitting": "Envoi…",
  "review.queued_title": "Pas encore envoyée",
  "review.queued_text":
    "Vous êtes hors ligne. Votre liste est gardée sur cet appareil et sera envoyée dès que vous serez de nouveau en ligne. Si vous fermez cette page, rouvrez-la à ce moment-là.",
  "review.waiting_first": {
    one: "{count} modification est envoyée d’abord.",
    other: "{count} modifications sont envoyées d’abord.",
  },

  // --- cancel
  "cancel.open": "Je ne peux pas terminer",
  "cancel.title": "Arrêter cette liste\u202f?",
  "cancel.text": "{sender} recevra vos réponses données jusqu’ici. Vous ne pourrez pas reprendre plus tard.",
  "cancel.reason": "Pourquoi\u202f? (facultatif)",
  "cancel.confirm": "Arrêter la liste",
  "cancel.keep": "Continuer",
  "cancel.queued": "Pas encore envoyé. La liste sera arrêtée dès que vous serez de nouveau en ligne.",

  // --- done
  "done.title": "C’est fait. Merci\u202f!",
  "done.text": "{sender} a reçu vos réponses.",
  "done.receipt": "Reçu",
  "done.run_id": "Numéro de la liste",
  "done.completed_at": "Envoyée",
  "done.answers": "Réponses",
  "done.photos": "Photos",
  "done.digest": "Empreinte",
  "done.digest_text": "Elle prouve ce qui a été reçu. Gardez-la si vous voulez pouvoir le montrer plus tard.",
  "done.copy_receipt": "Copier le reçu",
  "done.signed": "Signé par",
  "done.close": "Vous pouvez fermer cette page.",

  // --- states that end here
  "cancelled.title": "Cette liste a été arrêtée",
  "cancelled.text": "Elle n’accepte plus de réponses.",
  "cancelled.by_you": "{sender} a vos réponses données jusque-là.",
  "cancelled.reason": "Raison",
  "expired.title": "Ce lien a expiré",
  "expired.text": "La liste n’accepte plus de réponses. Demandez un nouveau lien à la personne qui vous l’a envoyée.",
  "expired.since": "Elle était ouverte jusqu’au {date}.",
  "not_found.title": "Il n’y a pas de liste ici",
  "not_found.text":
    "Vérifiez que vous avez ouvert le lien complet. Les messages coupent parfois les longs liens en deux.",
  "offline_first.title": "Vous êtes hors ligne",
  "offline_first.text":
    "Cette liste n’a pas encore été ouverte sur cet appareil\u00a0: il lui faut le réseau une première fois. Ensuite, elle fonctionne hors ligne.",
  "unreachable.title": "Indisponible pour le moment",
  "unreachable.text": "La liste est en sécurité, mais elle est injoignable pour le moment. Nous continuons d’essayer.",

  // --- a run for members
  "members.sign_in_title": "Connectez-vous pour répondre",
  "members.sign_in_text": "Cette liste est réservée aux membres de {organization}. Connectez-vous pour que vos réponses portent votre nom.",
  "members.organization": "Organisation",
  "members.sign_in": "Se connecter",
  "members.sign_in_other": "Se connecter avec un autre compte",
  "members.way_back": "Vous revenez ensuite à cette liste.",
  "members.new_tab": "La connexion se fait dans un nouvel onglet. Revenez ensuite à celui-ci.",
  "members.not_member_title": "Cette liste n’est pas pour vous",
  "members.not_member_text": "Seuls les membres de {organization} peuvent y répondre, et le compte avec lequel vous êtes connecté n’en fait pas partie. Demandez une invitation, ou connectez-vous avec un autre compte.",
  "members.assigned_title": "Une autre personne répond à cette liste",
  "members.assigned_text": "Un autre membre l’a ouverte en premier, et lui seul peut y répondre. Si ce devait être vous, demandez une liste à votre nom.",
  "members.others_text": "Des réponses données sur cet appareil par un autre membre n’ont pas encore été envoyées. Cette personne doit d’abord se connecter ici, ou bien ouvrez votre lien sur un autre appareil.",
  "members.signed_in_as": "Vous êtes connecté en tant que",
  "members.not_sent": "Vous êtes déconnecté. Ce que vous avez répondu est gardé sur cet appareil et sera envoyé dès que vous vous serez reconnecté.",
  "members.waiting": {
    one: "{count} réponse de cet appareil attend que la personne qui l’a donnée se connecte ici.",
    other: "{count} réponses de cet appareil attendent que la personne qui les a données se connecte ici.",
  },

  // --- notices
  "notice.other_device_title": "Réponse donnée sur un autre appareil",
  "notice.other_device": {
    one: "Entre-temps, une étape a reçu une réponse ailleurs. La plus récente compte.",
    other: "Entre-temps, {count} étapes ont reçu une réponse ailleurs. Les plus récentes comptent.",
  },
  "notice.replaced": "La réponse «\u00a0{before}\u00a0» a été remplacée par «\u00a0{now}\u00a0».",
  "notice.removed": "La réponse «\u00a0{before}\u00a0» a été supprimée.",
  "notice.storage_full_title": "Cet appareil est plein",
  "notice.storage_full":
    "Votre dernière modification n’a pas pu être gardée. Libérez un peu de place, puis réessayez. Les réponses précédentes sont en sécurité.",
  "notice.closed_elsewhere_title": "Fermée entre-temps",
  "notice.closed_completed": "Cette liste a été envoyée depuis un autre appareil.",
  "notice.closed_cancelled": "Cette liste a été arrêtée entre-temps.",
  "notice.closed_expired": "Le lien a expiré entre-temps.",
  "notice.not_arrived_title": "Tout n’est pas arrivé",
  "notice.not_arrived": {
    one: "Cette réponse est arrivée trop tard et ne compte pas\u00a0:",
    other: "Ces {count} réponses sont arrivées trop tard et ne comptent pas\u00a0:",
  },
  "notice.update_title": "Une nouvelle version est prête",
  "notice.update": "Vos réponses restent. Cela prend une seconde.",
  "notice.update_now": "Mettre à jour",
  "notice.later": "Plus tard",
  "notice.refused_title": "Une réponse n’a pas été acceptée",
  "notice.refused": {
    one: "Merci de revoir cette étape\u00a0:",
    other: "Merci de revoir ces {count} étapes\u00a0:",
  },
  "notice.signed_out_title": "Vous êtes déconnecté",
  "notice.not_keeping_title": "Ce navigateur ne garde rien",
  "notice.not_keeping":
    "Vos réponses sont envoyées aussitôt, mais rien n’est gardé sur cet appareil. Ne fermez pas cette page avant de voir «\u00a0Enregistré\u00a0».",

  // --- what is wrong
  "problem.summary": { one: "Il y a un problème", other: "Il y a {count} problèmes" },
  "problem.required": "Cette étape attend une réponse.",
  "problem.choose_one": "Choisissez l’une des options.",
  "problem.number": "Saisissez un nombre, par exemple {example}.",
  "problem.number_ambiguous": "Saisissez le nombre sans séparateur de milliers.",
  "problem.whole_number": "Saisissez un nombre entier.",
  "problem.out_of_range": "C’est trop petit ou trop grand.",
  "problem.at_least": "Saisissez {min} ou plus.",
  "problem.at_most": "Saisissez {max} ou moins.",
  "problem.between": "Saisissez une valeur de {min} à {max}.",
  "problem.too_many_decimals": {
    one: "Au plus {count} décimale.",
    other: "Au plus {count} décimales.",
  },
  "problem.unknown_option": "Cette option n’existe pas. Choisissez-en une autre.",
  "problem.duplicate_option": "Chaque option ne peut être choisie qu’une fois.",
  "problem.too_few": { one: "Choisissez-en au moins {count}.", other: "Choisissez-en au moins {count}." },
  "problem.too_many": { one: "Choisissez-en au plus {count}.", other: "Choisissez-en au plus {count}." },
  "problem.too_long": {
    one: "C’est trop long. Au plus {count} caractère.",
    other: "C’est trop long. Au plus {count} caractères.",
  },
  "problem.invalid_text": "Un caractère ne peut pas être enregistré. Merci de saisir le texte à nouveau.",
  "problem.blank": "Ce champ ne peut pas rester vide.",
  "problem.name_missing": "Saisissez votre nom.",
  "problem.email": "Saisissez une adresse e-mail comme name@example.com.",
  "problem.date": "Saisissez une date qui existe.",
  "problem.time": "Saisissez une heure de 00:00 à 23:59.",
  "problem.datetime": "Saisissez une date et une heure.",
  "problem.signature": "Pour signer, saisissez votre nom.",
  "problem.identity_required": "Dites-nous d’abord qui vous êtes.",
  "problem.geo_required": "Ajoutez votre position.",
  "problem.geo": "Cette position ne peut pas être juste. Réessayez.",
  "problem.skip_not_allowed": "Cette étape ne peut pas être passée.",
  "problem.not_applicable": "Cette étape n’est plus nécessaire.",
  "problem.too_large": "L’ensemble des réponses est trop long. Raccourcissez celle-ci.",
  "problem.photos_missing": { one: "Il manque {count} photo.", other: "Il manque {count} photos." },
  "problem.photos_too_many": {
    one: "Au plus {count} photo ici.",
    other: "Au plus {count} photos ici.",
  },
  "problem.photos_full": "Il n’y a plus de place pour d’autres photos.",
  "problem.photo_not_an_image": "Ce fichier n’est pas une photo.",
  "problem.photo_unsupported": "Ce type d’image n’est pas utilisable. Utilisez JPEG, PNG, WebP ou HEIC.",
  "problem.photo_broken": "Cette photo est abîmée. Merci de la reprendre.",
  "problem.photo_too_large": "Cette photo est trop grande. Prenez-en une plus petite.",
  "problem.photo_not_read": "Cette photo est illisible. Merci d’en prendre une autre.",
  "problem.photo_lost": "Cette photo n’est plus sur cet appareil. Merci de la reprendre.",
  "problem.note_required": "Ajoutez une note sur cette réponse.",
  "problem.generic": "Cette réponse ne convient pas. Merci de la vérifier.",
};
