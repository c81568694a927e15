"""Reward functions with the signatures that trainers call.

    trainer = GRPOTrainer(reward_funcs=uiproof.rewards.frameworks.trl_reward, ...)

or with other options, `FrameworkReward(deadline=60, weights={"text": 2}).trl`. The functions
of this module take their options from the environment: UIPROOF_REWARD_PROFILE,
UIPROOF_REWARD_DEADLINE (seconds) and UIPROOF_REWARD_URL, the address of a `uiproof serve`.

This file can be loaded by its path, as verl and OpenRLHF do. No trainer is imported.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from statistics import fmean
from typing import Any

from uiproof.errors import UsageError
from uiproof.rewards.client import Client
from uiproof.rewards.completions import answer_in, reference_in
from uiproof.rewards.reward import PROFILE, Reward, reward_many_async, wait_for

NOT_SCORED = "There was no score within the deadline."
_COLUMNS = ("reference", "ground_truth", "label", "answer", "solution")  # of data sets, in turn


@dataclass(frozen=True)
class FrameworkReward:
    """One reward for every trainer.

    - `column`: the column of the data set with the references; None for the first of `reference`,
      `ground_truth`, `label`, `answer` and `solution`. Without any, pages are checked by themselves
    - `deadline`: seconds for a batch. What has no score then is None where the trainer leaves it
      out of its means (TRL), and 0 elsewhere
    - `url`: a `uiproof serve` that does the work, with the token in UIPROOF_SERVE_TOKEN; else
      browsers run on this machine
    """

    profile: str = PROFILE
    weights: Mapping[str, float] | None = None
    deadline: float | None = None
    column: str | None = None
    url: str | None = None

    @classmethod
    def from_environment(cls) -> FrameworkReward:
        """Return the options that environment variables set."""
        deadline = os.environ.get("UIPROOF_REWARD_DEADLINE", "")
        try:
            seconds = float(deadline) if deadline else None
        except ValueError:
            raise UsageError(
                f"UIPROOF_REWARD_DEADLINE is {deadline!r}.", remedy="Give a number of seconds."
            ) from None
        return cls(
            profile=os.environ.get("UIPROOF_REWARD_PROFILE") or PROFILE,
            deadline=seconds,
            url=os.environ.get("UIPROOF_REWARD_URL") or None,
        )

    # --- what all of them call

    async def score(
        self,
        completions: Sequence[Any],
        labels: Sequence[Any],
        prompts: Sequence[Any] | None = None,
    ) -> list[Reward | None]:
        """Return the rewards of completions in their order; None where time ran out."""
        before = prompts if prompts is not None else [None] * len(completions)
        pairs = [
            (answer_in(completion, prompt), *reference_in(label))
            for completion, label, prompt in zip(completions, labels, before, strict=True)
        ]
        if self._client is not None:
            items = [
                {"generated": answer.text, "completion": True, "reference": reference, **options}
                for answer, reference, options in pairs
            ]
            return await self._client.reward_many_async(
                items, profile=self.profile, weights=self.weights, deadline=self.deadline
            )
        found = await asyncio.gather(
            *(
                reward_many_async(
                    [(answer, reference)],
                    profile=self.profile,
                    weights=self.weights,
                    deadline=self.deadline,
                    **options,
                )
                for answer, reference, options in pairs
            )
        )
        return [one for (one,) in found]

    @cached_property
    def _client(self) -> Client | None:
        token = os.environ.get("UIPROOF_SERVE_TOKEN") or None
        return None if self.url is None else Client(self.url, token=token)

    def _with(self, options: Mapping[str, Any]) -> FrameworkReward:
        """Return this reward with options from the trainer's settings."""
        named = ("profile", "weights", "deadline", "url")
        given = {name: options[name] for name in named if options.get(name) is not None}
        return replace(self, **given) if given else self

    def _labels(self, columns: Mapping[str, Any], many: int) -> Sequence[Any]:
        if self.column is not None and self.column not in columns:
            raise UsageError(
                f"The data set has no column {self.column!r}.",
                remedy=f"It has: {', '.join(columns) or 'none'}.",
            )
        names = [self.column] if self.column else [name for name in _COLUMNS if name in columns]
        return columns[names[0]] if names else [None] * many

    # --- one method for each trainer

    async def trl(
        self,
        prompts: Sequence[Any] | None = None,  # noqa: ARG002 - completions come without them
        completions: Sequence[Any] = (),
        completion_ids: Any = None,  # noqa: ARG002
        trainer_state: Any = None,  # noqa: ARG002
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """TRL: `GRPOTrainer(reward_funcs=…)`."""
        found = await self.score(completions, self._labels(columns, len(completions)))
        if log_metric is not None:
            for name, value in _means(found).items():
                log_metric(f"uiproof/{name}", value)
        if log_extra is not None:
            log_extra(
                "uiproof_reason", [NOT_SCORED if one is None else one.reason for one in found]
            )
        return [None if one is None else one.value for one in found]

    async def verl(
        self,
        data_source: Any,  # noqa: ARG002
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,  # noqa: ARG002
        **options: Any,
    ) -> dict[str, Any]:
        """verl: `reward.custom_reward_function`; options are its `reward_kwargs`."""
        (found,) = await self._with(options).score([solution_str], [ground_truth])
        if found is None:
            return {"score": 0.0, "timed_out": 1.0}
        return {"score": found.value, "timed_out": 0.0, **found.components}

    def openrlhf(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **options: Any
    ) -> dict[str, Any]:
        """OpenRLHF: a file for `--reward.remote_url`; tensors where torch is installed."""
        found = wait_for(self._with(options).score(queries, labels, prompts))
        answer = openrlhf_answer(found)
        try:
            tensor = import_module("torch").tensor
        except ImportError:
            return answer
        logs = {name: tensor(values) for name, values in answer["extra_logs"].items()}
        rewards = tensor(answer["rewards"])
        return {"rewards": rewards, "scores": rewards, "extra_logs": logs}

    async def slime(self, args: Any, sample: Any, **options: Any) -> float:
        """slime: `--custom-rm-path`."""
        (value,) = await self.slime_group(args, [sample], **options)
        return value

    async def slime_group(self, args: Any, samples: Sequence[Any], **options: Any) -> list[float]:  # noqa: ARG002
        """slime with `--group-rm`."""
        responses = [sample.response for sample in samples]
        labels = [sample.label for sample in samples]
        found = await self._with(options).score(responses, labels)
        return [0.0 if one is None else one.value for one in found]

    async def areal(
        self,
        prompt: Any,
        completions: Any,
        prompt_ids: Any = None,  # noqa: ARG002
        completion_ids: Any = None,  # noqa: ARG002
        answer: Any = None,
        **columns: Any,
    ) -> float:
        """Score one completion, awaited; AReaL's own workflows call `areal_reward`."""
        columns = columns if answer is None else {"answer": [answer], **columns}
        (found,) = await self.score([completions], self._labels(columns, 1), [prompt])
        return 0.0 if found is None else found.value

    async def nemo_gym(self, body: Any) -> dict[str, Any]:
        """NeMo Gym: what `verify` adds to its request, `reward` and `reward_components`.

        The reference is the field `reference`, `ground_truth`, `label` or `answer` of the request,
        or of its `verifier_metadata`.
        """
        fields = body.model_dump() if hasattr(body, "model_dump") else dict(body)
        metadata = fields.get("verifier_metadata")
        fields = {**(metadata if isinstance(metadata, Mapping) else {}), **fields}
        label = self._labels({name: [value] for name, value in fields.items()}, 1)
        (found,) = await self.score([_output_text(fields.get("response"))], label)
        if found is None:
            return {"reward": 0.0, "reward_components": {"timed_out": 1.0}}
        return {"reward": found.value, "reward_components": dict(found.components)}


def openrlhf_answer(found: Sequence[Reward | None]) -> dict[str, Any]:
    """Return rewards as OpenRLHF reads them, from a file and over HTTP."""
    names = sorted({name for one in found if one is not None for name in one.components})
    logs = {
        name: [0.0 if one is None else one.components.get(name, 0.0) for one in found]
        for name in names
    }
    values = [0.0 if one is None else one.value for one in found]
    logs["timed_out"] = [float(one is None) for one in found]
    return {"rewards": values, "scores": values, "extra_logs": logs}


def _means(found: Sequence[Reward | None]) -> dict[str, float]:
    scored = [one for one in found if one is not None]
    names = sorted({name for one in scored for name in one.components})
    means = {
        name: fmean(one.components[name] for one in scored if name in one.components)
        for name in names
    }
    return {**means, "timed_out": (len(found) - len(scored)) / max(len(found), 1)}


def _output_text(response: Any) -> str:
    """Return the text in a response of the Responses API: its last message."""
    if not isinstance(response, Mapping):
        return answer_in(response).text
    messages = [one for one in response.get("output") or () if one.get("type") == "message"]
    parts = messages[-1].get("content") if messages else response.get("output_text", "")
    return answer_in(parts).text


@cache
def _default() -> FrameworkReward:
    return FrameworkReward.from_environment()


async def trl_reward(
    prompts: Sequence[Any] | None = None,
    completions: Sequence[Any] = (),
    completion_ids: Any = None,
    trainer_state: Any = None,
    log_extra: Callable[[str, list[Any]], None] | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> list[float | None]:
    """TRL: `GRPOTrainer(reward_funcs=trl_reward)`."""
    return await _default().trl(
        prompts, completions, completion_ids, trainer_state, log_extra, log_metric, **columns
    )


async def compute_score(
    data_source: Any,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """verl: `reward.custom_reward_function.path=<this file>`, `.name=compute_score`."""
    return await _default().verl(data_source, solution_str, ground_truth, extra_info, **options)


def reward_func(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **options: Any
) -> dict[str, Any]:
    """OpenRLHF: `--reward.remote_url <this file>`."""
    return _default().openrlhf(queries, prompts, labels, **options)


async def custom_rm(args: Any, sample: Any, **options: Any) -> float:
    """slime: `--custom-rm-path uiproof.rewards.frameworks.custom_rm`."""
    return await _default().slime(args, sample, **options)


async def batched_custom_rm(args: Any, samples: Sequence[Any], **options: Any) -> list[float]:
    """slime: `--group-rm --custom-rm-path uiproof.rewards.frameworks.batched_custom_rm`."""
    return await _default().slime_group(args, samples, **options)


def areal_reward(
    prompt: Any,
    completions: Any,
    prompt_ids: Any = None,
    completion_ids: Any = None,
    answer: Any = None,
    **columns: Any,
) -> float:
    """AReaL: `RLVRWorkflow(reward_fn=areal_reward)`, which calls it in a separate process."""
    work = _default().areal(prompt, completions, prompt_ids, completion_ids, answer, **columns)
    return wait_for(work)


async def verify(body: Any) -> dict[str, Any]:
    """NeMo Gym: `BaseVerifyResponse(**body.model_dump(), **await verify(body))`."""
    return await _default().nemo_gym(body)


class SwiftReward:
    """ms-swift: `orms["uiproof"] = SwiftReward` in a plugin file; it is called as `ORM` is."""

    def __init__(self, args: Any = None, **options: Any) -> None:
        self.args = args
        self._reward = _default()._with(options)

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Return the rewards of completions; columns of the data set come as lists."""
        labels = self._reward._labels(columns, len(completions))
        found = wait_for(self._reward.score(completions, labels))
        if missing := sum(one is None for one in found):
            logging.getLogger(__name__).warning("%d answers: %s", missing, NOT_SCORED)
        return [0.0 if one is None else one.value for one in found]


class AsyncSwiftReward(SwiftReward):
    """ms-swift: the same as `AsyncORM`."""

    async def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float]:  # type: ignore[override]
        """Return the rewards of completions, awaited."""
        labels = self._reward._labels(columns, len(completions))
        found = await self._reward.score(completions, labels)
        return [0.0 if one is None else one.value for one in found]
