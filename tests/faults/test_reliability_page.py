"""docs/reliability.md names a row for every fault, and tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| fault |")
]
FAULTS = [
    "browser killed",
    "browser hung",
    "worker out of memory",
    "disk full",
    "journal torn at any byte",
    "clock jumps",
    "two runs on one directory",
    "permission denied",
    "read-only data set",
    "Ctrl-C twice",
    "broken images",
    "images of 1 px",
    "images of 20,000 px",
    "zip-bomb PNGs",
    "non-UTF-8 HTML",
    "HTML of 50 MB",
    "10,000 cases",
]


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_has_a_row(fault):
    assert any(row[0].startswith(fault) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_row_names_a_promise_and_tests_that_exist(row):
    fault, promise, remedy, tests = row
    assert fault
    assert promise.endswith(".")
    assert remedy
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
    assert named
    for file, name in named:
        assert (ROOT / file).is_file(), file
        assert name in names_in(file), f"{file} has no test {name}"
