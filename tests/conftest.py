"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

import warm_commands

# Half of the usual number of examples, for all properties that do not say how many they need.
settings.register_profile("half", settings.default, max_examples=50)
settings.load_profile("half")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with oracles and published data, which only developers have."""
    here = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("UIPROOF_SHARED") or here.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"needs the shared data: {folder} is not there (set UIPROOF_SHARED)")
    return folder


@pytest.fixture(scope="session", autouse=True)
def couriers_that_are_ready_at_once():
    """The processes that ask models need not import first; `test_models_courier.py` lets them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uiproof.models.courier._start_process", warm_commands.start_courier)
        yield
