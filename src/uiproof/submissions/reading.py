"""Files of strangers as JSON: bounded in size, depth and numbers, and never a surprise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from uiproof.engine.storage import access
from uiproof.errors import InputError
from uiproof.json_size import has_more_values
from uiproof.remote.urls import refuse_url

MOST_BYTES = 200_000_000
_MOST_VALUES = 20_000_000  # a file of results of that size has fewer
_MOST_DIGITS = 20
_LARGEST = 1e15


class NotASubmissionError(InputError):
    """A file that cannot even be read as JSON within the limits."""

    code = "not_a_submission"


def read_json(path: Path) -> Any:
    """The content of a file; `InputError` where there is none, and where it is not fit to be read.

    Numbers that no score can be, twice the same key in one object and NaN are refused here, so
    that nobody behind has to think of them.
    """
    refuse_url(path, "read")
    if not path.is_file():
        what = f"{path} is not a file" if path.exists() else f"There is no file {path}"
        raise InputError(f"{what}.", remedy="Name a file that `uiproof submit` has written.")
    with access(path, "read"), path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)  # what a system says about sizes may be wrong
    if len(content) > MOST_BYTES:
        raise NotASubmissionError(f"It is larger than {MOST_BYTES // 1_000_000} MB.")
    if has_more_values(content, _MOST_VALUES):
        raise NotASubmissionError(f"It has more than {_MOST_VALUES:,} values.")
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except UnicodeDecodeError as error:
        raise NotASubmissionError(f"It is not UTF-8: byte {error.start} is wrong.") from None
    except RecursionError:
        raise NotASubmissionError("It is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise NotASubmissionError(
            f"It is not JSON: {error.msg} in line {error.lineno}, column {error.colno}."
        ) from None
    except _UnfitError as error:
        raise NotASubmissionError(f"It holds {error}.") from None


class _UnfitError(Exception):
    """What JSON allows and a submission does not."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _UnfitError(f"an object with the name {name[:80]!r} twice")
            seen.add(name)
    return found


def _no_constant(text: str) -> float:
    raise _UnfitError(f"{text}, which is not a number in JSON")


def _float(text: str) -> float:
    value = float(text)
    if not abs(value) <= _LARGEST:
        raise _UnfitError(f"the number {text[:30]}, which is too large")
    return value


def _int(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _UnfitError(f"a number of {len(text)} digits, which is too large")
    return int(text)
