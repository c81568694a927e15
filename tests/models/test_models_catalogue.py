"""The catalogue of models: the right entry, true costs, and the user's own figures."""

import json
import os
import time

import pytest

from uiproof.errors import UsageError
from uiproof.models import catalogue
from uiproof.models.catalogue import Price, cost, facts
from uiproof.models.names import parse_name
from uiproof.models.types import Usage


@pytest.fixture(autouse=True)
def no_price_file(monkeypatch):
    monkeypatch.delenv("UIPROOF_PRICES", raising=False)


@pytest.fixture
def price_file(tmp_path, monkeypatch):
    path = tmp_path / "prices.json"
    monkeypatch.setenv("UIPROOF_PRICES", str(path))

    def write(content):
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        # So that a second file within a tick of the clock counts as another.
        write.ticks += 1
        os.utime(path, (time.time() + write.ticks, time.time() + write.ticks))
        return path

    write.ticks = 0
    return write


def known(name):
    return facts(parse_name(name))


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("openai/gpt-4o", "openai/gpt-4o"),
        ("openai/gpt-4o-2024-08-06", "openai/gpt-4o"),
        ("openai/gpt-4o-2024-05-13", "openai/gpt-4o-2024-05-13"),
        ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("openai/gpt-4o-mini-2024-07-18", "openai/gpt-4o-mini"),
        ("openai/gpt-5", "openai/gpt-5"),
        ("openai/gpt-5-2025-08-07", "openai/gpt-5"),
        ("openai/gpt-5.1", "openai/gpt-5.1"),
        ("openai/gpt-5.1-2025-11-13", "openai/gpt-5.1"),
        ("openai/gpt-5-chat-latest", "openai/gpt-5-chat"),
        ("openai/gpt-4-turbo-preview", "openai/gpt-4-turbo"),
        ("anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-20250514", "anthropic/claude-sonnet-4"),
        ("anthropic/claude-sonnet-4-0", "anthropic/claude-sonnet-4"),
        ("anthropic/claude-opus-4-1", "anthropic/claude-opus-4-1"),
        ("anthropic/claude-opus-4-5@20251101", "anthropic/claude-opus-4-5"),
        ("anthropic/claude-3-5-sonnet-latest", "anthropic/claude-3-5-sonnet"),
        ("google/gemini-2.0-flash-001", "google/gemini-2.0-flash"),
        ("google/gemini-2.0-flash-lite-001", "google/gemini-2.0-flash-lite"),
        ("google/gemini-2.5-flash-preview-09-2025", "google/gemini-2.5-flash"),
        ("google/gemini-3-pro-preview", "google/gemini-3-pro"),
        ("openai/gpt-4ofoo", ""),
        ("openai/gpt-4o-foo", ""),
        ("openai/gpt-4o-realtime-preview", ""),
        ("openai/gpt-4", ""),
        ("openai/claude-opus-4-5", ""),
        ("anthropic/claude-opus-4-9", ""),
        ("google/gemini-1.5-flash-8b", ""),
        ("google/gemini-2.5-flash-preview-tts", ""),
        ("compatible:http://localhost/v1#gpt-4o", ""),
        ("compatible:https://openrouter.ai/api/v1#openai/gpt-4o", ""),
    ],
)
def test_a_name_finds_its_entry_and_no_other(name, entry):
    assert known(name).name == entry
    assert (known(name).price is not None) == bool(entry)


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-4o",
        "openai/gpt-4o-mini",
        "openai/gpt-4.1",
        "openai/gpt-4.1-mini",
        "openai/gpt-4.1-nano",
        "openai/gpt-4-turbo",
        "openai/o1",
        "openai/o3",
        "openai/o4-mini",
        "openai/gpt-5",
        "openai/gpt-5-mini",
        "openai/gpt-5-nano",
        "openai/gpt-5.1",
        "anthropic/claude-3-haiku",
        "anthropic/claude-3-opus",
        "anthropic/claude-3-5-sonnet",
        "anthropic/claude-3-5-haiku",
        "anthropic/claude-3-7-sonnet",
        "anthropic/claude-sonnet-4",
        "anthropic/claude-opus-4",
        "anthropic/claude-opus-4-1",
        "anthropic/claude-sonnet-4-5",
        "anthropic/claude-haiku-4-5",
        "anthropic/claude-opus-4-5",
        "google/gemini-1.5-flash",
        "google/gemini-1.5-pro",
        "google/gemini-2.0-flash",
        "google/gemini-2.0-flash-lite",
        "google/gemini-2.5-flash",
        "google/gemini-2.5-flash-lite",
        "google/gemini-2.5-pro",
        "google/gemini-3-pro",
    ],
)
def test_the_models_that_people_compare_are_known(name):
    model = known(name)
    assert model.price is not None
    assert 0 < model.price.input < model.price.output
    assert model.price.cached_input is None or model.price.cached_input < model.price.input
    assert model.max_output_tokens
    assert model.image_rule
    assert model.as_of >= "2026"


