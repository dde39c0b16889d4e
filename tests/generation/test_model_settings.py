"""The model's settings, and the bounds that docs/generating.md names."""

import json
import re
from pathlib import Path

import pytest

from checklist_api.generation.language_model.allowance import AT_ONCE, AT_ONCE_OF_ONE
from checklist_api.generation.language_model.client import MAX_ANSWER_BYTES
from checklist_api.generation.language_model.failures import Reason
from checklist_api.generation.language_model.provider import MAX_CORRECTIONS
from checklist_api.generation.models import PROMPT_LENGTHS
from checklist_api.settings.language_model import Fallback, ModelSettings
from checklist_cli.commands import generate as generate_command
from checklist_composer.composing import compose
from checklist_composer.locales import LOCALES
from checklist_crds.resources.template_definition import StepType
from checklist_crds.settings.declaring import variables
from checklist_crds.settings.reading import InvalidSetting, names_of, read_group
from checklist_dev.local.certificates import credentials_in

KEY = "sk-a-key-of-the-test-0123"
LEAST = {"CHECKLISTS_MODEL_URL": "https://models.example/v1", "CHECKLISTS_MODEL_NAME": "small"}


def read(**members: str) -> ModelSettings:
    environment = LEAST | {f"CHECKLISTS_MODEL_{name}": value for name, value in members.items()}
    settings: ModelSettings | None = read_group(ModelSettings, environment)
    assert settings is not None
    return settings


def test_without_a_url_there_is_no_model_and_the_defaults_are_bounded() -> None:
    for environment in ({}, {"CHECKLISTS_MODEL_NAME": "", "CHECKLISTS_MODEL_URL": " "}):
        assert read_group(ModelSettings, environment) is None
    settings = read()
    assert (settings.limit, settings.tokens_per_day) == ((60, 300), 1_000_000)
    assert (settings.fallback, settings.current_key()) == (Fallback.COMPOSER, None)
    for limit, expected in (("off", (None, None)), ("7/day", (None, 7)), ("5/h 9/day", (5, 9)), ("", (60, 300))):
        assert read(LIMIT=limit).limit == expected


def test_every_setting_is_read(tmp_path: Path) -> None:
    key_file, certificates = tmp_path / "key", tmp_path / "ca.pem"
    key_file.write_text(f"{KEY}\n")
    certificates.write_text(credentials_in(tmp_path / "tls").authority.read_text())
    settings = read(
        URL="https://models.example/v1/",
        KEY_FILE=str(key_file),
        TIMEOUT="30",
        MAX_TOKENS="4000",
        LIMIT="5/h",
        TOKENS_PER_DAY="off",
        PRICES="0.15 0.60",
        COST_PER_DAY="2.50",
        FALLBACK="error",
        PROXY="http://proxy.example:3128",
        CA_FILE=str(certificates),
    )
    assert settings.url == "https://models.example/v1"
    assert settings.current_key() == KEY
    assert KEY not in repr(settings) + str(settings)
    assert (settings.timeout_s, settings.max_tokens) == (30, 4_000)
    assert (settings.limit, settings.tokens_per_day) == ((5, None), None)
    assert (settings.prices, settings.cost_per_day) == ((0.15, 0.6), 2.5)
    assert settings.fallback is Fallback.ERROR
    assert settings.proxy == "http://proxy.example:3128"
    assert settings.ca is not None
    assert settings.ca.pem == certificates.read_text().strip()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("URL", "ftp://models.example/v1"),
        ("URL", f"https://user:{KEY}@models.example/v1"),
        ("URL", f"https://models.example/v1?key={KEY}"),
        ("URL", "https://models.example:port/v1"),
        ("NAME", ""),
        ("KEY", f"{KEY} and more"),
        ("CA_FILE", "/no/such/file"),
        ("TIMEOUT", "301"),
        ("MAX_TOKENS", "many"),
        ("LIMIT", "60 per hour"),
        ("TOKENS_PER_DAY", "-5"),
        ("PRICES", "0.15"),
        ("COST_PER_DAY", "5.00"),
        ("FALLBACK", "nothing"),
        ("PROXY", f"http://user:{KEY}@proxy.example:3128"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_line_that_names_it_and_holds_no_secret(name: str, value: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        read(**{name: value})
    assert f"CHECKLISTS_MODEL_{name}" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert KEY not in str(refused.value)


def test_a_connection_without_tls_is_overheard_unless_it_stays_on_this_machine() -> None:
    for url in ("https://models.example", "http://127.0.0.1:8000", "http://localhost", "http://[::1]:80"):
        assert not read(URL=url).is_overheard
    assert read(URL="http://models.example/v1").is_overheard


def test_the_documentation_names_settings_that_exist_and_leads_to_all_of_them() -> None:
    known = names_of(variables(ModelSettings))
    text = (Path(__file__).parents[2] / "docs" / "generating.md").read_text()
    named = set(re.findall(r"CHECKLISTS_MODEL_[A-Z]+(?:_[A-Z]+)*", text))
    assert len(known) == 13
    assert named and named <= known
    assert "settings.md#language-model" in text


ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "generating.md").read_text(encoding="utf-8")


def test_every_reason_is_explained_and_no_other() -> None:
    assert set(re.findall(r"^\| `(model_\w+)` \|", GUIDE, re.MULTILINE)) == {reason.value for reason in Reason}


def test_the_bounds_that_it_names_are_those_of_the_code() -> None:
    assert PROMPT_LENGTHS == (4, 4_000)
    assert "4 to 4,000 characters" in GUIDE
    assert f"more than {MAX_ANSWER_BYTES // 1024} KiB" in GUIDE
    assert (AT_ONCE, AT_ONCE_OF_ONE, MAX_CORRECTIONS) == (16, 4, 2)
    assert "sixteen prompts are with the model, or four of this organization" in GUIDE
    assert "at most twice" in GUIDE
    assert all(f"`{locale}`" in GUIDE for locale in LOCALES)
    assert (generate_command.LOCALES, generate_command._LENGTHS) == (LOCALES, PROMPT_LENGTHS)


def test_the_first_example_gives_what_it_asks_for() -> None:
    found = re.search(r"-d '(\{\"prompt\": .*?\})'", GUIDE)
    assert found is not None
    template = compose(json.loads(found[1])["prompt"]).definition
    steps = [step for _, step in template.steps()]
    text = " ".join(step.label.casefold() for step in steps)
    assert all(word in text for word in ("tyres", "lights", "mirrors", "pressure", "damage"))
    (pressure,) = (step for step in steps if step.type is StepType.NUMBER)
    assert (pressure.config.min, pressure.config.max, pressure.config.unit) == (None, None, "bar")
    assert pressure.hint is not None and "2.2 to 2.6" in pressure.hint, "a limit is for the reader, and refuses nothing"
    (photos,) = (step for step in steps if step.type is StepType.PHOTO)
    assert photos.config.min == 2
    assert photos.condition is not None
    assert template.settings.signature_on_complete or any(step.type is StepType.SIGNATURE for step in steps)
