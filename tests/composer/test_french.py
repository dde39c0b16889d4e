"""French wishes: infinitives, tu and vous, elisions, a space before two-part marks, commas in numbers."""

import pytest
from tests.composer.composed import bounds, depends, labels, options, step, template, titles, types

from checklist_composer.composing import compose
from checklist_composer.verb_forms import looks_like_infinitive, verb_forms
from checklist_crds.template_types import StepType

BOOLEAN, NUMBER, PHOTO, TEXT = StepType.BOOLEAN, StepType.NUMBER, StepType.PHOTO, StepType.TEXT


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            "Vérifier les portes, les fenêtres et les lumières",
            ["Vérifier les portes", "Vérifier les fenêtres", "Vérifier les lumières"],
        ),
        ("Vérifiez l'extincteur et l'éclairage", ["Vérifiez l'extincteur", "Vérifiez l'éclairage"]),
        ("Contrôle les freins et les feux, s'il te plaît", ["Contrôle les freins", "Contrôle les feux"]),
        (
            "Le conducteur contrôle les freins, les feux et le klaxon",
            ["Contrôle les freins", "Contrôle les feux", "Contrôle le klaxon"],
        ),
        (
            "Il faut essuyer le comptoir, vider la poubelle et éteindre les lumières",
            ["Essuyer le comptoir", "Vider la poubelle", "Éteindre les lumières"],
        ),
    ],
)
def test_what_is_listed_is_a_step_each_with_its_verb(prompt: str, expected: list[str]) -> None:
    assert labels(prompt) == expected
    assert set(types(prompt)) == {BOOLEAN}


def test_verbs_tell_the_kind_of_step() -> None:
    definition = template(
        "- Relever le niveau d'eau (en litres)\n- Noter la date de contrôle\n- Scanner le code-barres\n"
        "- Décrire le dommage\n- Laver le sol\n- Compter les chaises\n- Photographier le véhicule\n- Se laver les mains"
    )
    assert [step.type for _, step in definition.steps()] == [
        NUMBER,
        StepType.DATE,
        StepType.SCAN,
        TEXT,
        BOOLEAN,
        NUMBER,
        PHOTO,
        BOOLEAN,
    ]
    assert step(definition, "eau").config.unit == "L"


def test_a_noun_that_could_be_a_verb_is_a_noun_where_it_says_a_state() -> None:
    assert labels("Porte fermée, extincteur plombé, charge arrimée") == [
        "Porte fermée",
        "Extincteur plombé",
        "Charge arrimée",
    ]


@pytest.mark.parametrize(
    ("prompt", "word", "expected"),
    [
        ("Vérifie que le frigo est à moins de 5 °C", "frigo", (None, 5, "°C")),
        ("Congélateur à -18 degrés maximum", "congélateur", (None, -18, "°C")),
        ("Pression des pneus entre 2,2 et 2,6 bar", "pneus", (2.2, 2.6, "bar")),
        ("Profondeur des sculptures minimum 1,6 mm", "sculptures", (1.6, None, "mm")),
        ("pH de 7,0 à 7,4", "pH", (7.0, 7.4, None)),
        ("Chlore 0,3-0,6 mg/l", "chlore", (0.3, 0.6, "mg/L")),
        ("La température de la salle serveurs ne doit pas dépasser 27 °C", "serveurs", (None, 27, "°C")),
        ("Humidité comprise entre 40 % et 60 %", "humidité", (40, 60, "%")),
        ("Température de la chambre froide inférieure à 4 °C", "chambre", (None, 4, "°C")),
        ("Température max. 7 degrés", "température", (None, 7, "°C")),
        ("Pression d'au moins 6 bars", "pression", (6, None, "bar")),
        ("Vent en km/h (40 maximum)", "vent", (None, 40, "km/h")),
    ],
)
def test_quantities_have_their_unit_and_their_bounds(
    prompt: str, word: str, expected: tuple[float | None, float | None, str | None]
) -> None:
    found = step(template(prompt), word)
    assert found.type is NUMBER
    assert bounds(found) == expected


def test_sections_have_the_names_of_the_places() -> None:
    definition = template(
        "Cuisine : plaques propres, hotte sans graisse. Salle de bains : nettoyer les miroirs, remplacer le papier."
    )
    assert titles(definition) == ["Cuisine", "Salle de bains"]
    assert [len(section.steps) for section in definition.sections] == [2, 2]
    definition = template(
        "Dans l'entrepôt : allées libres, étagères stables. Au bureau : fenêtres fermées, lampe éteinte."
    )
    assert titles(definition) == ["Entrepôt", "Bureau"]


def test_questions_stay_questions() -> None:
    prompt = "Le chauffage est-il allumé ? Est-ce que toutes les lampes fonctionnent ? Échafaudage validé ?"
    assert labels(prompt) == [
        "Le chauffage est-il allumé ?",
        "Est-ce que toutes les lampes fonctionnent ?",
        "Échafaudage validé ?",
    ]
    assert set(types(prompt)) == {BOOLEAN}