def test_every_entry_is_in_order_and_says_where_it_comes_from():
    content = json.loads(catalogue._OURS.read_text())
    assert content["as_of"]
    assert content["source"]
    for name, entry in content["models"].items():
        assert known(name).name == name
        assert name.split("/")[0] in ("openai", "anthropic", "google")
        assert entry["image_rule"] in content["image_rules"]
        if "long" in entry:
            assert entry["long"]["input"] > entry["input"]


def test_some_prices_as_their_providers_publish_them():
    assert known("openai/gpt-4o").price == Price(2.5, 10, 1.25)
    assert known("anthropic/claude-sonnet-4-5").price == Price(3, 15, 0.3)
    assert known("google/gemini-2.5-pro").price == Price(1.25, 10, 0.125)


def test_which_parameters_a_model_takes():
    assert known("openai/gpt-4o").temperature
    assert not known("openai/gpt-5-mini").temperature
    assert not known("openai/o3").temperature
    assert known("anthropic/claude-opus-4-5").temperature
    assert not known("anthropic/claude-opus-4-7").temperature
    assert not known("anthropic/claude-opus-4-5").seed
    assert not known("anthropic/claude-of-the-future").seed
    assert known("google/gemini-2.5-pro").seed
    assert known("compatible:http://localhost/v1#m").temperature


def test_a_cost_is_input_and_output_at_their_prices():
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000)
    assert cost(parse_name("openai/gpt-4o"), usage) == pytest.approx(2.5 + 1.0)


def test_cached_input_has_a_price_of_its_own():
    usage = Usage(input_tokens=1000, output_tokens=0, cached_input_tokens=400)
    assert cost(parse_name("openai/gpt-4o"), usage) == pytest.approx((600 * 2.5 + 400 * 1.25) / 1e6)
    # No discount is known for gpt-4-turbo.
    assert cost(parse_name("openai/gpt-4-turbo"), usage) == pytest.approx(1000 * 10 / 1e6)


def test_more_cached_than_there_was_does_not_make_it_cheaper_than_that():
    usage = Usage(input_tokens=100, output_tokens=0, cached_input_tokens=900)
    assert cost(parse_name("openai/gpt-4o"), usage) == pytest.approx(100 * 1.25 / 1e6)


def test_long_requests_cost_more_where_the_provider_says_so():
    gemini = parse_name("google/gemini-2.5-pro")
    assert cost(gemini, Usage(200_000, 1000)) == pytest.approx((200_000 * 1.25 + 1000 * 10) / 1e6)
    assert cost(gemini, Usage(200_001, 1000)) == pytest.approx((200_001 * 2.5 + 1000 * 15) / 1e6)


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("openai/gpt-4o", Usage()),
        ("openai/gpt-4o", Usage(input_tokens=5)),
        ("openai/gpt-4o", Usage(output_tokens=5)),
        ("openai/gpt-of-the-future", Usage(5, 5)),
        ("compatible:http://localhost/v1#gpt-4o", Usage(5, 5)),
    ],
)
def test_what_is_unknown_has_no_cost(name, usage):
    assert cost(parse_name(name), usage) is None


def test_the_users_figures_are_laid_over_ours_field_by_field(price_file):
    price_file({"as_of": "2030-01-01", "models": {"openai/gpt-4o": {"input": 1}}})
    model = known("openai/gpt-4o-2024-08-06")
    assert model.price == Price(1, 10, 1.25)
    assert model.max_output_tokens == 16384
    assert model.as_of == "2030-01-01"
    assert known("openai/gpt-4o-mini").price == Price(0.15, 0.6, 0.075)


