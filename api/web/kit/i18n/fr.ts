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
  "loading.slow": "C’est un peu long. Votre connexion est peut-être lente.",

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
  "preview.link_incomplete": "Il manque une partie du lien. Pour répondre, ouvrez le lien complet de votre message.",
  "preview.keep_link":
    "Toute personne qui a le lien complet peut répondre. Ne le transmettez qu’à la personne qui doit répondre.",
  "preview.app_prompt": "C’est encore mieux dans l’application.",
  "preview.app_get": "Obtenir l’application",

  // --- identity form
  "identity.title": "Pour commencer, qui êtes\u2011vous\u202f?",
  "identity.text": "{sender} verra votre nom et votre adresse e-mail avec vos réponses.",
  "identity.name": "Votre nom",
  "identity.email": "Votre adresse e-mail",
  "identity.start": "Commencer",
  "identity.signed_in_as": "Vous répondez en tant que {name}",

  // --- the checklist
  "checklist.sent_by": "Envoyée par {sender}",
  "checklist.progress": "{answered} sur {total}",
  "checklist.progress_label": "Étapes terminées\u00a0: {answered} sur {total}",
  "checklist.required": "Obligatoire",
  "checklist.skip": "Passer",
  "checklist.skip_label": "Passer\u00a0: {label}",
  "checklist.skipped": "Étape passée",
  "checklist.answer_after_all": "Répondre",
  "checklist.clear": "Effacer la réponse",
  "checklist.clear_label": "Effacer la réponse\u00a0: {label}",
  "checklist.required_left": { one: "Encore {count} obligatoire", other: "Encore {count} obligatoires" },
  "checklist.next_gap": "Aller à la suivante",
  "checklist.to_review": "Vérifier et envoyer",
  "checklist.until": "Ouverte jusqu’au {date}",
  "checklist.steps_appeared": {
    one: "Une étape a été ajoutée\u00a0: {label}",
    other: "{count} étapes ont été ajoutées",
  },
  "checklist.steps_left": {
    one: "Une étape n’est plus nécessaire",
    other: "{count} étapes ne sont plus nécessaires",
  },
  "checklist.nothing_applies": "Il n’y a rien à remplir ici.",
  "checklist.instruction": "À lire",
  "checklist.kept": "Enregistré sur cet appareil",
  "checklist.kept_on_device": "Enregistré sur cet appareil, pas encore envoyé",
  "checklist.not_kept": "Pas encore enregistré. Vérifiez la réponse.",
  "checklist.clear_photos": {
    one: "La photo sera aussi supprimée.",
    other: "Les {count} photos seront aussi supprimées.",
  },
  "checklist.waiting": "En attente d’envoi. Gardez cette page ouverte.",
  "checklist.next": "Suivant",
  "checklist.previous": "Étape précédente",
  "checklist.one_at_a_time": "Afficher une étape à la fois",
  "checklist.list": "Afficher la liste des étapes",

  // --- all steps
  "steps.title": "Toutes les étapes",
  "steps.open_sheet": "{answered} sur {total} terminées\u00a0: afficher toutes les étapes",
  "steps.search": "Rechercher une étape",
  "steps.only_open": "Seulement les étapes à faire",
  "steps.none_open": "Il ne reste aucune étape à faire.",
  "steps.not_found": "Aucune étape ne correspond à «\u00a0{query}\u00a0».",
  "steps.answered": "Faite",
  "steps.open": "À faire",

  // --- sync
  "sync.saved": "Enregistré",
  "sync.saving": "Enregistrement…",
  "sync.offline": "Hors ligne",
  "sync.offline_waiting": { one: "Hors ligne\u00a0: {count} en attente", other: "Hors ligne\u00a0: {count} en attente" },
  "sync.attention": "À vérifier",
  "sync.saved_text": "Toutes vos réponses sont arrivées.",
  "sync.saving_text": "Vos réponses sont en route.",
  "sync.offline_text":
    "Vous pouvez continuer. Vos réponses sont enregistrées sur cet appareil et seront envoyées dès que vous serez de nouveau en ligne.",
  "sync.attention_text": "Tout n’a pas pu être envoyé. Consultez les messages ci-dessous.",
  "sync.back_online": "De nouveau en ligne",
  "sync.signed_out": "Session fermée",
  "sync.signed_out_waiting": {
    one: "Session fermée\u00a0: {count} en attente",
    other: "Session fermée\u00a0: {count} en attente",
  },
  "sync.signed_out_text":
    "Vous pouvez continuer. Vos réponses sont enregistrées sur cet appareil et seront envoyées dès votre prochaine connexion.",

  // --- controls: number
  "number.between": "De {min} à {max}",
  "number.at_least": "{min} ou plus",
  "number.at_most": "{max} ou moins",
  "number.whole": "Nombres entiers uniquement",
  "number.decimals": { one: "{count} décimale maximum", other: "{count} décimales maximum" },
  "number.sign": "Changer le signe",

  // --- controls: choice
  "choice.one": "Choisissez une option",
  "choice.any": "Plusieurs choix possibles",
  "choice.exactly": { one: "Choisissez-en {count}", other: "Choisissez-en {count}" },
  "choice.at_least": { one: "Choisissez-en au moins {count}", other: "Choisissez-en au moins {count}" },
  "choice.at_most": { one: "Choisissez-en {count} au maximum", other: "Choisissez-en {count} au maximum" },
  "choice.between": "Choisissez-en entre {min} et {max}",
  "choice.search": "Rechercher une option",
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
  "photo.have_of_needed": "{have} sur {needed} photos nécessaires",
  "photo.up_to": { one: "{count} photo maximum", other: "{count} photos maximum" },
  "photo.have": { one: "{count} photo", other: "{count} photos" },
  "photo.full": "Cette étape n’accepte plus de photos.",
  "photo.name": "Photo {number}",
  "photo.view": "Voir la photo {number}",
  "photo.remove": "Supprimer la photo {number}",
  "photo.retake": "Reprendre la photo {number}",
  "photo.kept": "En attente d’envoi",
  "photo.uploading": "Envoi… {percent}",
  "photo.sent": "Envoyée",
  "photo.refused": "Refusée",
  "photo.too_large":
    "Cette photo est trop grande pour être envoyée, et ce navigateur ne peut pas la réduire. Choisissez une photo JPEG ou reprenez la photo dans une taille plus petite.",
  "photo.making_smaller": "Cette photo est trop grande pour être envoyée. Réduction en cours…",
  "photo.made_smaller": {
    one: "La photo était trop grande pour être envoyée\u00a0: elle a été réduite.",
    other: "{count} photos étaient trop grandes pour être envoyées\u00a0: elles ont été réduites.",
  },
  "photo.no_image": "Ce fichier ne peut pas servir de photo. Utilisez JPEG, PNG, WebP ou HEIC.",
  "photo.removed": "Photo supprimée",
  "photo.no_camera": "L’appareil photo ne peut pas être utilisé ici. Vous pouvez choisir une photo à la place.",
  "photo.no_preview": "Pas d’aperçu",
  "photo.preview_later":
    "Ce navigateur ne peut pas afficher cette photo. Elle est bien enregistrée et s’affichera ici une fois envoyée.",
  "photo.camera_app": "Utiliser l’application Appareil photo",

  // --- controls: signature
  "signature.title": "Signature",
  "signature.name": "Saisissez votre nom complet",
  "signature.draw": "Dessinez votre signature",
  "signature.draw_hint": "Vous pouvez aussi signer avec le doigt, mais votre nom suffit.",
  "signature.pad": "Zone pour dessiner votre signature",
  "signature.clear": "Effacer le dessin",
  "signature.signed_by": "Signé par {name}",

  // --- controls: location
  "geo.add": "Ajouter ma position",
  "geo.why": "Cette étape demande aussi votre position. La position n’est envoyée qu’avec cette réponse.",
  "geo.why_required": "Votre position est nécessaire pour cette étape. Elle n’est envoyée qu’avec cette réponse.",
  "geo.finding": "Recherche de votre position…",
  "geo.added": "Position ajoutée",
  "geo.accuracy": "Précise à environ {metres}\u00a0m",
  "geo.accuracy_km": "Précise à environ {km}\u00a0km",
  "geo.rough": "Position approximative",
  "geo.rough_text": "Réessayez près d’une fenêtre ou dehors, ou continuez avec celle-ci.",
  "geo.update": "Actualiser la position",
  "geo.denied": "Votre navigateur ne partage pas votre position. Vous pouvez continuer sans elle.",
  "geo.denied_required":
    "Votre position est nécessaire pour cette étape. Autorisez-la pour cette page dans les réglages du navigateur, puis réessayez.",
  "geo.unavailable": "Votre position est introuvable. Réessayez près d’une fenêtre ou dehors.",
  "geo.unsupported": "Cet appareil ne peut pas déterminer sa position.",

  // --- controls: date and time
  "date.today": "Aujourd’hui",
  "time.now": "Maintenant",
  "datetime.zone": "Votre heure locale ({zone})",

  // --- controls: scan
  "scan.start": "Scanner un code",
  "scan.again": "Scanner à nouveau",
  "scan.aim": "Visez le code avec l’appareil photo.",
  "scan.type": "Saisir le code",
  "scan.no_camera": "L’appareil photo ne peut pas être utilisé ici. Saisissez le code.",

  // --- controls: an answer outside what is expected
  "flag.title": "Réponse inattendue",
  "flag.expected": "Attendu\u00a0: {expected}",
  "flag.range": "{min} à {max}",
  "flag.not_before": "pas avant le {date}",
  "flag.not_after": "pas après le {date}",
  "flag.note": "Ajouter une note",

  // --- review
  "review.title": "Vérifier vos réponses",
  "review.text": "Après l’envoi, vous ne pourrez plus rien modifier.",
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
    "Vous êtes hors ligne. Votre liste est enregistrée sur cet appareil et sera envoyée dès que vous serez de nouveau en ligne. Si vous fermez cette page, rouvrez-la à ce moment-là.",
  "review.waiting_first": {
    one: "{count} modification sera envoyée avant.",
    other: "{count} modifications seront envoyées avant.",
  },

  // --- cancel
  "cancel.open": "Je ne peux pas terminer",
  "cancel.title": "Arrêter cette liste\u202f?",
  "cancel.text": "{sender} recevra les réponses que vous avez déjà données. Vous ne pourrez pas reprendre plus tard.",
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
  "done.digest": "Code de contrôle",
  "done.digest_text":
    "Le code de contrôle prouve ce qui a été reçu. Gardez-le si vous pensez avoir besoin d’une preuve plus tard.",
  "done.copy_receipt": "Copier le reçu",
  "done.signed": "Signé par",
  "done.close": "Vous pouvez fermer cette page.",
  "done.save_receipt": "Enregistrer un reçu (PDF)",
  "done.receipt_working": "Création du reçu…",
  "done.receipt_saved": "Le reçu est enregistré.",
  "done.receipt_offline": "Il faut une connexion pour enregistrer le reçu.",
  "done.receipt_failed": "Le reçu n’a pas pu être créé. Réessayez dans un instant.",

  // --- states that end here
  "cancelled.title": "Cette liste a été arrêtée",
  "cancelled.text": "Elle n’accepte plus de réponses.",
  "cancelled.by_you": "{sender} a reçu les réponses que vous aviez données jusque-là.",
  "cancelled.reason": "Motif",
  "expired.title": "Ce lien a expiré",
  "expired.text": "La liste n’accepte plus de réponses. Demandez un nouveau lien à la personne qui vous l’a envoyée.",
  "expired.ask": "La liste n’accepte plus de réponses. Demandez un nouveau lien à {sender}.",
  "expired.since": "Il était valable jusqu’au {date}.",
  "not_found.title": "Liste introuvable",
  "not_found.text":
    "Vérifiez que vous avez ouvert le lien complet. Les longs liens sont parfois coupés dans les messages.",
  "offline_first.title": "Vous êtes hors ligne",
  "offline_first.text":
    "Cette liste n’a pas encore été ouverte sur cet appareil. La première fois, une connexion est nécessaire. Ensuite, elle fonctionne hors ligne.",
  "unreachable.title": "Indisponible pour le moment",
  "unreachable.text":
    "La liste est bien conservée, mais elle n’est pas accessible pour le moment. Nous continuons d’essayer.",

  // --- a run for members
  "members.sign_in_title": "Connectez-vous pour répondre",
  "members.sign_in_text":
    "Cette liste est réservée aux membres de «\u00a0{organization}\u00a0». Connectez-vous pour que votre nom figure avec vos réponses.",
  "members.organization": "Organisation",
  "members.sign_in": "Se connecter",
  "members.sign_in_other": "Utiliser un autre compte",
  "members.way_back": "Vous reviendrez ensuite à cette liste.",
  "members.new_tab": "La connexion se fait dans un nouvel onglet. Revenez ensuite à celui-ci.",
  "members.not_member_title": "Cette liste n’est pas pour vous",
  "members.not_member_text":
    "Seuls les membres de «\u00a0{organization}\u00a0» peuvent y répondre, et votre compte n’en fait pas partie. Demandez une invitation ou utilisez un autre compte.",
  "members.assigned_title": "Une autre personne répond déjà à cette liste",
  "members.assigned_text":
    "Un autre membre l’a ouverte en premier, et cette personne seule peut y répondre. Si c’est à vous de répondre, demandez votre propre liste.",
  "members.others_text":
    "Des réponses données sur cet appareil par un autre membre n’ont pas encore été envoyées. Cette personne doit d’abord se connecter ici. Vous pouvez aussi ouvrir votre lien sur un autre appareil.",
  "members.signed_in_as": "Compte utilisé\u00a0:",
  "members.not_sent":
    "Votre session est fermée. Vos réponses sont enregistrées sur cet appareil et seront envoyées dès votre prochaine connexion.",
  "members.waiting": {
    one: "{count} réponse de cet appareil sera envoyée quand la personne qui l’a donnée se connectera ici.",
    other: "{count} réponses de cet appareil seront envoyées quand la personne qui les a données se connectera ici.",
  },

  // --- notices
  "notice.other_device_title": "Réponse donnée sur un autre appareil",
  "notice.other_device": {
    one: "Une étape a reçu une réponse sur un autre appareil. La plus récente compte.",
    other: "{count} étapes ont reçu une réponse sur un autre appareil. Les plus récentes comptent.",
  },
  "notice.replaced": "La réponse «\u00a0{before}\u00a0» a été remplacée par «\u00a0{now}\u00a0».",
  "notice.removed": "La réponse «\u00a0{before}\u00a0» a été supprimée.",
  "notice.storage_full_title": "La mémoire de cet appareil est pleine",
  "notice.storage_full":
    "Votre dernière modification n’a pas pu être enregistrée. Libérez un peu de place, puis réessayez. Vos réponses précédentes sont bien enregistrées.",
  "notice.closed_elsewhere_title": "Liste fermée",
  "notice.closed_completed": "Cette liste a été envoyée depuis un autre appareil.",
  "notice.closed_cancelled": "Cette liste a été arrêtée.",
  "notice.closed_expired": "Le lien a expiré.",
  "notice.not_arrived_title": "Tout n’est pas arrivé",
  "notice.not_arrived": {
    one: "Cette réponse est arrivée trop tard et ne compte pas\u00a0:",
    other: "Ces {count} réponses sont arrivées trop tard et ne comptent pas\u00a0:",
  },
  "notice.update_title": "Une nouvelle version est prête",
  "notice.update": "Vos réponses sont conservées. Cela ne prend qu’une seconde.",
  "notice.update_now": "Mettre à jour",
  "notice.later": "Plus tard",
  "notice.refused_title": "Une réponse n’a pas été acceptée",
  "notice.refused": {
    one: "Merci de vérifier cette étape\u00a0:",
    other: "Merci de vérifier ces {count} étapes\u00a0:",
  },
  "notice.signed_out_title": "Votre session est fermée",
  "notice.not_keeping_title": "Ce navigateur n’enregistre pas les réponses",
  "notice.not_keeping":
    "Vos réponses sont envoyées tout de suite, mais elles ne sont pas enregistrées sur cet appareil. Ne fermez pas cette page avant de voir «\u00a0Enregistré\u00a0».",

  // --- what is wrong
  "problem.summary": { one: "Il y a un problème", other: "Il y a {count} problèmes" },
  "problem.required": "Cette étape attend une réponse.",
  "problem.choose_one": "Choisissez l’une des options.",
  "problem.number": "Saisissez un nombre, par exemple {example}.",
  "problem.number_ambiguous": "Saisissez le nombre sans séparateur de milliers, par exemple 1234.",
  "problem.whole_number": "Saisissez un nombre entier.",
  "problem.out_of_range": "C’est trop petit ou trop grand.",
  "problem.at_least": "Saisissez {min} ou plus.",
  "problem.at_most": "Saisissez {max} ou moins.",
  "problem.between": "Saisissez une valeur de {min} à {max}.",
  "problem.too_many_decimals": { one: "{count} décimale maximum.", other: "{count} décimales maximum." },
  "problem.unknown_option": "Cette option n’existe pas. Choisissez-en une autre.",
  "problem.duplicate_option": "Chaque option ne peut être choisie qu’une fois.",
  "problem.too_few": { one: "Choisissez-en au moins {count}.", other: "Choisissez-en au moins {count}." },
  "problem.too_many": { one: "Choisissez-en {count} au maximum.", other: "Choisissez-en {count} au maximum." },
  "problem.too_long": {
    one: "C’est trop long\u00a0: {count} caractère maximum.",
    other: "C’est trop long\u00a0: {count} caractères maximum.",
  },
  "problem.invalid_text":
    "Ce texte contient un caractère qui ne peut pas être enregistré. Merci de le saisir à nouveau.",
  "problem.blank": "Ce champ ne peut pas rester vide.",
  "problem.name_missing": "Saisissez votre nom.",
  "problem.email": "Saisissez une adresse e-mail comme nom@example.com.",
  "problem.date": "Saisissez une date valide.",
  "problem.time": "Saisissez une heure de 00:00 à 23:59.",
  "problem.datetime": "Saisissez une date et une heure.",
  "problem.signature": "Pour signer, saisissez votre nom.",
  "problem.identity_required": "Dites-nous d’abord qui vous êtes.",
  "problem.geo_required": "Ajoutez votre position.",
  "problem.geo": "Cette position semble incorrecte. Réessayez.",
  "problem.skip_not_allowed": "Vous ne pouvez pas passer cette étape.",
  "problem.not_applicable": "Cette étape n’est plus nécessaire.",
  "problem.too_large": "Vos réponses sont trop longues au total. Raccourcissez celle-ci.",
  "problem.photos_missing": { one: "Il manque {count} photo.", other: "Il manque {count} photos." },
  "problem.photos_too_many": { one: "{count} photo maximum ici.", other: "{count} photos maximum ici." },
  "problem.photos_full": "Cette étape n’accepte plus de photos.",
  "problem.photo_not_an_image": "Ce fichier n’est pas une photo.",
  "problem.photo_unsupported": "Ce type d’image n’est pas accepté. Utilisez JPEG, PNG, WebP ou HEIC.",
  "problem.photo_broken": "Cette photo est endommagée. Merci de la reprendre.",
  "problem.photo_too_large": "Cette photo est trop grande. Prenez-en une plus petite.",
  "problem.photo_not_read": "Cette photo est illisible. Merci d’en prendre une autre.",
  "problem.photo_lost": "Cette photo n’est plus sur cet appareil. Merci de la reprendre.",
  "problem.note_required": "Ajoutez une note à cette réponse.",
  "problem.generic": "Cette réponse ne convient pas. Merci de la vérifier.",
};
