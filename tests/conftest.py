"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Fewer examples than usual, for all properties that do not say how many they need.
settings.register_profile("few", settings.default, max_examples=30, deadline=None)
settings.load_profile("few")


# Collecting makes a million objects that stay: looking for garbage among them takes seconds.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among modules and tests."""
    gc.freeze()
    gc.enable()


# Tests send Ctrl-C to what they start. A script that starts them in the background has it ignored,
# and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


# These files take longest, about in this order, those of the slow families first. They are begun
# before all that are not named: a long one that is begun last is what everybody waits for.
LONG_FILES = (
    "parity/test_parity_grounding.py",
    "engine/test_ray.py",
    "browser/test_hostile_corpus.py",
    "report/test_every_report.py",
    "faults/test_fault_disk.py",
    "interaction2code/test_interaction_mutations.py",
    "remote/test_remote_runs.py",
    "test_inspect_tasks.py",
    "interaction2code/test_interaction_matrix.py",
    "remote/test_remote_commands.py",
    "faults/test_fault_interrupts.py",
    "interaction2code/test_interaction_collect_pages.py",
    "browser/test_stage_hostile.py",
    "faults/test_fault_pictures.py",
    "studio/test_studio_annotate_browser.py",
    "studio/test_studio_data_boxes.py",
    "studio/test_studio_results_pages.py",
    "studio/test_studio_runs.py",
    "serve/test_serve_ending.py",
    "faults/test_fault_browser.py",
    "design2code/test_seen.py",
    "test_cli.py",
    "test_docs.py",
    "interaction2code/test_interaction_tricks.py",
    "grounding/test_grounding_methods.py",
    "serve/test_serve.py",
    "interaction2code/test_interaction_judge.py",
    "interaction2code/test_interaction_score.py",
    "serve/test_serve_hostile.py",
    "browser/test_renderer.py",
    "design2code/test_judge.py",
    "interaction2code/test_interaction_collect.py",
    "interaction2code/test_interaction_charts.py",
    "models/test_models_runs.py",
    "browser/test_stage_acts.py",
    "web/test_pages.py",
    "interaction2code/test_interaction_statistics.py",
)


# Families that need clusters, killed processes, many pages, or the studio in a browser:
# `make test-slow`.
SLOW_FILES = (
    "browser/test_hostile_corpus.py",
    "browser/test_stage_hostile.py",
    "design2code/test_mrweb.py",
    "engine/test_ray.py",
    "interaction2code/test_interaction_collect_pages.py",
    "interaction2code/test_interaction_matrix.py",
    "interaction2code/test_interaction_mutations.py",
    "remote/test_remote_commands.py",
    "remote/test_remote_runs.py",
    "report/test_every_report.py",
    "serve/test_serve_ending.py",
    "studio/test_studio_annotate_browser.py",
    "studio/test_studio_data_boxes.py",
    "studio/test_studio_frames_hostile.py",
    "studio/test_studio_results_pages.py",
    "studio/test_studio_runs.py",
    "tests/test_inspect_scorers.py",
    "tests/test_inspect_tasks.py",
)
SLOW_FOLDERS = ("faults",)


def is_slow(path: Path) -> bool:
    """Say whether a file of tests is one of the slow families."""
    return path.as_posix().endswith(SLOW_FILES) or path.parent.name in SLOW_FOLDERS


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no slow families where they are not run: what they need takes seconds to import."""
    excluded = "not slow" in config.option.markexpr
    return True if excluded and collection_path.is_file() and is_slow(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow families, and begin with long files; else the order stays."""
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)

    def place(item: pytest.Item) -> int:
        path = item.path.as_posix()
        names = enumerate(LONG_FILES)
        return next((at for at, name in names if path.endswith(f"/{name}")), len(LONG_FILES))

    items.sort(key=place)


@pytest.fixture
def inspect_streams() -> Iterator[None]:
    """Collect the streams that inspect leaves open while its test ignores the warning."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with oracles and published data, which only developers have."""
    here = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("UIPROOF_SHARED") or here.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"needs the shared data: {folder} is not there (set UIPROOF_SHARED)")
    return folder