def test_the_user_may_name_servers_of_others(price_file):
    free = {"input": 0, "output": 0}
    price_file(
        {
            "models": {
                "Qwen/Qwen2.5-VL": free,
                "compatible:http://gpu:8000/v1#Qwen/Qwen2.5-VL": {"input": 2, "output": 3},
                "openai/gpt-4o": {"input": 5, "output": 6, "image_rule": "openai-tiles"},
            }
        }
    )
    assert cost(parse_name("compatible:http://localhost/v1#Qwen/Qwen2.5-VL"), Usage(9, 9)) == 0.0
    assert known("compatible:http://gpu:8000/v1#Qwen/Qwen2.5-VL").price == Price(2, 3)
    assert known("compatible:https://openrouter.ai/api/v1#openai/gpt-4o").price == Price(5, 6)


def test_the_user_may_add_models_tiers_and_image_rules(price_file):
    price_file(
        {
            "image_rules": {"mine": {"kind": "fixed", "base": 7}},
            "models": {
                "openai/gpt-9": {
                    "input": 1,
                    "output": 2,
                    "temperature": False,
                    "image_rule": "mine",
                    "long": {"above": 10, "input": 3, "output": 4},
                }
            },
        }
    )
    model = known("openai/gpt-9-2031-01-01")
    assert (model.temperature, model.image_rule.base) == (False, 7)
    assert cost(parse_name("openai/gpt-9"), Usage(11, 0)) == pytest.approx(33e-6)


def test_a_changed_price_file_is_read_again(price_file):
    price_file({"models": {"openai/gpt-4o": {"input": 1}}})
    assert known("openai/gpt-4o").price.input == 1
    price_file({"models": {"openai/gpt-4o": {"input": 2}}})
    assert known("openai/gpt-4o").price.input == 2


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        ("{}", "models"),
        ({"models": []}, "models"),
        ({"models": {}, "prices": {}}, "prices"),
        ({"models": {"m": 5}}, "models.m"),
        ({"models": {"m": {"input": "1"}}}, "models.m.input"),
        ({"models": {"m": {"input": -1}}}, "models.m.input"),
        ({"models": {"m": {"output": True}}}, "models.m.output"),
        ('{"models": {"m": {"output": NaN}}}', "models.m.output"),
        ('{"models": {"m": {"output": Infinity}}}', "models.m.output"),
        ({"models": {"m": {"outptu": 1}}}, "models.m.outptu"),
        ({"models": {"m": {"max_output_tokens": 1.5}}}, "models.m.max_output_tokens"),
        ({"models": {"m": {"seed": 1}}}, "models.m.seed"),
        ({"models": {"m": {"image_rule": "what"}}}, "models.m.image_rule"),
        ({"models": {"m": {"image_rule": []}}}, "models.m.image_rule"),
        ({"models": {"m": {"long": {"above": 1, "input": 2}}}}, "models.m.long.output"),
        ({"models": {"m": {"long": 1}}}, "models.m.long"),
        ({"models": {}, "image_rules": {"r": {"kind": "odd"}}}, "image_rules.r.kind"),
        ({"models": {}, "image_rules": {"r": {"kind": []}}}, "image_rules.r.kind"),
        ({"models": {}, "image_rules": {"r": {}}}, "image_rules.r.kind"),
        (
            {"models": {}, "image_rules": {"r": {"kind": "fixed", "base": 0.5}}},
            "image_rules.r.base",
        ),
        ({"models": {}, "as_of": 5}, "as_of"),
    ],
)
def test_a_mistake_in_the_price_file_is_named_with_file_and_field(price_file, content, field):
    path = price_file(content)
    with pytest.raises(UsageError) as caught:
        known("openai/gpt-4o")
    assert field in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_price_file_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_PRICES", str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match=r"none\.json"):
        known("openai/gpt-4o")
    monkeypatch.setenv("UIPROOF_PRICES", str(tmp_path))
    with pytest.raises(UsageError):
        known("openai/gpt-4o")
