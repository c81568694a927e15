"""Names of models: parsed, shown without secrets, and matched with the right key."""

import base64
import json
import os
import pickle
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from uiproof.errors import MissingDependencyError, UsageError
from uiproof.models.names import (
    EXAMPLES,
    Endpoint,
    api_key,
    is_model_name,
    is_official,
    key_variable,
    parse_name,
    redacted,
    redacted_json,
    require_key,
    secrets,
)

VARIABLES = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "DASHSCOPE_API_KEY",
    "UIPROOF_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
    "GOOGLE_GEMINI_BASE_URL",
)

MODELS = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="#"), min_size=1, max_size=30
)
HOSTS = st.sampled_from(["localhost", "10.0.0.7", "[::1]", "[2001:db8::2]", "models.example.org"])
PORTS = st.one_of(st.just(""), st.integers(1, 65535).map(lambda port: f":{port}"))
PATHS = st.sampled_from(["", "/v1", "/api/v1", "/serve/1/v1"])
SECRETS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$*+,/;=&?#@ %é", min_size=8, max_size=40)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "endpoint"),
    [
        ("openai/gpt-4o", Endpoint("openai", "gpt-4o", "https://api.openai.com/v1")),
        (
            "anthropic/claude-sonnet-4-5",
            Endpoint("anthropic", "claude-sonnet-4-5", "https://api.anthropic.com"),
        ),
        (
            "google/gemini-2.5-pro",
            Endpoint("google", "gemini-2.5-pro", "https://generativelanguage.googleapis.com"),
        ),
        (
            "compatible:http://localhost:8000/v1#org/model: a b",
            Endpoint("compatible", "org/model: a b", "http://localhost:8000/v1"),
        ),
        ("compatible:https://[::1]:80/v1#m", Endpoint("compatible", "m", "https://[::1]:80/v1")),
        (
            "openai/ft:gpt-4o:org::x",
            Endpoint("openai", "ft:gpt-4o:org::x", "https://api.openai.com/v1"),
        ),
    ],
)
def test_a_name_says_provider_model_and_address(name, endpoint):
    assert parse_name(name) == endpoint
    assert endpoint.name == name == str(endpoint)
    assert is_model_name(name)


@given(MODELS, HOSTS, PORTS, PATHS, st.sampled_from(["http", "https"]))
def test_compatible_names_survive_a_round_trip(model, host, port, path, scheme):
    name = f"compatible:{scheme}://{host}{port}{path}#{model}"
    endpoint = parse_name(name)
    assert (endpoint.name, endpoint.model) == (name, model)
    assert parse_name(endpoint.name) == endpoint
    assert endpoint.full_url == endpoint.base_url


@given(st.sampled_from(["openai", "anthropic", "google"]), MODELS)
def test_official_names_survive_a_round_trip(provider, model):
    endpoint = parse_name(f"{provider}/{model}")
    assert (endpoint.provider, endpoint.model) == (provider, model)
    assert parse_name(endpoint.name) == endpoint


@given(SECRETS, SECRETS, SECRETS, HOSTS)
def test_secrets_in_an_address_are_in_nothing_but_the_full_url(user, password, token, host):
    user += "7"
    address = f"://{quote(user, safe='')}:{quote(password, safe='')}@{host}/v1"
    query = f"token={quote(token, safe='')}"
    endpoint = parse_name(f"compatible:https{address}/?{query}#some-model")
    shown = f"{endpoint.name} {endpoint!r} {endpoint} {endpoint.base_url}"
    for secret in (user, password, token):
        for form in (secret, quote(secret, safe="")):
            assert form not in shown
            assert form not in redacted(f"before {form} after", endpoint)
    assert quote(password, safe="") in endpoint.full_url
    assert query in endpoint.full_url
    assert parse_name(endpoint.name) == endpoint
    assert pickle.loads(pickle.dumps(endpoint)).full_url == endpoint.full_url


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpt-4o",
        "openai",
        "openai/",
        "OpenAI/gpt-4o",
        "openai/ gpt-4o",
        "openai/gpt\n4o",
        "mistral/large",
        "compatible:http://localhost:8000/v1",
        "compatible:http://localhost:8000/v1#",
        "compatible:#model",
        "compatible:localhost:8000/v1#model",
        "compatible:ftp://localhost/v1#model",
        "compatible:http://[::1/v1#model",
        "compatible:http://localhost:port/v1#model",
        "compatible:http://localhost:99999/v1#model",
        "compatible:http:///v1#model",
        "compatible:http://good.example\\@bad.example/v1#model",
        "compatible:http://local host/v1#model",
        "Compatible:http://localhost/v1#model",
    ],
)
def test_a_name_that_is_none_is_refused_with_an_example(name):
    with pytest.raises(UsageError) as caught:
        parse_name(name)
    assert any(example in str(caught.value) for example in EXAMPLES)


