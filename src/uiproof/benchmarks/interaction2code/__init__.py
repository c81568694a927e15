"""Interaction2Code: from screenshots before and after interactions to a page where they work."""

from uiproof.benchmarks.interaction2code.benchmark import BENCHMARK

__all__ = ["BENCHMARK"]
