"""User prompts: text files with named slots, such as `{screenshot}`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from uiproof.errors import InputError, UsageError, suggestion

SLOT = re.compile(r"\{([a-z_]+)\}")
_ENDINGS = (".md", ".txt")
_LONGEST = 200_000  # bytes


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a prompt that is filled for every case."""

    help: str  # what goes there
    required: bool = False


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt of the user, read and checked."""

    name: str  # for tables
    text: str

    @property
    def settings(self) -> dict[str, str]:
        """Return what a run writes down: other words are another method."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:16]
        return {"prompt": self.name, "prompt_digest": digest, "prompt_text": self.text}


def prompt_file(
    prompt: str, built_in: Iterable[str], slots: Mapping[str, Slot]
) -> PromptFile | None:
    """Read the file that a prompt names, options after its colon left out; None for other prompts.

    Raises `InputError` for a file that cannot be read, and `UsageError` where it has an unknown
    slot or lacks one that is required.
    """
    name = prompt.partition(":")[0]
    path = Path(name).expanduser()
    if name in built_in or not (name.endswith(_ENDINGS) or "/" in name or path.is_file()):
        return None
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
        text = content.decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(
            f"The prompt {path} cannot be read: {reason}.",
            remedy=f"Name a text file, or one of: {', '.join(built_in)}.",
        ) from error
    if len(content) > _LONGEST:
        raise InputError(f"The prompt {path} has more than {_LONGEST:,} bytes.")
    found = set(SLOT.findall(text))
    known = "; ".join(
        f"{{{slot}}}: {about.help}{' (required)' if about.required else ''}"
        for slot, about in slots.items()
    )
    if unknown := sorted(found - slots.keys()):
        likely = suggestion(unknown[0], slots)
        raise UsageError(
            f"The prompt {path} has an unknown slot {{{unknown[0]}}}.",
            remedy=f"{likely} The slots are {known}.".lstrip(),
        )
    if missing := [slot for slot, about in slots.items() if about.required and slot not in found]:
        raise UsageError(
            f"The prompt {path} lacks the slot {{{missing[0]}}}.", remedy=f"The slots are {known}."
        )
    return PromptFile(path.name, text)
