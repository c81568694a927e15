"""Estimate the tokens of a request before it is sent, for dry runs and budgets.

The estimates are within some ten percent for English texts and follow the published rules for
pictures. Newer tokenizers of Anthropic make about a third more of the same text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from uiproof.models.catalogue import ImageTokenRule, facts
from uiproof.models.names import Endpoint
from uiproof.models.types import Piece, Request, SentImage

_CHARACTERS_PER_TOKEN = 4  # English prose and HTML alike
_PER_MESSAGE = 4  # its role and delimiters
# Chinese, Japanese and Korean: about a token for a character.
_DENSE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
# For models that are not in the catalogue: the rule of their provider's latest model, and for
# other servers that of Qwen, a token for 28 x 28 pixels.
_DEFAULTS = {
    "openai": ImageTokenRule("patches", most=2500, multiplier=1.2),
    "anthropic": ImageTokenRule("claude", side=2576, most=4784),
    "google": ImageTokenRule("fixed", base=1120),
    "compatible": ImageTokenRule("area"),
    "omniparser": ImageTokenRule("area"),
}


def text_tokens(text: str) -> int:
    """Return about how many tokens a text has: a quarter of its characters, one for each of CJK."""
    dense = sum(1 for _ in _DENSE.finditer(text)) if not text.isascii() else 0
    return dense + math.ceil((len(text) - dense) / _CHARACTERS_PER_TOKEN)


def image_tokens(endpoint: Endpoint, sent: SentImage) -> int:
    """Return how many tokens a picture has in the pieces in which it is sent."""
    rule = facts(endpoint).image_rule or _DEFAULTS[endpoint.provider]
    return sum(_piece_tokens(piece, rule) for piece in sent.pieces)


def request_tokens(
    endpoint: Endpoint, request: Request, sent_images: Sequence[SentImage] = ()
) -> int:
    """Return about how many tokens of input a request has, its pictures included."""
    texts = sum(
        _PER_MESSAGE + sum(text_tokens(part) for part in message.parts if isinstance(part, str))
        for message in request.messages
    )
    return texts + sum(image_tokens(endpoint, sent) for sent in sent_images)


def _piece_tokens(piece: Piece, rule: ImageTokenRule) -> int:
    width, height = piece.width, piece.height
    match rule.kind:
        case "tiles":
            return rule.base + rule.tile * _tiles(width, height)
        case "patches":
            return math.ceil(_patches(width, height, rule.most) * rule.multiplier)
        case "claude":
            return _claude(width, height, rule.side, rule.most)
        case "gemini":
            return 258 * _gemini_tiles(width, height)
        case "fixed":
            return rule.base
        case "area":
            return math.ceil(width * height / 28**2)


def _tiles(width: int, height: int) -> int:
    """OpenAI: fitted into 2048 x 2048, then to a short side of 768; tiles of 512 pixels."""
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    return _cells(width * scale, 512) * _cells(height * scale, 512)


def _patches(width: int, height: int, most: int) -> int:
    """OpenAI: patches of 32 pixels; beyond `most`, scaled until whole patches fit one side."""
    count = _cells(width, 32) * _cells(height, 32)
    if count <= most:
        return count
    scale = math.sqrt(32**2 * most / (width * height))
    across, down = width * scale / 32, height * scale / 32
    shrink = min(max(1, math.floor(side)) / side for side in (across, down))
    return min(most, _cells(across * shrink, 1) * _cells(down * shrink, 1))


def _claude(width: int, height: int, side: int, most: int) -> int:
    """Anthropic: patches of 28 pixels (about width x height / 750), at most `most`."""
    scale = min(1.0, side / max(width, height))
    return min(most, _cells(width * scale, 28) * _cells(height * scale, 28))


def _gemini_tiles(width: int, height: int) -> int:
    """Gemini 1.5 to 2.5: one tile up to 384 pixels, else tiles of 256 to 768 pixels."""
    if max(width, height) <= 384:
        return 1
    tile = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return _cells(width, tile) * _cells(height, tile)


def _cells(length: float, cell: int) -> int:
    # Rounded first: 1536.0000000001 pixels are three tiles, not four.
    return max(1, math.ceil(round(length / cell, 6)))