@pytest.mark.parametrize(
    "name",
    [
        "compatible:http://user:Hunter#2Secret@host/v1#model",
        "compatible:http://user:1#2HunterSecret@host/v1#model",
        "compatible:http://user:HunterSecret@[bad/v1#model",
        "compatible:http://user:HunterSecret@host/v1",
        "compatible:http://host/v1?key=HunterSecret",
        "http://user:HunterSecret@host/v1#model",
    ],
)
def test_a_refused_name_does_not_show_its_password(name):
    with pytest.raises(UsageError) as caught:
        parse_name(name)
    assert "Hunter" not in str(caught.value)
    assert "2Secret" not in str(caught.value)


def test_other_methods_are_not_names_of_models():
    assert not is_model_name("replay:folder")
    assert not is_model_name("oracle")
    assert not is_model_name("openai-compatible")


def test_the_base_url_comes_from_the_variable_that_the_sdk_reads(monkeypatch):
    official = parse_name("openai/gpt-4o")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://proxy.example:9/v1/")
    elsewhere = parse_name("openai/gpt-4o")
    assert (elsewhere.provider, elsewhere.base_url) == ("openai", "http://proxy.example:9/v1")
    assert elsewhere != official
    assert elsewhere.name == official.name
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://proxy.example:10")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://me:Sesame99@proxy.example:11")
    assert parse_name("anthropic/c").base_url == "http://proxy.example:10"
    google = parse_name("google/g")
    assert google.base_url == "http://proxy.example:11"
    assert "Sesame99" in google.full_url
    assert redacted("Sesame99") == "[key]"
    monkeypatch.setenv("OPENAI_BASE_URL", "proxy.example")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL is not a web address"):
        parse_name("openai/gpt-4o")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/claude-opus-4-5", "ANTHROPIC_API_KEY"),
        ("google/gemini-2.5-pro", "GEMINI_API_KEY"),
        ("google/gemini-2.5-pro", "GOOGLE_API_KEY"),
        ("compatible:https://openrouter.ai/api/v1#qwen/x", "OPENROUTER_API_KEY"),
        ("compatible:https://dashscope-intl.aliyuncs.com/v1#qwen", "DASHSCOPE_API_KEY"),
        ("compatible:https://dashscope.aliyuncs.com/v1#qwen", "DASHSCOPE_API_KEY"),
        ("compatible:http://localhost:8000/v1#m", "UIPROOF_API_KEY"),
        ("compatible:https://openrouter.ai.evil.example/v1#m", "UIPROOF_API_KEY"),
        ("compatible:https://evilopenrouter.ai/v1#m", "UIPROOF_API_KEY"),
        ("compatible:https://dashscope.aliyuncs.com.evil.example/v1#m", "UIPROOF_API_KEY"),
    ],
)
def test_each_endpoint_gets_its_own_key_and_no_other(monkeypatch, name, variable):
    endpoint = parse_name(name)
    family = {"GEMINI_API_KEY", "GOOGLE_API_KEY"} if variable.startswith("G") else {variable}
    for other in VARIABLES:
        if other.endswith(("KEY", "TOKEN")) and other not in family:
            monkeypatch.setenv(other, f"wrong-{other}")
    assert api_key(endpoint) is None
    monkeypatch.setenv(variable, " the-right-key\n")
    assert api_key(endpoint) == require_key(endpoint) == "the-right-key"


def test_an_endpoint_names_the_variable_of_its_key():
    assert key_variable(parse_name("google/gemini-2.5-pro")) == "GEMINI_API_KEY"
    assert key_variable(parse_name("compatible:http://localhost/v1#m")) == "UIPROOF_API_KEY"


