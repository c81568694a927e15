"""Estimates of tokens, against the worked examples that the providers publish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uiproof.models.names import parse_name
from uiproof.models.tokens import image_tokens, request_tokens, text_tokens
from uiproof.models.types import Image, Message, Piece, Request, SentImage

NAMES = (
    "openai/gpt-4o",
    "openai/gpt-5-mini",
    "openai/unheard-of",
    "anthropic/claude-sonnet-4-5",
    "anthropic/unheard-of",
    "google/gemini-2.5-pro",
    "google/unheard-of",
    "compatible:http://localhost/v1#m",
)


@pytest.fixture(autouse=True)
def no_price_file(monkeypatch):
    monkeypatch.delenv("UIPROOF_PRICES", raising=False)


def sent(*sizes):
    return SentImage(*sizes[0], 1.0, tuple(Piece(w, h, "png", 1) for w, h in sizes))


@pytest.mark.parametrize(
    ("name", "size", "tokens"),
    [
        # OpenAI's guide: 4 tiles, then 6.
        ("openai/gpt-4o", (1024, 1024), 765),
        ("openai/gpt-4o", (2048, 4096), 1105),
        ("openai/gpt-4o", (512, 512), 85 + 170),
        ("openai/gpt-4.1", (1024, 1024), 765),
        ("openai/gpt-4o-mini", (128, 64), 2833 + 5667),
        ("openai/o3", (512, 512), 75 + 150),
        ("openai/gpt-5", (1024, 1024), 70 + 4 * 140),
        # OpenAI's guide: 1024 patches; and 4275 patches brought down to 33 x 44.
        ("openai/gpt-4.1-mini", (1024, 1024), 1659),
        ("openai/gpt-4.1-mini", (1800, 2400), 2353),
        ("openai/gpt-4.1-nano", (1024, 1024), 2520),
        ("openai/o4-mini", (1024, 1024), 1762),
        # As measured on bills.
        ("openai/gpt-5-mini", (256, 256), 77),
        ("openai/gpt-5-mini", (768, 1024), 922),
        ("openai/gpt-5-mini", (2048, 768), 1844),
        # Anthropic's table: 36 x 36 patches of 28 pixels.
        ("anthropic/claude-sonnet-4-5", (1000, 1000), 1296),
        ("anthropic/claude-sonnet-4-5", (200, 200), 64),
        ("anthropic/claude-sonnet-4-5", (4000, 4000), 1568),
        ("anthropic/claude-opus-4-8", (4000, 4000), 4784),
        # Google's guide: one tile; and tiles of 360 pixels, 3 x 2 of them.
        ("google/gemini-2.5-pro", (384, 384), 258),
        ("google/gemini-2.5-pro", (960, 540), 6 * 258),
        ("google/gemini-3-pro-preview", (3000, 2000), 1120),
        # A guess.
        ("compatible:http://localhost/v1#qwen", (280, 560), 200),
    ],
)
def test_pictures_count_as_published(name, size, tokens):
    assert image_tokens(parse_name(name), sent(size)) == tokens


def test_a_picture_in_pieces_counts_each_piece():
    model = parse_name("openai/gpt-4o")
    assert image_tokens(model, sent((512, 512), (512, 512), (1024, 1024))) == 255 + 255 + 765


def test_a_tall_page_at_anthropic_is_shrunk_to_its_longest_side():
    # 1568 pixels high, 335 wide: 56 x 12 patches.
    model = parse_name("anthropic/claude-3-5-sonnet-20241022")
    assert image_tokens(model, sent((1280, 6000))) == 56 * 12


@given(st.sampled_from(NAMES), st.integers(1, 20_000), st.integers(1, 20_000))
def test_every_picture_has_some_tokens_and_not_too_many(name, width, height):
    tokens = image_tokens(parse_name(name), sent((width, height)))
    assert tokens >= 1
    if not name.startswith(("compatible", "google")):
        assert tokens <= 20_000


@given(
    st.sampled_from(["openai/gpt-4.1-mini", "openai/gpt-5.4"]),
    st.integers(1, 9000),
    st.integers(1, 9000),
)
def test_patches_never_exceed_their_budget(name, width, height):
    most = {"openai/gpt-4.1-mini": 1536 * 1.62, "openai/gpt-5.4": 2500 * 1.2}[name]
    assert image_tokens(parse_name(name), sent((width, height))) <= most + 1


def test_texts_count_a_quarter_of_their_characters():
    assert text_tokens("") == 0
    assert text_tokens("a") == 1
    assert text_tokens("<div class='card'>Hello</div>" * 100) == 725


def test_chinese_japanese_and_korean_count_a_token_a_character():
    assert text_tokens("設計圖" * 10) == 30
    assert text_tokens("デザイン") == 4
    assert text_tokens("디자인") == 3
    assert text_tokens("設計 four") == 2 + 2


@given(st.text(), st.text())
def test_longer_texts_never_count_less(first, second):
    assert text_tokens(first + second) >= text_tokens(first)
    assert text_tokens(first + second) <= text_tokens(first) + text_tokens(second)


def test_a_request_is_its_texts_and_its_pictures():
    model = parse_name("openai/gpt-4o")
    request = Request(
        (
            Message("system", ("You write HTML.",)),
            Message("user", (Image(b""), "Rebuild this page, please.")),
        )
    )
    texts = 2 * 4 + text_tokens("You write HTML.") + text_tokens("Rebuild this page, please.")
    assert request_tokens(model, request) == texts
    assert request_tokens(model, request, [sent((1024, 1024))]) == texts + 765
