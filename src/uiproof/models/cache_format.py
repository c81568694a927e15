"""What a stored answer is called, and what its file looks like.

The name is a digest of everything that decides about the answer. The file is JSON in two lines: the
facts that a listing needs with the digest of the second line, then the answer.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.engine.storage import access
from uiproof.models.types import Finish, Image, Piece, Reply, Request, SentImage, Usage

if TYPE_CHECKING:
    from uiproof.models.images import ImageRule
    from uiproof.models.names import Endpoint

_FORMAT = 1
# What reading a file that is damaged or not ours can raise.
NOT_AN_ANSWER = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def loaded(request: Request) -> Request:
    """The request with the bytes of its pictures in place of their paths.

    What is hashed is then what is sent, even where somebody edits the files meanwhile.
    """
    if not any(isinstance(picture.source, Path) for picture in pictures(request)):
        return request
    messages = (
        replace(message, parts=tuple(map(_loaded_part, message.parts)))
        for message in request.messages
    )
    return replace(request, messages=tuple(messages))


_SMALL = 500_000  # bytes


def pictures(request: Request) -> list[Image]:
    """The pictures of a request, in their order."""
    return [
        part for message in request.messages for part in message.parts if isinstance(part, Image)
    ]


def all_small(some: Sequence[Image]) -> bool:
    """Whether pictures are in memory already, and small."""
    return all(isinstance(one.source, bytes) and len(one.source) < _SMALL for one in some)


def _loaded_part(part: str | Image) -> str | Image:
    if isinstance(part, str) or isinstance(part.source, bytes):
        return part
    with access(part.source, "read"):
        return Image(part.read())


def request_key(endpoint: Endpoint, request: Request, rule: ImageRule) -> str:
    """The digest of all that decides about an answer; secrets in an address are no part of it."""
    parameters = asdict(request.parameters)
    if parameters["temperature"] is not None:
        parameters["temperature"] = float(parameters["temperature"])  # 0 is 0.0
    messages = loaded(request).messages
    content = {
        "endpoint": [endpoint.provider, endpoint.base_url, endpoint.model],
        "parameters": parameters,
        "sample": request.sample,
        "messages": [[one.role, [_part_key(part) for part in one.parts]] for one in messages],
        "rule": rule.as_json() if pictures(request) else None,
    }
    return hashlib.sha256(_json(content, sort_keys=True)).hexdigest()


def _part_key(part: str | Image) -> tuple[str, str]:
    if isinstance(part, str):
        return "text", part
    return "image", hashlib.sha256(part.read()).hexdigest()


def encoded(key: str, reply: Reply, model: str) -> bytes:
    """The content of the file for an answer of the model with this public name."""
    answer = {one.name: getattr(reply, one.name) for one in fields(reply) if one.name != "cached"}
    answer |= {"usage": asdict(reply.usage), "images": [asdict(one) for one in reply.images]}
    try:
        second = _json(answer)
    except (ValueError, TypeError, RecursionError) as error:
        # It is paid for: better without the raw answer than not at all.
        second = _json({**answer, "raw": {"not_stored": f"{type(error).__name__}: {error}"}})
    second = b'"reply": ' + second + b"}\n"
    facts = {
        "format": _FORMAT,
        "key": key,
        "model": model,
        "created": time.time(),
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "sha256": hashlib.sha256(second).hexdigest(),
    }
    return _json(facts).removesuffix(b"}") + b",\n" + second


def decoded(key: str, content: bytes, *, since: float | None = None) -> Reply | None:
    """The answer in a file's content; None where it is damaged, another's or from before `since`.

    Raises `NOT_AN_ANSWER` where it is something else entirely.
    """
    first, _, second = content.partition(b"\n")
    facts = decoded_facts(first)
    if facts["key"] != key or facts["sha256"] != hashlib.sha256(second).hexdigest():
        return None
    if since is not None and facts["created"] < since:
        return None
    answer = json.loads("{" + second.decode("utf-8", "surrogatepass"))["reply"]
    known = {one.name for one in fields(Reply)}
    values = {name: value for name, value in answer.items() if name in known}
    values |= {
        "finish": Finish(values["finish"]),
        "usage": Usage(**values["usage"]),
        "dropped": tuple(values["dropped"]),
        "images": tuple(
            SentImage(**{**one, "pieces": tuple(Piece(**piece) for piece in one["pieces"])})
            for one in values["images"]
        ),
        "cached": True,
    }
    return Reply(**values)


def decoded_facts(first_line: bytes) -> dict[str, Any]:
    """The facts in the first line of a file; raises `NOT_AN_ANSWER` where there are none."""
    text = first_line.rstrip(b",\n").decode("utf-8", "surrogatepass") + "}"
    facts: dict[str, Any] = json.loads(text)
    if facts["format"] != _FORMAT:
        raise ValueError("an answer in the format of another version")
    return facts


def _json(value: Any, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, default=_plain
    )
    return text.encode("utf-8", "surrogatepass")  # models write half characters at times


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
