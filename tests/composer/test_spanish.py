"""Spanish wishes: infinitives, tú and usted, ¿questions?, commas in numbers, si and sí."""

import pytest
from tests.composer.composed import bounds, depends, labels, options, step, template, titles, types

from checklist_composer.composing import compose
from checklist_composer.verb_forms import looks_like_infinitive, verb_forms
from checklist_crds.template_types import StepType

BOOLEAN, NUMBER, PHOTO, TEXT = StepType.BOOLEAN, StepType.NUMBER, StepType.PHOTO, StepType.TEXT


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Revisar puertas, ventanas y luces", ["Revisar puertas", "Revisar ventanas", "Revisar luces"]),
        ("Comprueba puertas y ventanas", ["Comprueba puertas", "Comprueba ventanas"]),
        ("Por favor, revise los frenos y las luces", ["Revise los frenos", "Revise las luces"]),
        ("El conductor revisa frenos, luces y claxon", ["Revisa frenos", "Revisa luces", "Revisa claxon"]),
        (
            "Hay que limpiar la barra, vaciar la basura y apagar las luces",
            ["Limpiar la barra", "Vaciar la basura", "Apagar las luces"],
        ),
    ],
)
def test_what_is_listed_is_a_step_each_with_its_verb(prompt: str, expected: list[str]) -> None:
    assert labels(prompt) == expected
    assert set(types(prompt)) == {BOOLEAN}


