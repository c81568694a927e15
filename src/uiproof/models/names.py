"""Names of models, their addresses and keys, and the redaction of secrets.

    openai/gpt-4o
    anthropic/claude-sonnet-4-5
    google/gemini-2.5-pro
    compatible:http://localhost:8000/v1#Qwen/Qwen2.5-VL-7B-Instruct

Secrets never become part of a name: neither keys, nor users, passwords and queries of an address,
as in `https://user:password@host/v1?token=…`.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from uiproof.errors import MissingDependencyError, UsageError

Provider = Literal["openai", "anthropic", "google", "compatible", "omniparser"]

EXAMPLES = (
    "openai/gpt-4o",
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-pro",
    "compatible:http://localhost:8000/v1#Qwen/Qwen2.5-VL-7B-Instruct",
)
REDACTED = "[key]"
_MAX_DEPTH = 100  # levels of a JSON value; no provider's answer has a tenth of that

_COMPATIBLE = "compatible:"
_OMNIPARSER = "omniparser:"
_BASE_URLS = {  # provider -> the variable that its SDK reads too, and the official address
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "google": ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
}
_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
# Services that speak OpenAI's protocol and have their own keys.
_KEYS_BY_HOST = (
    (re.compile(r"(?:.+\.)?openrouter\.ai"), "OPENROUTER_API_KEY"),
    (re.compile(r"dashscope[a-z0-9-]*\.aliyuncs\.com"), "DASHSCOPE_API_KEY"),
)
_OTHER_HOSTS_KEY = "UIPROOF_API_KEY"
# Values for servers that want no key. To redact such words would spoil texts (`display: none`).
_PLACEHOLDERS = frozenset(
    ("none", "null", "empty", "dummy", "fake", "test", "local", "token", "ollama", "vllm")
)
# Parts of a query that are not secret.
_OPEN_QUERY = frozenset(("api-version", "api_version", "version", "model"))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at an address.

    `base_url` has no secrets and is part of what identifies an answer; `full_url` is where
    requests go and must not be written down.
    """

    provider: Provider
    model: str
    base_url: str
    secret_url: str = field(default="", repr=False, compare=False)  # where it differs

    @property
    def name(self) -> str:
        """Return its public name, without secrets: `openai/gpt-4o`."""
        if self.provider == "compatible":
            return f"{_COMPATIBLE}{self.base_url}#{self.model}"
        if self.provider == "omniparser":
            return f"{_OMNIPARSER}{self.base_url}"
        return f"{self.provider}/{self.model}"

    @property
    def full_url(self) -> str:
        """Return the address with its secrets."""
        return self.secret_url or self.base_url

    def __str__(self) -> str:
        return self.name


def is_model_name(text: str) -> bool:
    """Return whether this is meant as the name of a model; `parse_name` checks it."""
    return text.startswith((_COMPATIBLE, *(f"{provider}/" for provider in _BASE_URLS)))


def parse_name(text: str) -> Endpoint:
    """Return the endpoint of a name such as `openai/gpt-4o`.

    Variables such as `OPENAI_BASE_URL` send the requests of a provider elsewhere.
    """
    if text.startswith(_OMNIPARSER):
        address = text.removeprefix(_OMNIPARSER)
        base_url, secret_url = _parse_url(address, "The address of an OmniParser server")
        return Endpoint("omniparser", "omniparser", base_url, secret_url)
    if text.startswith(_COMPATIBLE):
        address, _, model = text.removeprefix(_COMPATIBLE).partition("#")
        base_url, secret_url = _parse_url(address, "The address of a compatible model")
        # A second # may belong to a password and should be %23. Without this check half of the
        # password would be shown as the name of a model.
        if not _is_model(model) or "#" in model:
            raise UsageError(
                f"After {_COMPATIBLE}{base_url} the name of the model is missing or malformed.",
                remedy=f"Write it after one #, for example {EXAMPLES[-1]}.",
            )
        return Endpoint("compatible", model, base_url, secret_url)
    provider, slash, model = text.partition("/")
    if not slash or provider not in _BASE_URLS or not _is_model(model):
        raise UsageError(
            f"{_shown(text)} is not the name of a model.",
            remedy=f"Names look like {', '.join(EXAMPLES)}.",
        )
    variable, official = _BASE_URLS[provider]
    address = os.environ.get(variable, "").strip() or official
    base_url, secret_url = _parse_url(address, variable)
    return Endpoint(cast(Provider, provider), model, base_url, secret_url)


def _is_model(text: str) -> bool:
    return bool(text) and text == text.strip() and text.isprintable()


def _shown(text: str) -> str:
    """Return a malformed name for an error, without possible secrets in it."""
    if "@" in text or "?" in text or len(text) > 100:
        return "The text"
    return repr(text)