def test_open_questions_take_a_text() -> None:
    assert types("Quels travaux ont été effectués ? Qui était présent ? Que pouvons-nous améliorer ?") == [TEXT] * 3


def test_choices_have_the_writers_options() -> None:
    definition = template(
        "État de l'escalier : bon, usé ou cassé. Niveau de carburant (plein, moitié, vide). "
        "Quels défauts constatez-vous ? Choix multiple : rayures, bosses, fissures, rouille"
    )
    assert options(step(definition, "escalier")) == ["Bon", "Usé", "Cassé"]
    assert options(step(definition, "carburant")) == ["Plein", "Moitié", "Vide"]
    several = step(definition, "défauts")
    assert several.type is StepType.MULTI_CHOICE
    assert options(several) == ["Rayures", "Bosses", "Fissures", "Rouille"]


def test_a_question_with_a_list_takes_several_answers() -> None:
    definition = template("Quels instruments marchent : altimètre, variomètre, compas ?")
    assert step(definition, "instruments").type is StepType.MULTI_CHOICE
    assert options(step(definition, "instruments")) == ["Altimètre", "Variomètre", "Compas"]


def test_yes_or_no_is_no_condition() -> None:
    definition = template("Emballage intact (oui/non), dommages oui/non, remarques")
    assert [step.type for _, step in definition.steps()] == [BOOLEAN, BOOLEAN, TEXT]
    assert all(step.condition is None for _, step in definition.steps())


def test_grades_have_their_ends() -> None:
    definition = template(
        "Noter la propreté de 1 à 5. Évaluez l'amabilité du personnel de 1 à 10 et "
        "le repas de 1 (mauvais) à 6 (très bon)."
    )
    assert {step.type for _, step in definition.steps()} == {StepType.RATING}
    assert bounds(step(definition, "propreté"))[:2] == (1, 5)
    assert bounds(step(definition, "amabilité"))[:2] == (1, 10)
    assert bounds(step(definition, "repas"))[:2] == (1, 6)
    assert step(definition, "repas").config.high_label == "Très bon"


def test_to_note_something_down_is_no_grade() -> None:
    definition = template("Noter le fond de caisse, noter la date de contrôle, noter le nom du livreur")
    assert [step.type for _, step in definition.steps()] == [NUMBER, StepType.DATE, TEXT]


def test_photos_are_steps_or_attached_to_one() -> None:
    definition = template("Au moins 3 photos des baies, kilométrage avec photo, prends une photo du comptoir")
    assert step(definition, "baies").type is PHOTO
    assert step(definition, "baies").config.min == 3
    assert step(definition, "kilométrage").type is NUMBER
    assert step(definition, "kilométrage").photo
    assert step(definition, "comptoir").type is PHOTO


def test_a_signature_at_the_end_is_a_setting_and_anothers_a_step() -> None:
    assert template("Laver le sol, sortir les poubelles et signature à la fin").settings.signature_on_complete
    definition = template("Relever le compteur, signature du locataire")
    assert step(definition, "locataire").type is StepType.SIGNATURE
    assert not definition.settings.signature_on_complete


def test_place_remarks_and_codes() -> None:
    definition = template("Enregistrer la position GPS, scanner le QR code, heure d'arrivée, remarques")
    assert step(definition, "position").geo
    assert step(definition, "code").type is StepType.SCAN
    assert step(definition, "heure").type is StepType.TIME
    remarks = step(definition, "remarques")
    assert remarks.type is TEXT and remarks.config.multiline and not remarks.required


def test_optional_and_required_are_told_apart() -> None:
    definition = template("Contrôler les portes, facultatif : noter les objets trouvés, photo du compteur obligatoire")
    assert not step(definition, "objets").required
    assert step(definition, "compteur").required


def test_skipping_and_the_time_it_takes_are_settings() -> None:
    prompt = "Compter la caisse, éteindre. Certaines étapes peuvent être ignorées. Durée environ 15 minutes."
    settings = template(prompt).settings
    assert settings.allow_skip
    assert settings.est_minutes == 15


@pytest.mark.parametrize(
    "prompt",
    [
        "Si l'échelle est endommagée, prendre deux photos et décrire le dommage",
        "L'échelle est endommagée ? Si oui, prendre deux photos et décrire le dommage",
        "L'échelle est endommagée ? Si c'est le cas, prenez deux photos et décrivez le dommage",
    ],
)
def test_what_follows_from_a_condition_depends_on_its_question(prompt: str) -> None:
    definition = template(prompt)
    photos, text = step(definition, "photos"), step(definition, "décri")
    assert photos.type is PHOTO and photos.config.min == 2
    assert text.type is TEXT
    assert depends(definition, photos) == ("L'échelle est endommagée ?", "eq", True)
    assert depends(definition, text) == ("L'échelle est endommagée ?", "eq", True)


