"""Settings from the environment, read once where a command or call begins.

Arguments win over the environment, the environment over the file `.env` of the current folder (of
which only `EVAL_*` counts), and that over the defaults:

    Settings.from_environment()                       # UIPROOF_*, EVAL_* and defaults
    Settings.from_environment(workers=4)              # an argument that wins
    Settings.from_environment({"UIPROOF_WORKERS": "4"})  # another environment, for tests
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uiproof.errors import UsageError
from uiproof.units import parse_size

# Where the framework behind EVAL_* keeps its files by default.
DATASETS_DIR = Path("evaluation/datasets")
RESULTS_DIR = Path("evaluation/results")
CHARTS_DIR = Path("evaluation/charts")
_DOTENV = Path(".env")
_DOTENV_BYTES = 1 << 20  # more than people write by hand


def _default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "uiproof"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of uiproof on this machine.

    `None` means: not set, so the part that uses it decides for itself.
    """

    cache_dir: Path = field(default_factory=_default_cache)  # UIPROOF_CACHE: fetched data, answers
    web: Path | None = None  # UIPROOF_WEB: the frozen web; by default `web` in the cache folder
    # UIPROOF_RUNS: where `run` puts a run without --out; a folder, or a URL as it was given
    runs_dir: Path | str = Path("runs")
    push_seconds: float = 15.0  # UIPROOF_PUSH_SECONDS: at least so long between pushes to a URL
    mirror_bytes: int = 50 * 10**9  # UIPROOF_MIRROR_SIZE: local copies of URLs that are kept
    workers: int | None = None  # UIPROOF_WORKERS: judge processes
    clip: Path | None = None  # UIPROOF_CLIP: an ONNX vision tower of CLIP ViT-B/32
    case_timeout: float = 300.0  # UIPROOF_CASE_TIMEOUT: seconds one case may take to judge
    model_cache_bytes: int = 5 * 10**9  # UIPROOF_MODEL_CACHE_SIZE: answers of models that are kept
    prices: Path | None = None  # UIPROOF_PRICES: what models cost, over what uiproof knows
    # EVAL_*: names of a framework that uiproof implements.
    omniparser_url: str = "http://localhost:8000"  # EVAL_OMNIPARSER_URL
    uitars_url: str = "http://localhost:8001/v1"  # EVAL_UITARS_URL
    uitars_model: str = "ByteDance-Seed/UI-TARS-1.5-7B"  # EVAL_UITARS_MODEL
    datasets_dir: Path = DATASETS_DIR  # EVAL_DATASETS_DIR: where data sets are found by name
    results_dir: Path | None = None  # EVAL_RESULTS_DIR: results in the framework's own format
    charts_dir: Path | None = None  # EVAL_CHARTS_DIR: where `compare` draws its charts
    iou_threshold: float = 0.3  # EVAL_DEFAULT_IOU_THRESHOLD: match score of a found element
    bbox_tolerance: float = 0.02  # EVAL_BBOX_TOLERANCE: around the target, of the picture's sides
    crop_sizes: tuple[int, ...] = (200, 300, 500)  # EVAL_CROP_SIZES: pixels, of fixed crops
    debug: bool = False  # UIPROOF_DEBUG: show tracebacks

    @property
    def web_dir(self) -> Path:
        """Return the folder of the frozen web."""
        return self.web or self.cache_dir / "web"

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] | None = None, **arguments: Any
    ) -> Settings:
        """Read `UIPROOF_*` and `EVAL_*`; arguments that are not `None` win.

        Raises `UsageError` that names the variable when a value is malformed.
        """
        if environment is None:
            environment = {**_dotenv(_DOTENV), **os.environ}
        values: dict[str, Any] = {}
        for name, (variable, parse) in _VARIABLES.items():
            text = environment.get(variable, "").strip()
            if text:
                values[name] = parse(variable, text)
        values.update((name, value) for name, value in arguments.items() if value is not None)
        return cls(**values)


_ASSIGNMENT = re.compile(
    r"""\s*(?:export\s+)?(EVAL_\w+)\s*=\s*(?:"([^"]*)"|'([^']*)'|(.*?))\s*(?:(?<=\s)\#.*)?"""
)


