"""Grounding: from a screenshot and an instruction to the place on the screen."""

from uiproof.benchmarks.grounding.benchmark import BENCHMARK

__all__ = ["BENCHMARK"]