def _parse_url(address: str, what: str) -> tuple[str, str]:
    """Return an address without its secrets, and in full where it has some."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    # Programs disagree about addresses with these characters, so a key could reach another host.
    odd = not address.isprintable() or any(c in address for c in " \\#")
    if not host or odd or parts.scheme not in ("http", "https"):
        raise UsageError(
            f"{what} is not a web address.",
            remedy=f"It looks like http://localhost:8000/v1, as in {EXAMPLES[-1]}.",
        )
    place = f"[{host}]" if ":" in host else host
    place += "" if port is None else f":{port}"
    base_url = f"{parts.scheme}://{place}{parts.path.rstrip('/')}"
    has_secrets = "@" in parts.netloc or bool(parts.query)
    return base_url, address if has_secrets else ""


def _key_variables(endpoint: Endpoint) -> tuple[str, ...]:
    if endpoint.provider in _KEYS:
        return _KEYS[endpoint.provider]
    host = urlsplit(endpoint.base_url).hostname or ""
    for pattern, variable in _KEYS_BY_HOST:
        if pattern.fullmatch(host):
            return (variable,)
    return (_OTHER_HOSTS_KEY,)


def api_key(endpoint: Endpoint) -> str | None:
    """Return the key for an endpoint from the environment; None where there is none.

    A compatible server never gets the key of OpenAI: its own is in `UIPROOF_API_KEY`, for
    OpenRouter and DashScope in `OPENROUTER_API_KEY` and `DASHSCOPE_API_KEY`.
    """
    values = (os.environ.get(name, "").strip() for name in _key_variables(endpoint))
    return next((value for value in values if value), None)


def require_key(endpoint: Endpoint) -> str:
    """Return the key for an endpoint; `none` for servers that may do without one."""
    key = api_key(endpoint)
    variable = _key_variables(endpoint)[0]
    if key is None and variable == _OTHER_HOSTS_KEY:
        return "none"
    if key is None:
        raise MissingDependencyError(
            f"There is no key for {endpoint.name}: {variable} is not set.",
            remedy=f"Set it: export {variable}=…",
        )
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"The key for {endpoint.name} has invalid characters.",
            remedy=f"Copy it again: export {variable}=…",
        )
    return key


def key_variable(endpoint: Endpoint) -> str:
    """Return the environment variable for the key of an endpoint."""
    return _key_variables(endpoint)[0]


def is_official(endpoint: Endpoint) -> bool:
    """Return whether an endpoint is at its provider's own address."""
    return endpoint.base_url == _BASE_URLS.get(endpoint.provider, ("", ""))[1]


def secrets(endpoint: Endpoint | None = None) -> tuple[str, ...]:
    """Return everything that must not be written down: keys, secret parts of addresses."""
    key_names = [name for names in _KEYS.values() for name in names]
    key_names += [name for _, name in _KEYS_BY_HOST] + [_OTHER_HOSTS_KEY]
    key_names.append("ANTHROPIC_AUTH_TOKEN")  # not used here, but a secret of their SDK
    addresses = [os.environ.get(name, "") for name, _ in _BASE_URLS.values()]
    addresses += [endpoint.secret_url] if endpoint else []
    found = [os.environ.get(name, "") for name in key_names]
    for address in addresses:
        found += _url_secrets(address)
    stripped = (value.strip() for value in found)
    return tuple(
        sorted(
            {value for value in stripped if len(value) >= 4 and value.lower() not in _PLACEHOLDERS}
        )
    )


def _url_secrets(address: str) -> Iterable[str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    user_info, at, _ = parts.netloc.rpartition("@")
    if at:
        user, _, password = user_info.partition(":")
        yield from (user_info, unquote(user_info), password, unquote(password))
        # A plain word beside a password, such as `admin`, occurs in many texts.
        if not password or not unquote(user).isalpha():
            yield from (user, unquote(user))
    if any(name not in _OPEN_QUERY for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        yield parts.query
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if name not in _OPEN_QUERY:
            yield from (value, unquote(value), unquote(value.replace("+", " ")))
            yield from () if value else (name,)


def redacted(text: str, endpoint: Endpoint | None = None) -> str:
    """Return a text with `[key]` for every secret, in clear, URL-encoded or in base64."""
    return _without(secret_forms(endpoint), text)


def redacted_json(value: Any, endpoint: Endpoint | None = None) -> Any:
    """Redact all texts in a JSON value, names of fields included."""
    return _json_without(secret_forms(endpoint), value, _MAX_DEPTH)


def secret_forms(endpoint: Endpoint | None = None) -> frozenset[str]:
    """Return all secrets in all forms in which programs write them."""
    return _written_forms(secrets(endpoint))


def _json_without(forms: frozenset[str], value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _without(forms, value)
    if isinstance(value, Mapping | list | tuple) and depth == 0:
        return "[too deep]"
    if isinstance(value, Mapping):
        return {
            _json_without(forms, name, depth - 1): _json_without(forms, item, depth - 1)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_json_without(forms, item, depth - 1) for item in value]
    return value


def _without(forms: frozenset[str], text: str) -> str:
    spans = sorted(span for form in forms if form in text for span in _occurrences(form, text))
    if not spans:
        return text
    kept, position = [], 0
    for start, end in spans:
        if start >= position:  # else it overlaps with the one before
            kept += [text[position:start], REDACTED]
        position = max(position, end)
    return "".join([*kept, text[position:]])


def _occurrences(form: str, text: str) -> Iterable[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + 1)


@lru_cache(maxsize=64)
def _written_forms(values: tuple[str, ...]) -> frozenset[str]:
    forms: set[str] = set()
    for value in values:
        raw = value.encode("utf-8", "surrogateescape")  # a variable may hold any bytes
        forms |= {value, quote(raw), quote(raw, safe=""), quote_plus(raw), repr(value)[1:-1]}
        forms |= {json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
        forms |= _base64_forms(raw)
    forms |= {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), form) for form in forms}
    return frozenset(forms)


def _base64_forms(value: bytes) -> set[str]:
    """Return a secret in base64: alone, and inside something longer such as `user:secret`."""
    whole = base64.b64encode(value).decode()
    forms = {whole, whole.rstrip("=")}
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + value).decode()
        # Only the characters that are the same whatever stands before and after.
        inner = encoded[(0, 2, 3)[before] : (before + len(value)) * 8 // 6]
        if len(inner) >= 8:  # shorter ones occur by chance
            forms.add(inner)
    return forms | {form.replace("+", "-").replace("/", "_") for form in forms}