def test_there_being_something_is_asked_for() -> None:
    definition = template("Scanner l'étiquette. S'il y a des dommages, prendre deux photos.")
    source, op, value = depends(definition, step(definition, "photos"))
    assert "dommages" in source and source.endswith("?")
    assert (op, value) == ("eq", True)
    definition = template("Scanner l'étiquette. En cas de fuite, fermer la vanne.")
    source, op, value = depends(definition, step(definition, "vanne"))
    assert "fuite" in source and (op, value) == ("eq", True)


def test_not_being_so_is_the_answer_no() -> None:
    definition = template("Vérifier que l'extincteur est plombé. S'il n'est pas plombé, prévenir le responsable.")
    assert depends(definition, step(definition, "prévenir"))[1:] == ("eq", False)
    definition = template("La vanne est-elle fermée ? Sinon, prévenir le responsable.")
    assert depends(definition, step(definition, "prévenir")) == ("La vanne est-elle fermée ?", "eq", False)


def test_a_condition_looks_at_the_number_that_was_measured() -> None:
    definition = template(
        "Mesurer la température de la salle. Si la température est supérieure à 27 °C, vérifier la climatisation et "
        "appeler le technicien."
    )
    assert depends(definition, step(definition, "climatisation")) == ("Mesurer la température de la salle", "gt", 27)
    assert depends(definition, step(definition, "technicien")) == ("Mesurer la température de la salle", "gt", 27)


def test_a_condition_looks_at_the_option_that_was_chosen() -> None:
    definition = template("État : bon, usé ou cassé. S'il est cassé, informer le chef.")
    assert depends(definition, step(definition, "chef")) == ("État", "eq", "Cassé")


def test_what_has_to_be_made_sure_is_said_once_for_all_that_follows() -> None:
    assert labels("Vérifier que les fenêtres sont fermées et qu'aucune lampe n'est allumée") == [
        "Vérifier que les fenêtres sont fermées",
        "Vérifier qu'aucune lampe n'est allumée",
    ]


def test_a_wish_is_no_step() -> None:
    definition = template(
        "bonjour il me faut une liste pour ouvrir le café chaque matin : allumer les lumières, démarrer la machine, "
        "frigo à lait max 5 degrés, compter la caisse (montant en euros), une photo du comptoir serait bien, merci"
    )
    own = [step.label for _, step in definition.steps()]
    assert not any("merci" in label.casefold() or "il me faut" in label.casefold() for label in own)
    assert "café" in definition.name.casefold() and "bonjour" not in definition.name.casefold()
    assert bounds(step(definition, "lait")) == (None, 5, "°C")
    assert step(definition, "caisse").config.unit == "€"
    assert not step(definition, "comptoir").required


def test_an_intro_with_a_list_becomes_a_name_and_steps() -> None:
    definition = template(
        "Crée-moi une checklist pour la remise d'une scène avec relevé du compteur, état (bon, moyen, mauvais), "
        "quatre photos, dommages oui/non, si oui les décrire, et signature du client"
    )
    assert "scène" in definition.name
    assert [step.type for _, step in definition.steps()] == [
        NUMBER,
        StepType.CHOICE,
        PHOTO,
        BOOLEAN,
        TEXT,
        StepType.SIGNATURE,
    ]
    assert depends(definition, step(definition, "décrire"))[1:] == ("eq", True)


@pytest.mark.parametrize("prompt", ["chariot élévateur", "état des lieux", "ouverture du restaurant", "aire de jeux"])
def test_the_name_of_a_job_tells_the_language(prompt: str) -> None:
    assert compose(prompt).locale == "fr"


def test_a_verb_of_the_tables_means_all_its_forms_in_instructions() -> None:
    assert {"vérifier", "vérifie", "vérifiez", "vérifions"} <= set(verb_forms("fr", "vérifier"))
    assert {"nettoyer", "nettoie", "nettoyez"} <= set(verb_forms("fr", "nettoyer"))
    assert {"rangeons", "commençons"} <= {*verb_forms("fr", "ranger"), *verb_forms("fr", "commencer")}
    assert {"remplis", "remplissez"} <= set(verb_forms("fr", "remplir"))
    assert {"attends", "attend", "attendez"} <= set(verb_forms("fr", "attendre"))


def test_a_verb_that_no_table_has_is_known_by_its_form_and_its_object() -> None:
    assert looks_like_infinitive("fr", "ébavurer")
    assert labels("Vérifier les pièces, ébavurer les bords et souffler les copeaux") == [
        "Vérifier les pièces",
        "Ébavurer les bords",
        "Souffler les copeaux",
    ]


def test_what_follows_yes_needs_no_comma() -> None:
    definition = template("Commande passée ? Si oui montant en euros et signature du client.")
    assert depends(definition, step(definition, "montant")) == ("Commande passée ?", "eq", True)
    assert depends(definition, step(definition, "signature")) == ("Commande passée ?", "eq", True)


def test_questions_of_a_list_keep_their_marks() -> None:
    assert labels("Les issues sont-elles libres, l'éclairage fonctionne-t-il, le matériel est-il rangé ?") == [
        "Les issues sont-elles libres ?",
        "L'éclairage fonctionne-t-il ?",
        "Le matériel est-il rangé ?",
    ]
