"""A taskset of verifiers v1: prompts with references, and our reward for the last reply.

    [env.taskset]
    id = "uiproof.rewards.verifiers_taskset"
    rows = "pages.jsonl"          # lines {"prompt": …, "reference": …}

A prompt is a text or a list of messages, which may have pictures. References are labels as of
`uiproof.rewards.frameworks`; a row without one has its page checked by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from uiproof.errors import InputError
from uiproof.rewards.frameworks import FrameworkReward

__all__ = ["PageTaskset"]


class PageData(vf.TaskData):  # type: ignore[misc, unused-ignore]
    """A prompt and its reference."""

    reference: Any = None


class PageTask(vf.Task[PageData]):  # type: ignore[misc, unused-ignore]
    """Make what a prompt asks for."""

    @vf.reward(weight=1.0)  # type: ignore[untyped-decorator, unused-ignore]
    async def page_reward(self, trace: vf.Trace) -> float:
        """Return the reward of the last reply, with the options of the environment."""
        reward = FrameworkReward.from_environment()
        (found,) = await reward.score([trace.last_reply], [self.data.reference])
        return 0.0 if found is None else found.value


class PageTasksetConfig(vf.TasksetConfig):  # type: ignore[misc, unused-ignore]
    """The path of the JSON Lines file."""

    rows: Path


class PageTaskset(vf.Taskset[PageTask, PageTasksetConfig]):  # type: ignore[misc, unused-ignore]
    """The rows of a JSON Lines file."""

    def load(self) -> Iterator[PageTask]:
        """Yield a task for each row."""
        for number, line in enumerate(self.config.rows.read_text("utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                data = PageData(
                    id=str(row.get("id", number)),
                    prompt=row["prompt"],
                    reference=row.get("reference"),
                )
            except (ValueError, KeyError, AttributeError) as error:
                raise InputError(
                    f"{self.config.rows}, line {number}: {error}",
                    remedy='Write rows {"prompt": …, "reference": …}.',
                ) from error
            yield PageTask(data, self.config.task)
