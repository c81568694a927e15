"""Design2Code: from a screenshot of a page to HTML that looks the same."""

from uiproof.benchmarks.design2code.benchmark import BENCHMARK

__all__ = ["BENCHMARK"]
