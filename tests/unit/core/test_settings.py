"""The settings of both programs: one model, one line for whatever is wrong, and never a secret in it."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from checklist_api.settings.service import Settings as ApiSettings
from checklist_api.settings.service import help_text as api_help
from checklist_crds.settings import names
from checklist_crds.settings.declaring import Variable, variables
from checklist_crds.settings.reading import InvalidSetting
from checklist_dev.generate import settings_docs
from checklist_dev.local.certificates import credentials_in
from checklist_operator.settings import Settings as OperatorSettings
from checklist_operator.settings import help_text as operator_help

KEY = base64.b64encode(bytes(range(32))).decode()
SECRET = "s3cr3t-of-the-test"
AUTHORITIES = "a file with certificates"
GOOD = {"CHECKLISTS_NAMESPACE": "checklists", "CHECKLISTS_SERVER_KEY": KEY, "CHECKLISTS_SEALING_KEYS": f"k1:{KEY}"}
BOTH = pytest.mark.parametrize("program", [ApiSettings, OperatorSettings], ids=["API", "operator"])
Program = type[ApiSettings] | type[OperatorSettings]
OIDC = {"OIDC_ISSUER": "https://login.example", "OIDC_CLIENT_ID": "c"}
MODEL = {"MODEL_URL": "https://models.example", "MODEL_NAME": "m"}


def prefixed(given: dict[str, str]) -> dict[str, str]:
    return {f"CHECKLISTS_{name}": value for name, value in given.items()}


def problems(program: Program, **environment: str) -> tuple[str, ...]:
    with pytest.raises(InvalidSetting) as refused:
        program.from_environment(environment)
    assert "\n" not in str(refused.value)
    return refused.value.problems


@BOTH
def test_both_programs_take_the_same_words_for_a_switch(program: Program) -> None:
    name = "CHECKLISTS_ALLOW_INSECURE_TARGETS"
    for on in ("1", "true", "YES", "On"):
        assert program.from_environment(GOOD | {name: on}).allow_insecure_targets
    for off in ("0", "False", "no", "OFF", " "):
        assert not program.from_environment(GOOD | {name: off}).allow_insecure_targets
    assert problems(program, **GOOD, **{name: "perhaps"}) == (f"{name} must be 1 or 0, not 'perhaps'",)


@BOTH
def test_all_problems_are_in_one_line(program: Program) -> None:
    found = problems(
        program,
        CHECKLISTS_NAMESPACE="checklists",
        CHECKLISTS_SERVER_KEY="c2hvcnQ=",
        CHECKLISTS_LOG_LEVEL="loud\nand clear",
        CHECKLISTS_RATE_LIMTI="5/s",
    )
    assert sorted(found) == [
        "CHECKLISTS_LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, not 'loud\\nand clear'",
        "CHECKLISTS_RATE_LIMTI is not a setting (did you mean CHECKLISTS_RATE_LIMIT?)",
        "CHECKLISTS_SEALING_KEYS is not set (nor CHECKLISTS_SEALING_KEYS_FILE)",
        "CHECKLISTS_SERVER_KEY must be base64 of 32 bytes",
    ]


@BOTH
def test_an_unknown_name_stops_the_start_without_its_value_and_those_of_other_programs_do_not(program: Program) -> None:
    of_tools = dict.fromkeys(names.TOOLS, "1")
    of_the_other = names.OPERATOR if program is ApiSettings else names.API
    assert program.from_environment(GOOD | of_tools | dict.fromkeys(of_the_other, "?"))
    [problem] = problems(program, **GOOD, CHECKLISTS_SERVER_KEYS=SECRET)
    assert problem == "CHECKLISTS_SERVER_KEYS is not a setting (did you mean CHECKLISTS_SERVER_KEY?)"
    assert problems(program, **GOOD, CHECKLISTS_XYZZY_PLUGH=SECRET) == ("CHECKLISTS_XYZZY_PLUGH is not a setting",)


@BOTH
def test_what_kubernetes_sets_for_services_is_no_setting(program: Program) -> None:
    of_services = {
        **{"SERVICE_HOST": "10.96.1.2", "SERVICE_PORT": "80", "SERVICE_PORT_HTTP": "80", "PORT": "tcp://10.96.1.2:80"},
        **{"PORT_80_TCP": "tcp://10.96.1.2:80", "PORT_80_TCP_ADDR": "10.96.1.2", "PORT_80_TCP_PROTO": "tcp"},
        **{"API_SERVICE_HOST": "10.96.1.3", "API_PORT": "tcp://10.96.1.3:80"},
        **{"OPERATOR_PORT": "tcp://10.96.1.4:8081", "OPERATOR_PORT_8081_TCP_PORT": "8081"},
    }
    settings = program.from_environment(GOOD | prefixed(of_services))
    assert (settings.port if isinstance(settings, ApiSettings) else settings.health_port) in (8080, 8081)
    # A plain number was written by a person.
    [found] = problems(program, **GOOD, **prefixed(of_services | {"API_PORT": "8080"}))
    assert found.startswith("CHECKLISTS_API_PORT is not a setting")


@BOTH
@pytest.mark.parametrize("name", ["CHECKLISTS_SERVER_KEY", "CHECKLISTS_SEALING_KEYS"])
def test_keys_come_from_one_source(program: Program, name: str, tmp_path: Path) -> None:
    (file := tmp_path / "key").write_text(f"{GOOD[name]}\n")
    rest = {other: value for other, value in GOOD.items() if other != name}
    settings = program.from_environment(rest | {f"{name}_FILE": str(file)})
    assert [held.variable for held in settings.files] == [f"{name}_FILE"]
    assert problems(program, **GOOD, **{f"{name}_FILE": str(file)}) == (
        f"{name} and {name}_FILE are both set: only one of them may be",
    )
    assert KEY not in repr(settings) + str(settings) + repr(settings.files)


@BOTH
def test_a_file_that_cannot_be_used_is_named_and_not_quoted(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "key"
    rest = {name: value for name, value in GOOD.items() if name != "CHECKLISTS_SERVER_KEY"}
    for content, why in (
        (None, "cannot be read: No such file or directory"),
        (b"", "is empty"),
        (b"\xff\xfe\x00", "holds no text"),
        (SECRET.encode(), "must be base64 of 32 bytes"),
        (f"{KEY},{KEY}".encode(), "must not hold the same key twice"),
    ):
        if content is not None:
            file.write_bytes(content)
        [problem] = problems(program, **rest, CHECKLISTS_SERVER_KEY_FILE=str(file))
        assert problem == f"CHECKLISTS_SERVER_KEY_FILE: {file} {why}"


HTTP_MODEL = MODEL | {"MODEL_URL": "http://models", "MODEL_CA_FILE": AUTHORITIES}
CONTRADICTIONS: list[tuple[dict[str, str], str]] = [
    ({"OIDC_ISSUER": "https://login.example"}, "OIDC_CLIENT_ID is not set, but OIDC_ISSUER is"),
    ({"LOCAL_ACCOUNTS": "0"}, "LOCAL_ACCOUNTS is 0 and OIDC_ISSUER is not set"),
    ({"SESSION_HOURS": "1", "SESSION_IDLE_MINUTES": "61"}, "SESSION_IDLE_MINUTES is longer than SESSION_HOURS"),
    ({"REDIS_URL": f"redis://:{SECRET}@redis", "REDIS_PASSWORD": SECRET}, "REDIS_URL has a password, and"),
    (OIDC | {"OIDC_ISSUER": "http://localhost:9", "OIDC_CA_FILE": AUTHORITIES}, "OIDC_CA_FILE is set, but OIDC_ISSUER"),
    ({"REDIS_URL": "redis://redis", "REDIS_CA_FILE": AUTHORITIES}, "REDIS_CA_FILE is set, but REDIS_URL does not"),
    (HTTP_MODEL, "MODEL_CA_FILE is set, but MODEL_URL does not begin with https://"),
    (MODEL | {"MODEL_TOKENS_PER_DAY": "500", "MODEL_MAX_TOKENS": "501"}, "MODEL_TOKENS_PER_DAY is 500, but"),
    ({"MODEL_URL": "https://models.example"}, "MODEL_NAME is not set, but MODEL_URL is"),
    (MODEL | {"MODEL_COST_PER_DAY": "5"}, "MODEL_COST_PER_DAY needs MODEL_PRICES"),
    (MODEL | {"MODEL_LIMIT": "60/h 30/day"}, "MODEL_LIMIT must not allow more in an hour (60) than in a day (30)"),
    ({"HOST": "0.0.0.0"}, "BASE_URL is not set, but HOST is 0.0.0.0"),
    (OIDC | {"BASE_URL": "http://checklists.example"}, "OIDC_ISSUER is set, but BASE_URL is not https://"),
    (OIDC | {"OIDC_ISSUER": "http://login.example"}, "OIDC_ISSUER must begin with https://"),
    (OIDC | {"OIDC_ISSUER": "https://login.example?x=1"}, "OIDC_ISSUER must be https://host, optionally with a path"),
    (OIDC | {"OIDC_SCOPES": "email"}, "OIDC_SCOPES must be words separated by spaces, including openid"),
]
"""Settings and the beginnings of messages, without the prefix CHECKLISTS_ of their names."""


@pytest.mark.parametrize(("given", "message"), CONTRADICTIONS)
def test_settings_that_contradict_each_other_stop_the_api(given: dict[str, str], message: str, tmp_path: Path) -> None:
    authorities = str(credentials_in(tmp_path).authority)
    given = {name: authorities if value == AUTHORITIES else value for name, value in given.items()}
    [problem] = problems(ApiSettings, **GOOD, **prefixed(given))
    assert problem.startswith("CHECKLISTS_")
    assert problem.replace("CHECKLISTS_", "").startswith(message)
    assert SECRET not in problem


@BOTH
def test_what_belongs_to_something_that_is_not_set_up_stops_the_start(program: Program, tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("x")
    grouped = [one for one in variables(program) if one.group.asked_by is not None]
    assert bool(grouped) is (program is ApiSettings)
    for variable in grouped:
        asked_by = variable.group.prefix + str(variable.group.asked_by).upper()
        for name in (variable.name, f"{variable.name}_FILE") if variable.secret else (variable.name,):
            if name != asked_by:
                assert problems(program, **GOOD, **{name: str(file)}) == (f"{name} is set, but {asked_by} is not",)


@BOTH
def test_the_installation_s_own_namespace_is_always_served(program: Program) -> None:
    name = "CHECKLISTS_WATCH_NAMESPACES"
    assert problems(program, **GOOD, **{name: "one, two"}) == (
        f"{name} leaves out checklists, which is CHECKLISTS_NAMESPACE",
    )
    assert program.from_environment(GOOD | {name: "one,checklists"}).watch_namespaces == ("one", "checklists")


def test_an_exception_is_smaller_than_what_it_is_from() -> None:
    denied = {"CHECKLISTS_DENIED_ADDRESSES": "10.0.0.0/8"}
    [found] = problems(OperatorSettings, **GOOD, **denied, CHECKLISTS_ALLOWED_ADDRESSES="0.0.0.0/0")
    assert found == "CHECKLISTS_ALLOWED_ADDRESSES has 0.0.0.0/0, which is all of the 10.0.0.0/8 that are denied"
    assert OperatorSettings.from_environment(GOOD | denied | {"CHECKLISTS_ALLOWED_ADDRESSES": "10.1.0.0/16"})


@BOTH
def test_keys_of_a_bucket_come_in_pairs_and_with_a_bucket(program: Program) -> None:
    name, secret = "CHECKLISTS_S3_ACCESS_KEY_ID", "CHECKLISTS_S3_SECRET_ACCESS_KEY"
    both, bucket = {name: "AKIA", secret: SECRET}, {"CHECKLISTS_PHOTO_STORE": "s3://photos"}
    for given, missing in ((name, secret), (secret, name)):
        found = problems(program, **GOOD, **bucket, **{given: both[given]})
        assert found == (f"{given} is set, but {missing} is not",)
    assert problems(program, **GOOD, **both) == (f"{name} is set, but no store begins with s3://",)
    for store in ("CHECKLISTS_PHOTO_STORE", "CHECKLISTS_ARCHIVE_STORE"):
        settings = program.from_environment(GOOD | both | {store: "s3://bucket/folder"})
        assert settings.s3_keys is not None
        assert SECRET not in repr(settings) + repr(settings.s3_keys)


def test_a_retired_setting_stops_the_operator_and_the_message_says_what_to_do() -> None:
    [found] = problems(OperatorSettings, **GOOD, CHECKLISTS_SHARD="1/3")
    assert found == (
        "CHECKLISTS_SHARD is not a setting any more: "
        "one operator does all of the work; end those of other shards before you start this version"
    )


def test_a_redis_url_is_not_repeated_since_it_may_hold_a_password() -> None:
    for text in ("http://h", f"redis://:{SECRET}@", f"redis://user:{SECRET}@h:port/1"):
        [problem] = problems(ApiSettings, **GOOD, CHECKLISTS_REDIS_URL=text)
        assert SECRET not in problem
    good = ApiSettings.from_environment(GOOD | {"CHECKLISTS_REDIS_URL": f"redis://u:{SECRET}@redis.example:6379/1"})
    assert SECRET not in repr(good) + str(good) + f"{good.sign_in.redis}"
    assert good.sign_in.redis is not None
    assert good.sign_in.redis.current_password() == SECRET


def test_numbers_may_be_written_as_helm_writes_them_and_a_part_of_the_deliveries_is_not_more_than_all() -> None:
    written = {"MAX_DELIVERIES": "1e+06", "PHOTO_ORPHAN_SECONDS": "1.728e+06"}
    settings = OperatorSettings.from_environment(GOOD | prefixed(written))
    assert (settings.limits.total, settings.photo_orphan_after_s) == (1_000_000, 1_728_000)
    for name in ("MAX_DELIVERIES_PER_HOST", "MAX_DELIVERIES_PER_ORGANIZATION"):
        [problem] = problems(OperatorSettings, **GOOD, **prefixed({name: "9", "MAX_DELIVERIES": "8"}))
        assert problem == f"CHECKLISTS_{name} is 9, but CHECKLISTS_MAX_DELIVERIES is 8: it cannot be more"
    model = ApiSettings.from_environment(GOOD | prefixed(MODEL | {"MODEL_TOKENS_PER_DAY": "2e+06"})).model
    assert model is not None
    assert model.tokens_per_day == 2_000_000


@BOTH
def test_a_number_is_within_its_bounds_or_named_with_them(program: Program) -> None:
    bounded = [one for one in variables(program) if one.type in (int, float) and one.bounds]
    assert len(bounded) > 5
    for variable in bounded:
        environment = GOOD | prefixed(OIDC | MODEL | {"REDIS_URL": "redis://h"})
        for wrong in ("-1", "many", "1e12", "nan", "inf", "0x10", "1_000"):
            [problem] = problems(program, **environment, **{variable.name: wrong})
            assert problem.startswith(f"{variable.name} must be a "), problem
            assert re.search(r"from [\d.]+ to \d+, not|above 0, at most \d+, not", problem), problem


def test_document_names_and_chart_are_as_the_models_and_the_chart_has_no_secret() -> None:
    assert settings_docs.wrong_names() == []
    for file, text in settings_docs.outputs().items():
        assert file.read_text("utf-8") == text, "python -m checklist_dev.generate settings"
    for program, text in ((ApiSettings, api_help()), (OperatorSettings, operator_help())):
        assert [variable.name for variable in variables(program) if variable.name not in text] == []
    properties = settings_docs.chart_properties()
    assert [properties["port"][name] for name in ("type", "minimum", "maximum")] == ["integer", 1, 65535]
    assert not {"serverKey", "sealingKeys", "oidcClientSecret", "redisPassword", "modelKey"} & set(properties)
    of_the_environment = {"CHECKLISTS_" + re.sub("([A-Z])", r"_\1", name).upper() for name in properties}
    assert of_the_environment <= names.BOTH | names.API | names.OPERATOR
    api, operator = ({one.name: _shape(one) for one in variables(each)} for each in (ApiSettings, OperatorSettings))
    assert [name for name in api.keys() & operator.keys() if api[name] != operator[name]] == []


def _shape(variable: Variable) -> tuple[Any, ...]:
    return variable.type, variable.unit, variable.secret, variable.bounds, variable.given_schema


def operator_settings(**environment: str) -> OperatorSettings:
    return OperatorSettings.from_environment(GOOD | environment)


def test_by_default_nothing_private_is_dialled_and_the_system_resolves_names() -> None:
    plain = operator_settings()
    assert (plain.schedule.gaps, plain.namespace) == ((30, 120, 600, 3600), "checklists")
    assert not plain.allow_insecure_targets
    assert not plain.addresses.allow_insecure
    assert not plain.addresses.permits("10.0.0.1")
    assert plain.name_servers == ()
    named = operator_settings(CHECKLISTS_DNS_SERVERS="10.96.0.10, [fd00::a]:5353")
    assert named.name_servers == ("10.96.0.10:53", "[fd00::a]:5353")


def test_the_kubernetes_api_is_never_dialled_as_a_receiver_even_at_a_public_address() -> None:
    for api, denied in (("34.7.8.9", "34.7.8.9"), ("2a0f::1", "2a0f::1"), ("[2a0f::1]", "2a0f::1")):
        in_a_pod = operator_settings(KUBERNETES_SERVICE_HOST=api, CHECKLISTS_DENIED_ADDRESSES="20.10.0.0/16")
        assert not in_a_pod.addresses.permits(denied)
        assert not in_a_pod.addresses.permits("20.10.1.1")
        assert operator_settings().addresses.permits(denied)


WRONG: dict[Program, dict[str, list[str]]] = {
    OperatorSettings: {
        "SEALING_KEYS": ["k1:c2hvcnQ=", "k1:c2 not base64"],
        "SERVER_KEY": [base64.b64encode(b"x" * 31).decode()],
        "RETRY_GAPS": ["1,2,3"],
        "DNS_SERVERS": ["dns.example", "10.0.0.1:99999"],
        "DENIED_ADDRESSES": ["10.0.0.0/99"],
        "ALLOWED_ADDRESSES": ["hooks.example"],
    },
    ApiSettings: {
        "NAMESPACE": [""],
        "RATE_LIMIT": ["fast"],
        "SIGN_IN_RATE_LIMIT": ["often"],
        "BASE_URL": ["checklists.example", "https://a.example/api?x=1", "https://user@a.example"],
    },
}


@BOTH
def test_a_wrong_setting_is_named(program: Program) -> None:
    for name, value in ((name, value) for name, values in WRONG[program].items() for value in values):
        [problem] = problems(program, **GOOD | prefixed({name: value}))
        assert problem.startswith(f"CHECKLISTS_{name}"), problem
        assert "c2" not in problem and KEY not in problem, "a key is never repeated"


def test_the_base_url_may_have_a_path_before_all_addresses() -> None:
    prefix = ApiSettings.from_environment(GOOD | {"CHECKLISTS_BASE_URL": "https://example.com/tools/checklists/"})
    assert (prefix.base_url, prefix.path_prefix) == ("https://example.com/tools/checklists", "/tools/checklists")