def test_an_endpoint_is_official_at_its_providers_own_address(monkeypatch):
    assert is_official(parse_name("openai/gpt-4o"))
    assert not is_official(parse_name("compatible:https://api.openai.com/v1#gpt-4o"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert not is_official(parse_name("openai/gpt-4o"))


def test_a_missing_key_is_explained_with_the_command_that_sets_it():
    with pytest.raises(MissingDependencyError, match=r"export ANTHROPIC_API_KEY="):
        require_key(parse_name("anthropic/claude-opus-4-5"))
    with pytest.raises(MissingDependencyError, match=r"export OPENROUTER_API_KEY="):
        require_key(parse_name("compatible:https://openrouter.ai/api/v1#x"))
    assert require_key(parse_name("compatible:http://localhost:8000/v1#m")) == "none"


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-Söme-key")
    with pytest.raises(UsageError) as caught:
        require_key(parse_name("openai/gpt-4o"))
    assert "Söme" not in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_a_key_is_blotted_out_in_every_form_in_which_programs_write_it(
    monkeypatch, key, before, after
):
    key = key.strip()
    assume(len(key) >= 8)
    monkeypatch.setenv("UIPROOF_API_KEY", key)
    raw = key.encode()
    inside = base64.b64encode(b"x" * len(before) + raw + b":").decode()
    forms = {
        key,
        quote(key),
        quote(key, safe=""),
        quote_plus(key),
        re.sub("%..", lambda code: code[0].lower(), quote(key, safe="")),
        json.dumps(key)[1:-1],
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
        base64.b64encode(b"user:" + raw).decode(),
    }
    for form in forms:
        shown = redacted(f"{before}{form}{after}")
        assert form not in shown
        assert "[key]" in shown
    # In the middle of something longer, a few characters at its borders may be left.
    shown = redacted(inside)
    assert "[key]" in shown
    assert len(shown) <= len("[key]") + len(base64.b64encode(b"x" * len(before))) + 8


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SECRETS, SECRETS)
def test_secrets_that_overlap_are_all_removed(monkeypatch, first, second):
    first, second = f"K{first}K", f"K{second}K"
    monkeypatch.setenv("OPENAI_API_KEY", first)
    monkeypatch.setenv("UIPROOF_API_KEY", first + second)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "K" + second)
    text = f"a {first} b {first}{second} c K{second} {first}{first}{second}"
    shown = redacted(text)
    assert first not in shown
    assert second not in shown
    assert shown.startswith("a [key] b [key] c [key] ")


def test_overlapping_secrets_leave_no_rest(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "abcd1234")
    monkeypatch.setenv("UIPROOF_API_KEY", "abcd1234efgh")
    monkeypatch.setenv("GEMINI_API_KEY", "1234efghIJKL")
    assert redacted("<abcd1234efghIJKL> <abcd1234efgh> <abcd1234>") == "<[key]> <[key]> <[key]>"


def test_a_key_of_odd_bytes_is_no_trouble(monkeypatch):
    monkeypatch.setenv("UIPROOF_API_KEY", os.fsdecode(b"key-\xff\xfe-1234"))
    assert redacted("key-%FF%FE-1234 fine") == "[key] fine"


def test_json_is_cleaned_at_every_level(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-0123456789")
    dirty = {"a": ["sk-live-0123456789", {"sk-live-0123456789": 1.5}], "b": (None, True, "fine")}
    assert redacted_json(dirty) == {"a": ["[key]", {"[key]": 1.5}], "b": [None, True, "fine"]}


def test_json_of_any_depth_is_no_trouble(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-0123456789")
    value = "sk-live-0123456789"
    for _ in range(5000):
        value = [value]
    assert "sk-live" not in json.dumps(redacted_json(value))


def test_ordinary_words_are_not_taken_for_secrets(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("UIPROOF_API_KEY", "EMPTY")
    monkeypatch.setenv("GEMINI_API_KEY", "abc")
    endpoint = parse_name("compatible:https://admin:Pa55word@host/v1?api-version=2024-02-01#m")
    text = "display: none; EMPTY abc admin 2024-02-01"
    assert redacted(text, endpoint) == text
    assert redacted("Pa55word", endpoint) == "[key]"
    assert "none" not in secrets(endpoint)


def test_a_token_in_place_of_a_user_is_a_secret():
    endpoint = parse_name("compatible:https://tok-123456@host/v1#m")
    assert redacted("x tok-123456 y", endpoint) == "x [key] y"
