"""The context of one case for a method: flags, calls, artifacts and rendering."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.engine.rundir import RunDirectory
from uiproof.errors import MethodError

if TYPE_CHECKING:
    from uiproof.models.chat import ChatModel
    from uiproof.models.types import Reply, Request

Render = Callable[[Any], Awaitable[bytes]]
Compare = Callable[[Any], Awaitable[Sequence[Mapping[str, Any]]]]


class Context:
    """The context in which a method answers a question.

    Flags, calls and files that it leaves here go into the record, also when the case fails.
    """

    def __init__(
        self,
        case_id: str,
        *,
        run: RunDirectory | None = None,
        render: Render | None = None,
        compare: Compare | None = None,
        ask_again: bool = False,
        truth: Any = None,
        sample: int = 0,
    ) -> None:
        self.sample = sample  # which of several answers to this case is asked for, from 0
        self.truth = truth  # only ever set for methods that are marked `assisted`
        self.ask_again = ask_again  # the last answer was useless: a cached one must not be used
        self.flags: list[str] = []
        self.calls: list[Mapping[str, Any]] = []
        self.artifacts: dict[str, str] = {}
        self._case_id, self._run = case_id, run
        self._render, self._compare = render, compare

    def flag(self, flag: str) -> None:
        """Flag something unusual about the answer, for example `answer:truncated`."""
        if flag not in self.flags:
            self.flags.append(flag)

    async def ask(
        self,
        model: ChatModel,
        request: Request,
        *,
        fresh: bool | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Ask a model about this case and record the call, with further facts."""
        if self.sample:
            request = replace(request, sample=self.sample)
        reply = await model.ask(request, fresh=self.ask_again if fresh is None else fresh)
        self.note_call({**model.facts(reply), **(facts or {})})
        return reply

    def note_call(self, call: Mapping[str, Any]) -> None:
        """Record tokens, cost and time of one request to a model; summaries add them up."""
        self.calls.append(call)

    def keep(self, name: str, content: bytes) -> None:
        """Store a file with the case, such as a raw answer; do nothing outside a run."""
        if self._run is None:
            return
        path: Path = self._run.artifact_dir(self._case_id) / name
        path.write_bytes(content)
        self.artifacts[path.stem] = path.relative_to(self._run.path).as_posix()

    async def render(self, answer: Any) -> bytes:
        """Return a picture of an answer as PNG, for methods that look at what they made."""
        if self._render is None:
            raise MethodError("Answers cannot be rendered here.")
        return await self._render(answer)

    async def differences(self, answer: Any) -> Sequence[Mapping[str, Any]]:
        """Return how an answer differs from the truth; only for methods marked `assisted`."""
        if self._compare is None:
            raise MethodError("Answers cannot be compared here.")
        return await self._compare(answer)