def test_verbs_tell_the_kind_of_step() -> None:
    definition = template(
        "- Leer el nivel de agua (en litros)\n- Anotar la fecha de revisión\n- Escanear el código de barras\n"
        "- Describir el daño\n- Fregar el suelo\n- Contar las sillas\n- Fotografiar el vehículo\n- Lavarse las manos"
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
    assert step(definition, "agua").config.unit == "L"


@pytest.mark.parametrize(
    ("prompt", "word", "expected"),
    [
        ("Comprueba que la nevera esté por debajo de 5 °C", "nevera", (None, 5, "°C")),
        ("Congelador a -18 grados como máximo", "congelador", (None, -18, "°C")),
        ("Presión de los neumáticos entre 2,2 y 2,6 bar", "neumáticos", (2.2, 2.6, "bar")),
        ("Profundidad del dibujo mínimo 1,6 mm", "dibujo", (1.6, None, "mm")),
        ("pH de 7,0 a 7,4", "pH", (7.0, 7.4, None)),
        ("Cloro 0,3-0,6 mg/l", "cloro", (0.3, 0.6, "mg/L")),
        ("La temperatura de la sala de servidores no debe superar los 27 °C", "servidores", (None, 27, "°C")),
        ("Humedad entre el 40 % y el 60 %", "humedad", (40, 60, "%")),
        ("Temperatura de la cámara inferior a 4 °C", "cámara", (None, 4, "°C")),
        ("Temperatura máx. 7 grados", "temperatura", (None, 7, "°C")),
        ("Al menos 6 bar de presión", "presión", (6, None, "bar")),
    ],
)
def test_quantities_have_their_unit_and_their_bounds(
    prompt: str, word: str, expected: tuple[float | None, float | None, str | None]
) -> None:
    found = step(template(prompt), word)
    assert found.type is NUMBER
    assert bounds(found) == expected


def test_sections_have_the_names_of_the_places() -> None:
    definition = template("Cocina: fogones limpios, campana sin grasa. Baño: limpiar espejos, reponer papel.")
    assert titles(definition) == ["Cocina", "Baño"]
    assert [len(section.steps) for section in definition.sections] == [2, 2]
    assert titles(
        template("En el almacén: salidas libres, estantes firmes. En la oficina: ventanas cerradas, luz apagada.")
    ) == [
        "Almacén",
        "Oficina",
    ]


def test_questions_stay_questions_with_both_marks() -> None:
    prompt = "¿Está encendida la calefacción? ¿Funcionan todas las luces? ¿Andamio autorizado?"
    assert labels(prompt) == [
        "¿Está encendida la calefacción?",
        "¿Funcionan todas las luces?",
        "¿Andamio autorizado?",
    ]
    assert set(types(prompt)) == {BOOLEAN}


def test_open_questions_take_a_text() -> None:
    assert types("¿Qué trabajos se hicieron? ¿Quién estaba presente? ¿Qué podemos mejorar?") == [TEXT] * 3


def test_choices_have_the_writers_options() -> None:
    definition = template(
        "Estado de la escalera: bueno, desgastado o roto. Nivel de combustible (lleno, medio, vacío). "
        "¿Qué defectos hay? Selección múltiple: arañazos, abolladuras, grietas, óxido"
    )
    assert options(step(definition, "escalera")) == ["Bueno", "Desgastado", "Roto"]
    assert options(step(definition, "combustible")) == ["Lleno", "Medio", "Vacío"]
    several = step(definition, "defectos")
    assert several.type is StepType.MULTI_CHOICE
    assert options(several) == ["Arañazos", "Abolladuras", "Grietas", "Óxido"]


def test_yes_or_no_is_no_condition() -> None:
    definition = template("Embalaje intacto (sí/no), daños sí/no, observaciones")
    assert [step.type for _, step in definition.steps()] == [BOOLEAN, BOOLEAN, TEXT]
    assert all(step.condition is None for _, step in definition.steps())


def test_grades_have_their_ends() -> None:
    definition = template(
        "Valora la limpieza del 1 al 5. Califique la amabilidad del personal con 1 a 10 estrellas y "
        "la comida de 1 (mala) a 6 (muy buena)."
    )
    assert {step.type for _, step in definition.steps()} == {StepType.RATING}
    assert bounds(step(definition, "limpieza"))[:2] == (1, 5)
    assert bounds(step(definition, "amabilidad"))[:2] == (1, 10)
    assert bounds(step(definition, "comida"))[:2] == (1, 6)
    assert step(definition, "comida").config.high_label == "Muy buena"


def test_photos_are_steps_or_attached_to_one() -> None:
    definition = template("Al menos 3 fotos de los racks, kilometraje con foto, haz una foto del mostrador")
    assert step(definition, "racks").type is PHOTO
    assert step(definition, "racks").config.min == 3
    assert step(definition, "kilometraje").type is NUMBER
    assert step(definition, "kilometraje").photo
    assert step(definition, "mostrador").type is PHOTO


def test_a_signature_at_the_end_is_a_setting_and_anothers_a_step() -> None:
    assert template("Fregar el suelo, sacar la basura y firma al final").settings.signature_on_complete
    definition = template("Leer el contador, firma del inquilino")
    assert step(definition, "inquilino").type is StepType.SIGNATURE
    assert not definition.settings.signature_on_complete


def test_place_remarks_and_codes() -> None:
    definition = template("Registrar ubicación GPS, escanear el código QR, hora de llegada, observaciones")
    assert step(definition, "ubicación").geo
    assert step(definition, "código").type is StepType.SCAN
    assert step(definition, "hora").type is StepType.TIME
    remarks = step(definition, "observaciones")
    assert remarks.type is TEXT and remarks.config.multiline and not remarks.required


def test_optional_and_required_are_told_apart() -> None:
    definition = template("Revisar puertas, opcional: anotar objetos perdidos, foto del contador obligatoria")
    assert not step(definition, "objetos").required
    assert step(definition, "contador").required


def test_skipping_and_the_time_it_takes_are_settings() -> None:
    settings = template("Contar la caja, apagar las luces. Se pueden omitir pasos. Tarda unos 15 minutos.").settings
    assert settings.allow_skip
    assert settings.est_minutes == 15


@pytest.mark.parametrize(
    "prompt",
    [
        "Si la escalera está dañada, tomar dos fotos y describir el daño",
        "¿La escalera está dañada? En caso afirmativo, tomar dos fotos y describir el daño",
        "¿La escalera está dañada? Si es así, toma dos fotos y describe el daño",
    ],
)
def test_what_follows_from_a_condition_depends_on_its_question(prompt: str) -> None:
    definition = template(prompt)
    photos, text = step(definition, "fotos"), step(definition, "describ")
    assert photos.type is PHOTO and photos.config.min == 2
    assert text.type is TEXT
    assert depends(definition, photos) == ("¿La escalera está dañada?", "eq", True)
    assert depends(definition, text) == ("¿La escalera está dañada?", "eq", True)


def test_there_being_something_is_asked_for() -> None:
    definition = template("Escanear la etiqueta. Si hay daños, tomar dos fotos.")
    assert depends(definition, step(definition, "fotos")) == ("¿Hay daños?", "eq", True)
    definition = template("Escanear la etiqueta. En caso de fugas, cerrar la llave.")
    assert depends(definition, step(definition, "llave")) == ("¿Hay fugas?", "eq", True)


def test_si_no_means_that_it_is_not_so() -> None:
    definition = template("Verificar que el extintor tiene precinto. Si no tiene precinto, avisar al responsable.")
    assert depends(definition, step(definition, "avisar"))[1:] == ("eq", False)


def test_a_condition_looks_at_the_number_that_was_measured() -> None:
    definition = template(
        "Medir la temperatura de la sala. Si la temperatura es superior a 27 °C, revisar el aire y llamar al técnico."
    )
    assert depends(definition, step(definition, "aire")) == ("Medir la temperatura de la sala", "gt", 27)
    assert depends(definition, step(definition, "técnico")) == ("Medir la temperatura de la sala", "gt", 27)


def test_a_condition_looks_at_the_option_that_was_chosen() -> None:
    definition = template("Estado: bueno, desgastado o roto. Si está roto, informar al jefe.")
    assert depends(definition, step(definition, "jefe")) == ("Estado", "eq", "Roto")


def test_what_has_to_be_made_sure_is_said_once_for_all_that_follows() -> None:
    assert labels("Verificar que las ventanas estén cerradas y que la luz esté apagada") == [
        "Verificar que las ventanas estén cerradas",
        "Verificar que la luz esté apagada",
    ]


def test_a_wish_is_no_step() -> None:
    definition = template(
        "hola necesito una lista para abrir la cafeteria cada mañana: encender luces, prender la cafetera, "
        "nevera de leche max 5 grados, contar caja (importe en euros), una foto de la barra estaria bien, gracias"
    )
    own = [step.label for _, step in definition.steps()]
    assert not any("gracias" in label.casefold() or "necesito" in label.casefold() for label in own)
    assert "cafeteria" in definition.name.casefold() and "hola" not in definition.name.casefold()
    assert bounds(step(definition, "leche")) == (None, 5, "°C")
    assert step(definition, "caja").config.unit == "€"
    assert not step(definition, "barra").required


def test_an_intro_with_a_list_becomes_a_name_and_steps() -> None:
    definition = template(
        "Créame una lista de verificación para la entrega de un escenario con lectura del contador, estado (bueno, "
        "regular, malo), cuatro fotos, daños sí/no, en caso afirmativo describirlos, y firma del cliente"
    )
    assert "escenario" in definition.name
    assert [step.type for _, step in definition.steps()] == [
        NUMBER,
        StepType.CHOICE,
        PHOTO,
        BOOLEAN,
        TEXT,
        StepType.SIGNATURE,
    ]
    assert depends(definition, step(definition, "describirlos"))[1:] == ("eq", True)


@pytest.mark.parametrize(
    "prompt", ["carretilla elevadora", "apertura restaurante", "limpieza de oficinas", "parque infantil"]
)
def test_the_name_of_a_job_tells_the_language(prompt: str) -> None:
    assert compose(prompt).locale == "es"


def test_a_verb_of_the_tables_means_all_its_forms_in_instructions() -> None:
    assert {"revisar", "revisa", "revise", "revisen", "revisarlo", "reviselo"} <= set(verb_forms("es", "revisar"))
    assert {"comprobar", "comprueba", "compruebe"} <= set(verb_forms("es", "comprobar/comprueb"))
    assert {"apague", "apaguen"} <= set(verb_forms("es", "apagar"))
    assert {"coloque", "coloca"} <= set(verb_forms("es", "colocar"))
    assert {"recoge", "recoja"} <= set(verb_forms("es", "recoger"))
    assert not {"revisado", "revisión"} & set(verb_forms("es", "revisar"))


def test_a_verb_that_no_table_has_is_known_by_its_form_and_its_object() -> None:
    assert looks_like_infinitive("es", "sellar")
    assert labels("Revisar las ubres, ordeñar las vacas y abrevar los terneros") == [
        "Revisar las ubres",
        "Ordeñar las vacas",
        "Abrevar los terneros",
    ]


def test_a_condition_goes_on_to_the_end_of_its_sentence_only() -> None:
    definition = template(
        "Recibir el pescado. Si la temperatura supera los 4 °C, rechazar la mercancía. Anotar el peso."
    )
    assert depends(definition, step(definition, "rechazar"))[1:] == ("gt", 4)
    assert step(definition, "peso").condition is None
