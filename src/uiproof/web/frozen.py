"""The frozen web: every foreign address that has an answer, and the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Source = Literal["frozen", "placeholder", "archive"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of a foreign address."""

    body: bytes
    content_type: str
    source: Source
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)  # besides content type and CORS
    note: str = ""  # such as "6.7.2 instead of 6.0.0" where another version stands in


class FrozenWeb:
    """Answers addresses from files on this machine; it never opens a network."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256(b"").hexdigest()  # of everything that may answer

    @classmethod
    def installed(cls, archive: Path | None = None) -> FrozenWeb:
        """Return the set that is on this machine, maybe none, with an archive before it.

        Raises `InputError` where the archive cannot be read.
        """
        return cls()

    def answer(self, url: str) -> Answer | None:
        """Return the content of an address; None where it is not available.

        Never raises, for any string. Equal addresses have equal answers.
        """
        return None