def _dotenv(file: Path) -> dict[str, str]:
    """Return what a `.env` file says of `EVAL_*`.

    Other names stay unread: a folder from elsewhere must not redirect where keys go.
    """
    try:
        if not file.is_file():  # some call their virtual environment so
            return {}
        with file.open(encoding="utf-8-sig", errors="replace") as content:
            lines = content.read(_DOTENV_BYTES).splitlines()
    except OSError:
        return {}
    found = filter(None, map(_ASSIGNMENT.fullmatch, lines))
    return {match[1]: match[2] or match[3] or match[4] or "" for match in found}


def _text(_variable: str, text: str) -> str:
    return text


def _path(_variable: str, text: str) -> Path:
    return Path(text).expanduser()


def _place(_variable: str, text: str) -> Path | str:
    # A path would make one slash of the two.
    return text if "://" in text else Path(text).expanduser()


def _number(
    variable: str, text: str, kind: type[Any], fits: Callable[[Any], bool], words: str, example: str
) -> Any:
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not fits(number):
        raise UsageError(
            f"{variable} is {text!r}, which is not {words}.",
            remedy=f"Set {variable} to a number such as {example}, or unset it.",
        )
    return number


def _count(variable: str, text: str) -> int:
    words = "a whole number of at least 1"
    return int(_number(variable, text, int, lambda count: count >= 1, words, "4"))


def _seconds(variable: str, text: str) -> float:
    words = "a positive number of seconds"
    return float(_number(variable, text, float, lambda one: 0 < one < float("inf"), words, "30"))


def _share(variable: str, text: str) -> float:
    words = "a number from 0 to 1"
    return float(_number(variable, text, float, lambda share: 0 <= share <= 1, words, "0.3"))


def _size(variable: str, text: str) -> int:
    try:
        return parse_size(text)
    except UsageError as error:
        raise UsageError(f"{variable}: {error.message}", remedy=error.remedy) from error


def _counts(variable: str, text: str) -> tuple[int, ...]:
    return tuple(_count(variable, part.strip()) for part in text.strip("[]").split(","))


_YES = {"1", "true", "yes", "on"}
_NO = {"0", "false", "no", "off"}


def _switch(variable: str, text: str) -> bool:
    if text.lower() not in _YES | _NO:
        raise UsageError(
            f"{variable} is {text!r}, which is neither yes nor no.",
            remedy=f"Set {variable} to 1 or 0, or unset it.",
        )
    return text.lower() in _YES


_VARIABLES: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "cache_dir": ("UIPROOF_CACHE", _path),
    "web": ("UIPROOF_WEB", _path),
    "runs_dir": ("UIPROOF_RUNS", _place),
    "push_seconds": ("UIPROOF_PUSH_SECONDS", _seconds),
    "mirror_bytes": ("UIPROOF_MIRROR_SIZE", _size),
    "workers": ("UIPROOF_WORKERS", _count),
    "clip": ("UIPROOF_CLIP", _path),
    "case_timeout": ("UIPROOF_CASE_TIMEOUT", _seconds),
    "model_cache_bytes": ("UIPROOF_MODEL_CACHE_SIZE", _size),
    "prices": ("UIPROOF_PRICES", _path),
    "omniparser_url": ("EVAL_OMNIPARSER_URL", _text),
    "uitars_url": ("EVAL_UITARS_URL", _text),
    "uitars_model": ("EVAL_UITARS_MODEL", _text),
    "datasets_dir": ("EVAL_DATASETS_DIR", _path),
    "results_dir": ("EVAL_RESULTS_DIR", _path),
    "charts_dir": ("EVAL_CHARTS_DIR", _path),
    "iou_threshold": ("EVAL_DEFAULT_IOU_THRESHOLD", _share),
    "bbox_tolerance": ("EVAL_BBOX_TOLERANCE", _share),
    "crop_sizes": ("EVAL_CROP_SIZES", _counts),
    "debug": ("UIPROOF_DEBUG", _switch),
}
