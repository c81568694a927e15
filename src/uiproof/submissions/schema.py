"""Writes the JSON schema: `python -m uiproof.submissions.schema`."""

from __future__ import annotations

import json
from pathlib import Path

from uiproof.submissions.model import json_schema

SCHEMA = Path(__file__).with_name("submission.schema.json")


def content() -> str:
    """What the schema file has to hold."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(content(), encoding="utf-8")
