"""Extract answers and references from what trainers pass."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from uiproof.benchmark import Completion

# The beginning of an answer in the chat templates of open models; the last one counts.
_TURN = re.compile(
    r"<\|im_start\|>\s*assistant\s*\n?"
    r"|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>\s*"
    r"|<\|start\|>assistant(?:<\|channel\|>\w+)?<\|message\|>"
    r"|<start_of_turn>\s*model\s*\n?"
    r"|<\|assistant\|>\s*"
    r"|<｜Assistant｜>"
    r"|\[/INST\]"
    r"|<\|CHATBOT_TOKEN\|>"
    r"|<\|turn\|?>\s*model\s*\n?",
)
# Tokens that a tokenizer writes where an answer ends, or before it begins.
_SPECIAL = re.compile(
    r"<\|(?:im_end|im_start|eot_id|endoftext|end_of_text|begin_of_text|end|return|eom_id|pad|user"
    r"|END_OF_TURN_TOKEN|fim_pad|vision_start|vision_end|image_pad)\|>"
    r"|<(?:end_of_turn|start_of_turn|eos|bos|pad|unk)>"
    r"|<｜(?:end▁of▁sentence|begin▁of▁sentence)｜>"
)


def answer_in(completion: Any, prompt: Any = None) -> Completion:
    """Return what a model wrote, from whatever a trainer calls a completion.

    That is a text, a message, a list of messages (the last of the assistant counts), or a text that
    begins with the prompt. Special tokens go; fences, words and thoughts stay: the page in them is
    found when the answer is judged.
    """
    text = _text(completion)
    before = prompt if isinstance(prompt, str) else None
    if before and text.startswith(before):
        text = text[len(before) :]
    turns = list(_TURN.finditer(text))
    if turns:
        text = text[turns[-1].end() :]
    text = _SPECIAL.split(text.lstrip(), maxsplit=0)[0] if turns else _SPECIAL.sub("", text)
    text = text.strip()
    # `</s>` ends answers of Llama and Mistral; in a page it closes a crossed-out text.
    if text.endswith("</s>") and text.count("</s>") > len(re.findall(r"<s[\s>]", text)):
        text = text.removesuffix("</s>").rstrip()
    return Completion(text)


def reference_in(label: Any) -> tuple[Any, dict[str, Any]]:
    """Return the reference in a label, and options that come with it.

    A label is a reference as `uiproof.reward` takes it, JSON of one, or a mapping with the key
    `reference` and options such as `form`. An empty label means no reference.
    """
    if isinstance(label, str):
        start = label.lstrip()[:1]
        if start in ("{", "["):
            try:
                return reference_in(json.loads(label))
            except (ValueError, RecursionError):
                return label, {}
        return label if label.strip() else None, {}
    if isinstance(label, Mapping):
        options = {str(name): value for name, value in label.items()}
        return reference_in(options.pop("reference", None))[0], options
    if isinstance(label, list):
        return tuple(label), {}
    return label, {}


def _text(completion: Any) -> str:
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Completion):
        return completion.text
    if isinstance(completion, Mapping):  # a message, or a part of one
        return _text(completion.get("content", completion.get("text", "")))
    if isinstance(completion, Sequence):
        messages = [one for one in completion if isinstance(one, Mapping) and "role" in one]
        if messages:
            answers = [one for one in messages if one["role"] in ("assistant", "model")]
            return _text(answers[-1]) if answers else ""
        return "".join(_text(one) for one in completion)  # parts of one message
    content = getattr(completion, "content", getattr(completion, "text", None))
    return "" if content is None else _text(content)
