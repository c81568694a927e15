"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with oracles and published data, which only developers have."""
    here = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("UIPROOF_SHARED") or here.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"needs the shared data: {folder} is not there (set UIPROOF_SHARED)")
    return folder
