"""Answers that are projects: each folder is built by a command of the user's before the run.

This is not a judge's work: the command runs with the rights of the user, outside of any sandbox,
and what it builds is then shown to the judge as any other page.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from uiproof.benchmarks.design2code.cases import pages_in, references_in, same_page
from uiproof.errors import UsageError
from uiproof.process_tree import kill_tree
from uiproof.remote.mirror import shown

OUTPUTS = ("dist", "build", "out")
BUILD_SECONDS = 900  # for one project
_LAST_BYTES, _LAST_LINES = 4_000, 6  # of what a failed build has printed
# A build runs code that a model has written: it gets what tools need, but no keys of the user's.
_PASSED = ("PATH", "HOME", "USER", "SHELL", "TMPDIR", "TEMP", "TMP", "LANG", "TERM")
_PASSED_PREFIXES = ("LC_", "NODE_", "NPM_", "npm_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "AUTH")


@dataclass(frozen=True, slots=True)
class Build:
    """The page that was built of a project, or the reason why there is none."""

    folder: Path
    page: Path | None = None
    error: str = ""


def built(
    dataset: Path, answers: Path, command: str, output: str | None = None, *, quiet: bool = False
) -> dict[str, Build]:
    """Build every project that a reference asks for, one after the other; by the ids of cases.

    `answers` is a project itself (its output has the pages), or has a folder for each page.
    """
    if not answers.is_dir():
        raise UsageError(
            f"{shown(answers)} is not a folder that can be built.",
            remedy="Give the folder of a project, or one with a project folder for each page.",
        )
    wanted = references_in(dataset)
    projects = _projects(answers, wanted)
    if not projects:
        if not (answers / "package.json").is_file() and len(wanted) != 1:
            raise UsageError(
                f"{shown(answers)} has no folder with the name of a page of {shown(dataset)}.",
                remedy="A project folder is called like its page: 1/ is built for 1.html or 1.png.",
            )
        _say("building", answers, quiet=quiet)
        return _site(answers, wanted, _build(answers, command, output), output)
    found = {}
    for number, (name, folder) in enumerate(projects.items(), start=1):
        _say(f"building {number} of {len(projects)}:", folder, quiet=quiet)
        found[name] = _build(folder, command, output)
    return found


def _projects(answers: Path, wanted: Iterable[str]) -> dict[str, Path]:
    """Return the folder of each page that has one of its own."""
    if (answers / "package.json").is_file():
        return {}
    found = {}
    for name in wanted:
        for folder in (answers / name, answers / name.removesuffix("/index")):
            if folder.is_dir() and folder != answers:
                found[name] = folder
                break
    return found


def _site(
    folder: Path, wanted: Iterable[str], build: Build, output: str | None
) -> dict[str, Build]:
    """Return the pages that one project has built, for those that are wanted."""
    names = list(wanted)
    if build.page is None:
        return dict.fromkeys(names, build)
    if len(names) == 1:
        return {names[0]: build}
    made = pages_in(_output(folder, output) or folder)
    missing = Build(folder, error=f"The build of {shown(folder)} made no such page.")
    pages = {name: made.get(same_page(name, made)) for name in names}
    return {name: Build(folder, page) if page else missing for name, page in pages.items()}


def _build(folder: Path, command: str, output: str | None) -> Build:
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            command,
            shell=True,  # it is the user's own command line
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=_environment(os.environ),
            start_new_session=True,  # so that all of it can be ended
        )
        try:
            code: int | None = process.wait(BUILD_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            kill_tree(process.pid)
            process.wait()
        size = printed.seek(0, os.SEEK_END)
        printed.seek(max(size - _LAST_BYTES, 0))
        said = _last_lines(printed.read())
    if code != 0:
        how = f"took more than {BUILD_SECONDS} s" if code is None else f"failed with code {code}"
        return Build(folder, error=f"The build of {folder.name} {how}: {said}")
    place = _output(folder, output)
    pages = {} if place is None else pages_in(place)
    page = pages.get("index") or next(iter(pages.values()), None)
    if page is None:
        places = output or ", ".join(OUTPUTS)
        return Build(folder, error=f"The build of {folder.name} left no page in {places}: {said}")
    return Build(folder, page)


def _output(folder: Path, output: str | None) -> Path | None:
    """Return the folder that was built into; the first of the usual ones that has pages."""
    found = (folder / name for name in ((output,) if output else OUTPUTS))
    return next((place for place in found if pages_in(place)), None)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in given.items()
        if (
            name in _PASSED
            or name.startswith((*_PASSED_PREFIXES, *map(str.lower, _PASSED_PREFIXES)))
        )
        and not any(word in name.upper() for word in _SECRET)
    }


def _last_lines(printed: bytes) -> str:
    text = printed.decode("utf-8", "replace")
    lines = ("".join(c for c in line if c.isprintable()).strip() for line in text.splitlines())
    return " | ".join([line for line in lines if line][-_LAST_LINES:]) or "it printed nothing"


def _say(what: str, folder: Path, *, quiet: bool) -> None:
    if not quiet:
        sys.stderr.write(f"uiproof: {what} {shown(folder)}\n")
