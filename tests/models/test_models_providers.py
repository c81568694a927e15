"""The clients of all providers against a real server on loopback."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import tracemalloc
from dataclasses import replace
from email.utils import formatdate
from time import time
from typing import Any

import pytest
from PIL import Image as Pixels

from provider_servers import Fault, ProviderServer
from uiproof.models import http
from uiproof.models.images import rule_for
from uiproof.models.names import Endpoint, parse_name
from uiproof.models.providers import make_client
from uiproof.models.types import (
    AttemptError,
    Finish,
    Image,
    Message,
    Parameters,
    Reply,
    Request,
    Usage,
)

KEY = "sk-secret-0123456789abcdef"
PROVIDERS = ["openai", "compatible", "anthropic", "google"]
FORMATS = ["openai", "anthropic", "google"]  # compatible servers speak that of OpenAI
HELLO = Request((Message("user", ("hello there",)),), Parameters(seed=None))


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "UIPROOF_PRICES"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def at(server: ProviderServer, provider: Any) -> Endpoint:
    return Endpoint(provider, f"{provider}-test", server.base_url(provider))


def ask_all(
    endpoint: Endpoint,
    *requests: Request,
    timeout: float = 10.0,
    key: str = KEY,
    max_side: int | None = None,
) -> list[Reply]:
    """Send requests through one client, one after the other."""
    rule = rule_for(endpoint)
    if max_side:
        rule = replace(rule, max_side=max_side, max_side_of_many=max_side)

    async def go() -> list[Reply]:
        client = make_client(endpoint, key=key, rule=rule, timeout=timeout)
        try:
            return [await client.send(request) for request in requests]
        finally:
            await client.close()

    return asyncio.run(go())


def ask(endpoint: Endpoint, request: Request = HELLO, **options: Any) -> Reply:
    return ask_all(endpoint, request, **options)[0]


def failure(endpoint: Endpoint, request: Request = HELLO, **options: Any) -> AttemptError:
    with pytest.raises(AttemptError) as caught:
        ask(endpoint, request, **options)
    return caught.value


def picture(width: int, height: int, kind: str = "PNG") -> bytes:
    image = Pixels.linear_gradient("L").resize((width, height)).convert("RGB")
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def pixels(data: bytes) -> Pixels.Image:
    return Pixels.open(io.BytesIO(data)).convert("RGB")


# What is sent


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_plain_question_gets_its_answer(provider):
    with ProviderServer("<p>ö</p>", latency=0.05) as server:
        reply = ask(at(server, provider))
    assert (reply.text, reply.finish, reply.dropped) == ("<p>ö</p>", Finish.STOP, ())
    assert reply.usage == Usage(input_tokens=2, output_tokens=1)
    assert reply.model.startswith(f"{provider}-test-")
    assert reply.network_seconds >= 0.05
    assert "<p>ö</p>" in json.dumps(reply.raw, ensure_ascii=False)
    [asked] = server.log
    assert (asked.model, asked.prompt) == (f"{provider}-test", "hello there")
    assert any(KEY in value for value in asked.headers.values())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_parameters_are_called_what_the_provider_calls_them(provider):
    parameters = Parameters(max_tokens=123, temperature=0.5, seed=7)
    with ProviderServer() as server:
        reply = ask(at(server, provider), replace(HELLO, parameters=parameters))
    body = server.log[0].body
    sent = body["generationConfig"] if provider == "google" else body
    limit = {
        "openai": "max_completion_tokens",
        "compatible": "max_tokens",
        "anthropic": "max_tokens",
        "google": "maxOutputTokens",
    }[provider]
    assert (sent[limit], sent["temperature"]) == (123, 0.5)
    if provider == "anthropic":  # knows no seed
        assert "seed" not in sent
        assert reply.dropped == ("seed",)
    else:
        assert sent["seed"] == 7
        assert reply.dropped == ()


@pytest.mark.parametrize("provider", FORMATS)
def test_what_is_left_to_the_provider_is_not_sent(provider):
    request = replace(HELLO, parameters=Parameters(temperature=None, seed=None))
    with ProviderServer() as server:
        reply = ask(at(server, provider), request)
    assert "temperature" not in json.dumps(server.log[0].body)
    assert reply.dropped == ()


def test_what_the_catalogue_says_about_a_model_is_kept_to(tmp_path, monkeypatch):
    prices = tmp_path / "prices.json"
    facts = {"temperature": False, "max_output_tokens": 100}
    prices.write_text(json.dumps({"models": {"openai/openai-test": facts}}))
    monkeypatch.setenv("UIPROOF_PRICES", str(prices))
    with ProviderServer() as server:
        reply = ask(at(server, "openai"))
    assert "temperature" not in server.log[0].body
    assert server.log[0].body["max_completion_tokens"] == 100
    assert reply.dropped == ("temperature",)


@pytest.mark.parametrize("provider", FORMATS)
def test_pictures_arrive_intact_and_in_their_place(provider, tmp_path):
    first, second = picture(40, 30), picture(50, 20, "JPEG")
    path = tmp_path / "second.jpg"
    path.write_bytes(second)
    parts = ("before", Image(first), "between", Image(path), "after")
    with ProviderServer() as server:
        reply = ask(at(server, provider), Request((Message("user", parts),)))
    assert server.log[0].parts == ["before", first, "between", second, "after"]
    body = json.dumps(server.log[0].body)
    assert "image/png" in body
    assert "image/jpeg" in body
    assert [(sent.width, sent.height) for sent in reply.images] == [(40, 30), (50, 20)]


@pytest.mark.parametrize("provider", FORMATS)
def test_a_tall_picture_goes_in_numbered_pieces(provider):
    tall = picture(80, 250)
    request = Request((Message("user", ("look", Image(tall))),))
    with ProviderServer() as server:
        reply = ask(at(server, provider), request, max_side=100)
    *_, one, first, two, second, three, third = server.log[0].parts
    assert one == "Part 1 of 3 of the picture, from top to bottom."
    assert (two[:11], three[:11]) == ("Part 2 of 3", "Part 3 of 3")
    whole = Pixels.new("RGB", (80, 250))
    top = 0
    for piece in map(pixels, (first, second, third)):
        whole.paste(piece, (0, top))
        top += piece.height
    assert whole.tobytes() == pixels(tall).tobytes()
    assert len(reply.images[0].pieces) == 3


def test_what_is_no_picture_is_not_sent():
    with ProviderServer() as server:
        error = failure(at(server, "openai"), Request((Message("user", (Image(b"no"),)),)))
    assert error.kind == "rejected"
    assert server.log == []


def test_a_picture_in_a_system_message_is_not_lost_in_silence():
    request = Request((Message("system", (Image(picture(9, 9)),)), *HELLO.messages))
    with ProviderServer() as server:
        assert failure(at(server, "anthropic"), request).kind == "rejected"
    assert server.log == []


@pytest.mark.parametrize("provider", FORMATS)
def test_a_conversation_keeps_its_roles(provider):
    request = Request(
        (
            Message("system", ("be brief",)),
            Message("user", ("one",)),
            Message("assistant", ("two", "")),
            Message("user", ("three",)),
        )
    )
    with ProviderServer() as server:
        ask(at(server, provider), request)
    body = server.log[0].body
    assert server.log[0].parts == ["be brief", "one", "two", "three"]
    if provider == "google":
        assert body["systemInstruction"]["parts"] == [{"text": "be brief"}]
        assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    else:
        roles = [turn["role"] for turn in body["messages"]]
        assert roles[-3:] == ["user", "assistant", "user"]
        assert (body["system"] if provider == "anthropic" else roles[0]) in ("be brief", "system")


def test_a_compatible_server_learns_nothing_about_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-user")
    with ProviderServer() as server:
        ask(at(server, "compatible"))
        ask(at(server, "openai"))
    foreign, own = (dict(asked.headers) for asked in server.log)
    assert "org-of" not in json.dumps(foreign)
    assert own["openai-organization"] == "org-of-the-user"
    assert foreign["authorization"] == own["authorization"] == f"Bearer {KEY}"


def test_secrets_in_an_address_reach_the_server_and_no_log(caplog):
    caplog.set_level("DEBUG")
    with ProviderServer(faults=[None, Fault(status=400, message="no: hunter22 t0ken")]) as server:
        place = f"user:hunter22@127.0.0.1:{server.port}/v1?token=t0ken"
        endpoint = parse_name(f"compatible:http://{place}#qwen")
        ask(endpoint, key="none")
        error = failure(endpoint, key="none")
    assert server.log[0].headers["authorization"] == "Basic dXNlcjpodW50ZXIyMg=="
    assert server.log[0].query == "token=t0ken"
    assert error.message == "HTTP 400: no: [key] [key]"
    assert "127.0.0.1" in caplog.text
    assert "hunter22" not in caplog.text
    assert "t0ken" not in caplog.text


def test_the_proxy_of_the_environment_is_used(monkeypatch):
    with ProviderServer() as server:
        monkeypatch.setenv("HTTP_PROXY", server.base_url("google"))
        reply = ask(Endpoint("openai", "m", "http://provider.invalid/v1"))
    assert reply.finish is Finish.STOP
    assert server.log[0].headers["host"] == "provider.invalid"


def test_hundreds_of_requests_are_under_way_at_once():
    with ProviderServer(lambda asked: asked.prompt, latency=1.0) as server:
        endpoint = at(server, "compatible")

        async def go() -> list[Reply]:
            client = make_client(endpoint, key=KEY, rule=rule_for(endpoint), timeout=30)
            asking = (client.send(Request((Message("user", (str(n),)),))) for n in range(300))
            try:
                return await asyncio.gather(*asking)
            finally:
                await client.close()

        replies = asyncio.run(go())
    assert [reply.text for reply in replies] == [str(number) for number in range(300)]
    assert server.most_at_once > 100


def test_omniparser_gets_one_picture_untouched_and_lists_its_elements():
    tall = picture(20, 9000)
    request = Request((Message("user", (Image(tall),)),))
    with ProviderServer("Save", faults=[None, Fault(body={"choices": []})]) as server:
        endpoint = parse_name(f"omniparser:{server.base_url('google')}")
        reply = ask(endpoint, request, key="none")
        other = failure(endpoint, request, key="none")
        none = failure(endpoint, key="none")
    assert server.log[0].images == [tall]
    assert "authorization" not in server.log[0].headers
    assert (json.loads(reply.text), reply.model) == ([{"content": "Save"}], "omniparser")
    assert reply.raw == {"latency": 0.1}
    assert (reply.images[0].scale, len(reply.images[0].pieces)) == (1.0, 1)
    assert (other.kind, "no OmniParser server" in other.message) == ("no_access", True)
    assert (none.kind, len(server.log)) == ("rejected", 2)


# What comes back


def chat(message: dict[str, Any], reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"message": message, "finish_reason": reason}], **more}


def claude(content: list[dict[str, Any]], reason: str = "end_turn", **more: Any) -> dict[str, Any]:
    return {"model": "m", "content": content, "stop_reason": reason, **more}


def gemini(parts: list[dict[str, Any]], reason: str = "STOP", **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": parts}, "finishReason": reason}], **more}


TEXT = {"type": "text", "text": "hi"}


@pytest.mark.parametrize(
    ("provider", "answer", "text", "finish"),
    [
        ("openai", chat({"content": "hi"}, "length"), "hi", Finish.LENGTH),
        ("openai", chat({"content": None}, "content_filter"), "", Finish.REFUSAL),
        ("openai", chat({"content": None, "refusal": "I won't"}), "I won't", Finish.REFUSAL),
        ("openai", chat({"content": None}, "tool_calls"), "", Finish.OTHER),
        ("openai", chat({"content": "a\ud800b"}), "a?b", Finish.STOP),
        (
            "compatible",
            chat({"content": [{"type": "thinking", "thinking": "hm"}, TEXT, "!"]}),
            "hi!",
            Finish.STOP,
        ),
        ("compatible", chat({"content": "hi", "reasoning_content": "hm"}), "hi", Finish.STOP),
        ("anthropic", claude([TEXT, TEXT], "max_tokens"), "hihi", Finish.LENGTH),
        ("anthropic", claude([], "refusal"), "", Finish.REFUSAL),
        ("anthropic", claude([{"type": "thinking", "thinking": "hm"}, TEXT]), "hi", Finish.STOP),
        ("anthropic", claude([TEXT], "pause_turn"), "hi", Finish.OTHER),
        ("google", gemini([{"text": "hi"}], "MAX_TOKENS"), "hi", Finish.LENGTH),
        ("google", gemini([{"text": "hi"}], "RECITATION"), "hi", Finish.REFUSAL),
        ("google", gemini([{"text": "hm", "thought": True}, {"text": "hi"}]), "hi", Finish.STOP),
        ("google", {"candidates": [{"finishReason": "SAFETY"}]}, "", Finish.REFUSAL),
        ("google", {"promptFeedback": {"blockReason": "OTHER"}}, "", Finish.REFUSAL),
        ("google", gemini([{"text": "hi"}], "CONTINUATION"), "hi", Finish.LENGTH),
        ("google", gemini([{"text": "hi"}], "SOMETHING_NEW"), "hi", Finish.OTHER),
    ],
)
def test_the_end_of_an_answer_is_told(provider, answer, text, finish):
    with ProviderServer(answer) as server:
        reply = ask(at(server, provider))
    assert (reply.text, reply.finish) == (text, finish)
    assert len(server.log) == 1
    assert reply.raw == json.loads(json.dumps(answer).replace("\\ud800", "?"))


@pytest.mark.parametrize(
    ("provider", "answer", "usage"),
    [
        (
            "openai",
            chat(
                {"content": "hi"},
                usage={
                    "prompt_tokens": 100,
                    "completion_tokens": 50,
                    "prompt_tokens_details": {"cached_tokens": 60},
                    "completion_tokens_details": {"reasoning_tokens": 40},
                },
            ),
            Usage(100, 50, 60, 40),
        ),
        (
            "compatible",
            chat({"content": "hi"}, usage={"prompt_tokens": "many", "completion_tokens": None}),
            Usage(),
        ),
        ("compatible", chat({"content": "hi"}), Usage()),
        (
            "anthropic",
            claude(
                [TEXT],
                usage={
                    "input_tokens": 10,
                    "cache_read_input_tokens": 60,
                    "cache_creation_input_tokens": 30,
                    "output_tokens": 50,
                    "output_tokens_details": {"thinking_tokens": 40},
                },
            ),
            Usage(100, 50, 60, 40),
        ),
        (
            "google",
            gemini(
                [{"text": "hi"}],
                usageMetadata={
                    "promptTokenCount": 100,
                    "candidatesTokenCount": 10,
                    "thoughtsTokenCount": 40,
                    "cachedContentTokenCount": 60,
                },
            ),
            Usage(100, 50, 60, 40),
        ),
        ("google", gemini([{"text": "hi"}]), Usage()),
    ],
)
def test_tokens_are_counted_alike(provider, answer, usage):
    with ProviderServer(answer) as server:
        assert ask(at(server, provider)).usage == usage


# What goes wrong


@pytest.mark.parametrize("provider", FORMATS)
@pytest.mark.parametrize(
    ("fault", "kind", "retry_after"),
    [
        (Fault(status=429, headers={"Retry-After": "7"}), "rate_limited", 7),
        (Fault(status=500), "fault", None),
        (Fault(status=503), "server", None),
        (Fault(status=529, message="Overloaded"), "rate_limited", None),
        (Fault(status=401), "no_access", None),
        (Fault(status=404), "no_access", None),
        (Fault(status=400), "rejected", None),
        (Fault(cut="before"), "connection", None),
        (Fault(cut="inside"), "connection", None),
        (Fault(body=b'{"choices": [{"message": {"con'), "malformed", None),
        (Fault(body=b"<html>proxy</html>", content_type="text/html"), "malformed", None),
        (Fault(body={"id": "nothing else"}), "malformed", None),
    ],
)
def test_every_failure_has_its_kind_and_is_not_retried(provider, fault, kind, retry_after):
    with ProviderServer(faults=[fault]) as server:
        error = failure(at(server, provider))
    assert (error.kind, error.retry_after) == (kind, retry_after)
    assert len(server.log) == 1


QUOTA = {"error": {"message": "Check your plan", "code": "insufficient_quota"}}
POOR = {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}
BAD_KEY = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}
PER_MINUTE = {
    "error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"}],
    }
}
PER_DAY = {
    "error": {
        "message": "You exceeded your current quota.",
        "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject-FreeTier"}]}],
    }
}
FASTAPI = {"detail": [{"loc": ["body", "model"], "msg": "Field required", "input": "the request"}]}


@pytest.mark.parametrize(
    ("provider", "fault", "kind", "message", "retry_after"),
    [
        ("openai", Fault(status=429, body=QUOTA), "quota", "HTTP 429: Check your plan", None),
        ("openai", Fault(status=402), "quota", "HTTP 402: made to fail", None),
        ("anthropic", Fault(status=400, body=POOR), "quota", "credit balance", None),
        ("google", Fault(status=429, body=PER_MINUTE), "rate_limited", "current quota", 12.5),
        ("google", Fault(status=429, body=[PER_MINUTE]), "rate_limited", "current quota", 12.5),
        ("google", Fault(status=429, body=PER_DAY), "quota", "current quota", None),
        ("google", Fault(status=400, body=BAD_KEY), "no_access", "API key not valid", None),
        (
            "openai",
            Fault(status=429, headers={"retry-after-ms": "250", "Retry-After": "1"}),
            "rate_limited",
            "HTTP 429",
            0.25,
        ),
        (
            "openai",
            Fault(status=503, headers={"Retry-After": "3"}),
            "rate_limited",
            "HTTP 503",
            3,
        ),
        ("openai", Fault(status=429, headers={"Retry-After": "nan"}), "rate_limited", "429", None),
        ("openai", Fault(status=409), "server", "HTTP 409", None),
        ("openai", Fault(status=403), "no_access", "HTTP 403", None),
        ("openai", Fault(status=413), "rejected", "HTTP 413", None),
        (
            "compatible",
            Fault(status=422, body=FASTAPI),
            "rejected",
            "HTTP 422: body.model: Field required",
            None,
        ),
        (
            "compatible",
            Fault(status=403, message="your input was flagged"),
            "rejected",
            "flagged",
            None,
        ),
        (
            "compatible",
            Fault(status=502, body=b"<h1>Bad\n gateway</h1>", content_type="text/html"),
            "server",
            "HTTP 502: Bad gateway",
            None,
        ),
        (
            "compatible",
            Fault(body={"error": {"code": 429, "message": "upstream is busy"}}),
            "rate_limited",
            "upstream is busy",
            None,
        ),
        ("compatible", Fault(body=chat({"content": ""}, "error")), "server", "error", None),
        ("compatible", Fault(body={"choices": []}), "malformed", "no answer", None),
        ("compatible", Fault(body={"choices": "x"}), "malformed", "no answer", None),
        ("compatible", Fault(body=b"[1]"), "malformed", "not an object", None),
        ("compatible", Fault(body=b"[" * 100_000), "malformed", "not JSON", None),
        ("compatible", Fault(headers={"Content-Encoding": "gzip"}), "malformed", "unpack", None),
        ("anthropic", Fault(body={"content": None}), "malformed", "no answer", None),
        ("google", Fault(body={"candidates": [None]}), "malformed", "no answer", None),
    ],
)
def test_what_a_provider_says_decides(provider, fault, kind, message, retry_after):
    with ProviderServer(faults=[fault]) as server:
        error = failure(at(server, provider))
    assert (error.kind, error.retry_after) == (kind, retry_after)
    assert message in error.message
    assert "the request" not in error.message


def test_a_date_to_wait_for_becomes_seconds():
    later = {"Retry-After": formatdate(time() + 100, usegmt=True)}
    with ProviderServer(faults=[Fault(status=429, headers=later)]) as server:
        retry_after = failure(at(server, "openai")).retry_after
    assert retry_after is not None
    assert 50 < retry_after <= 100


def test_a_packed_answer_is_unpacked():
    body = chat({"content": "hi " * 10_000})
    with ProviderServer(faults=[Fault(body=body, gzipped=True)]) as server:
        assert ask(at(server, "openai")).text == "hi " * 10_000


@pytest.mark.parametrize("provider", FORMATS)
def test_a_server_that_hangs_is_given_up(provider):
    with ProviderServer(faults=[Fault(hang=True)]) as server:
        assert failure(at(server, provider), timeout=0.3).kind == "timeout"
    assert len(server.log) == 1


def test_a_body_that_never_comes_is_given_up():
    with ProviderServer(faults=[Fault(slow_body=60)]) as server:
        assert failure(at(server, "openai"), timeout=0.5).kind == "timeout"


@pytest.mark.parametrize("provider", FORMATS)
def test_a_closed_port_is_a_connection_error(provider):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = failure(Endpoint(provider, "m", f"http://127.0.0.1:{port}/v1"))
    assert error.kind == "connection"


@pytest.mark.parametrize("provider", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_an_endless_answer_does_not_fill_the_memory(provider, packed, monkeypatch):
    monkeypatch.setattr(http, "MAX_BYTES", 2**20)
    with ProviderServer(faults=[None, Fault(huge=300 * 2**20, gzipped=packed)]) as server:
        ask(at(server, provider))  # so that imported modules are not counted
        tracemalloc.start()
        try:
            error = failure(at(server, provider))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert error.kind == "malformed"
    assert "1,048,576 bytes" in error.message
    assert server.bytes_sent < 50 * 2**20
    assert peak < 100 * 2**20


def test_a_redirect_is_not_followed_with_the_key():
    with ProviderServer() as other, ProviderServer() as server:
        elsewhere = {"Location": other.base_url("openai") + "/chat/completions"}
        server.faults = [Fault(status=307, headers=elsewhere)]
        error = failure(at(server, "openai"))
    assert error.kind == "no_access"
    assert "moved to" in error.message
    assert other.log == []


@pytest.mark.parametrize("provider", FORMATS)
def test_a_key_that_the_server_repeats_is_redacted(provider, monkeypatch):
    monkeypatch.setenv("UIPROOF_API_KEY", KEY)
    message = f"wrong key {KEY} " + "x " * 400
    with ProviderServer(f"you are {KEY}", faults=[Fault(status=401, message=message)]) as server:
        error = failure(at(server, provider))
        reply = ask(at(server, provider))
    assert error.message.startswith("HTTP 401: wrong key [key] x")
    assert len(error.message) <= 500
    assert error.__cause__ is None
    assert reply.text == "you are [key]"
    assert KEY not in f"{reply!r} {json.dumps(reply.raw)} {error!r}"


# Parameters that a model does not take


def complaints(**messages: str) -> Any:
    """A server that answers 400 where a request has one of these parameters."""

    def fault(asked: Any) -> Fault | None:
        sent = asked.body.get("generationConfig", asked.body)
        for name, message in messages.items():
            if name in sent:
                return Fault(status=400, message=message)
        return None

    return fault


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        (
            "openai",
            "Unsupported value: 'temperature' does not support 0 with this model. "
            "Only the default (1) value is supported.",
        ),
        (
            "compatible",
            "[{'loc': ('body', 'temperature'), 'msg': 'Extra inputs are not permitted'}]",
        ),
        ("anthropic", "`temperature` is deprecated for this model."),
        ("google", 'Unknown name "temperature" at generation_config: Cannot find field.'),
    ],
)
def test_a_parameter_that_a_model_does_not_take_is_left_out_and_reported(provider, message):
    with ProviderServer(faults=complaints(temperature=message)) as server:
        replies = ask_all(at(server, provider), HELLO, HELLO)
    assert [reply.dropped for reply in replies] == [("temperature",)] * 2
    assert len(server.log) == 3  # the second request knows


def test_what_was_learned_is_not_forgotten_over_a_request_that_knew_less():
    asks_nothing = replace(HELLO, parameters=Parameters(temperature=None, seed=None))
    faults = complaints(temperature="temperature is not supported")
    with ProviderServer(faults=faults, latency=lambda asked: 0.5 * (asked.number == 0)) as server:
        endpoint = at(server, "openai")

        async def go() -> None:
            client = make_client(endpoint, key=KEY, rule=rule_for(endpoint), timeout=10)
            try:
                slow = asyncio.create_task(client.send(asks_nothing))
                while not server.log:
                    await asyncio.sleep(0.01)
                await client.send(HELLO)
                await slow
                await client.send(HELLO)
            finally:
                await client.close()

        asyncio.run(go())
    assert len(server.log) == 4


def test_several_parameters_are_left_out_one_after_the_other():
    request = replace(HELLO, parameters=Parameters(max_tokens=50, seed=1))
    faults = complaints(
        max_tokens="Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        temperature="temperature is not supported",
        seed="unknown parameter: seed",
    )
    with ProviderServer(faults=faults) as server:
        reply = ask(at(server, "compatible"), request)
    assert server.log[-1].body["max_completion_tokens"] == 50
    assert reply.dropped == ("seed", "temperature")  # the limit has only got another name
    assert len(server.log) == 4


def test_a_wrong_value_is_an_error_and_not_left_out():
    message = "Invalid 'temperature': decimal above maximum value. Expected a value <= 2."
    with ProviderServer(faults=complaints(temperature=message)) as server:
        error = failure(at(server, "openai"))
    assert (error.kind, len(server.log)) == ("rejected", 1)
    assert error.message == f"HTTP 400: {message}"


def test_a_complaint_that_does_not_end_is_not_repeated_for_ever():
    fault = Fault(status=400, message="temperature and seed and max_tokens are not supported")
    with ProviderServer(faults=lambda _: fault) as server:
        assert failure(at(server, "openai")).kind == "rejected"
    assert len(server.log) <= 4
