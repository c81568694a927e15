"""The file that results are submitted in, as models; its JSON schema is made from them.

The digest is the SHA-256 of the document without `digest`, written as JSON with sorted keys,
without blanks and with everything that is not ASCII escaped.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    WithJsonSchema,
    model_validator,
)

from uiproof.benchmark import CaseError, Record
from uiproof.errors import InputError
from uiproof.files import access, has_more_values
from uiproof.remote.store import refuse_url

FORMAT = "uiproof-submission/1"
SCHEMA = Path(__file__).with_name("submission.schema.json")
_SHOWN = 3
MOST_BYTES = 200_000_000
_MOST_VALUES = 20_000_000  # a file of results of that size has fewer
_MOST_DIGITS = 20
_LARGEST = 1e15

_LONGEST_ID = 4_000
_MOST_FIELDS = 1_000


def _not_empty(case_id: str) -> str:
    if not 0 < len(case_id) <= _LONGEST_ID:
        raise ValueError(f"an id has 1 to {_LONGEST_ID} characters")
    return case_id


Name = Annotated[str, Field(min_length=1, max_length=300)]
# An id comes from names of files, which need not be valid Unicode; Field would insist on that.
CaseId = Annotated[
    str,
    AfterValidator(_not_empty),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": _LONGEST_ID}),
]
Number = Annotated[float, Field(allow_inf_nan=False)]


def _few(value: Any) -> Any:
    if isinstance(value, dict) and len(value) > _MOST_FIELDS:
        raise ValueError(f"it has more than {_MOST_FIELDS} fields")
    return value


# Problems are not collected without end: a list stops at its first one, and an object has few.
_Few = BeforeValidator(_few)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, value: Any) -> Any:
        return _few(value)


class Error(_Part):
    """Why a case failed, without the message."""

    code: Name = Field(description="Stays the same for one kind of failure, such as `render`.")
    stage: Literal["load", "pose", "answer", "score"]


class SubmittedCase(_Part):
    """The result of one case."""

    id: CaseId = Field(description="Its id in the data set.")
    status: Literal["scored", "failed"]
    error: Error | None = Field(description="Of failed cases only.")
    flags: Annotated[list[str], FailFast()] = Field(
        description="What was unusual.", max_length=1_000
    )
    scores: dict[str, Any] = Field(description="Null is what was not measured.")
    details: dict[str, Any] = Field(description="What the summary needs besides scores.")
    seconds: Annotated[dict[str, Number], _Few] = Field(description="By stage.")
    calls: Annotated[list[Annotated[dict[str, bool | int | Number | None], _Few]], FailFast()] = (
        Field(description="What each request to a model took.", max_length=10_000)
    )

    @model_validator(mode="after")
    def _failed_with_an_error(self) -> SubmittedCase:
        if (self.status == "failed") != (self.error is not None):
            raise ValueError("a case has an error if it failed, and only then")
        return self

    def record(self) -> Record:
        """Return the record, for summing up."""
        return Record(
            id=self.id,
            status=self.status,
            scores=self.scores,
            error=CaseError(self.error.code, self.error.stage, "") if self.error else None,
            details=self.details,
            flags=tuple(self.flags),
            seconds=self.seconds,
            calls=tuple(self.calls),
        )


class SubmittedRun(_Part):
    """One run of a method on a data set."""

    benchmark: Name
    dataset: Name = Field(description="What the submitter calls the data set.")
    dataset_key: Name = Field(description="Changes when files of the data set change.")
    method: Name
    assisted: bool = Field(description="Whether the method was given the truth.")
    settings: dict[str, Any] = Field(description="Of the method.")
    versions: Annotated[dict[str, str], _Few] = Field(description="Of the programs: `uiproof`.")
    fingerprint: dict[str, Any] = Field(description="What on the machine changes scores.")
    limit: Annotated[int, Field(ge=1)] | None = Field(description="Only the first cases.")
    shard: str | None = Field(max_length=30, description="Only a part, such as `3/16`.")
    planned: Annotated[int, Field(ge=0)] | None = Field(description="How many cases were to do.")
    created: str = Field(max_length=60)
    complete: bool = Field(description="Whether the run came to its end.")
    partial: Annotated[list[str], FailFast()] = Field(
        max_length=20, description="Why this is not the whole data set; empty where it is."
    )
    summary: dict[str, Any] = Field(description="Means with intervals, counts; see summary.json.")
    cases: Annotated[list[SubmittedCase], FailFast()] = Field(max_length=250_000)


class Submission(_Part):
    """Results of one or more runs, whole enough that others can check them."""

    format: Literal["uiproof-submission/1"]
    name: Name = Field(description="What leaderboards call it.")
    by: Name | None = Field(description="Who submits.")
    link: str | None = Field(max_length=2_000, pattern=r"^https?://[^\s]+$")
    note: str | None = Field(max_length=10_000)
    created: str = Field(max_length=60)
    runs: Annotated[list[SubmittedRun], FailFast()] = Field(min_length=1, max_length=100)
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")


def digest(document: Mapping[str, Any]) -> str:
    """Return the digest that a document must have."""
    content = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def content() -> str:
    """Return the content of the schema file."""
    schema = Submission.model_json_schema()
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2) + "\n"


def why_partial(run: SubmittedRun) -> list[str]:
    """Return why the cases of a run are not all of its data set; nothing where they are."""
    reasons = []
    if run.shard is not None:
        reasons.append(f"it is the shard {run.shard}")
    # A limit that is larger than the data set has cut nothing off.
    if run.limit is not None and (run.planned is None or run.planned >= run.limit):
        reasons.append(f"it was limited to {run.limit} cases")
    if not run.complete:
        reasons.append("it is not finished")
    elif run.planned is not None and len(run.cases) < run.planned:
        reasons.append(f"it has {len(run.cases)} of {run.planned} cases")
    unloaded = [case.id for case in run.cases if case.error and case.error.stage == "load"]
    if unloaded:
        more = ", …" if len(unloaded) > _SHOWN else ""
        named = ", ".join(map(repr, unloaded[:_SHOWN]))
        reasons.append(f"{len(unloaded)} cases could not be loaded ({named}{more})")
    return reasons


class NotASubmissionError(InputError):
    """A file that cannot even be read as JSON within the limits."""

    code = "not_a_submission"


def read_json(path: Path) -> Any:
    """Return the content of a file; raise `InputError` where it cannot be read safely.

    Numbers that no score can be, the same key twice in one object and NaN are refused here.
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
    """A value that JSON allows and a submission does not."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise _UnfitError(f"an object with the name {twice[:80]!r} twice")
    return found


def _no_constant(text: str) -> float:
    raise _UnfitError(f"{text}, which is not a number in JSON")


def _float(text: str) -> float:
    if not abs(value := float(text)) <= _LARGEST:
        raise _UnfitError(f"the number {text[:30]}, which is too large")
    return value


def _int(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _UnfitError(f"a number of {len(text)} digits, which is too large")
    return int(text)


if __name__ == "__main__":  # after a change of the models
    SCHEMA.write_text(content(), encoding="utf-8")
