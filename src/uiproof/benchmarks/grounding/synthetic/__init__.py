"""Synthetic grounding data: simple pages whose elements are known to the pixel.

from uiproof.benchmarks.grounding.synthetic import generate

generate(Path("pages"), count=500, seed=42)
"""

from uiproof.benchmarks.grounding.synthetic.generator import (
    DEFAULT_MIX,
    Plan,
    generate,
    make_sample,
    parse_resolution,
    plan,
    shares,
    write_samples,
)

__all__ = [
    "DEFAULT_MIX",
    "Plan",
    "generate",
    "make_sample",
    "parse_resolution",
    "plan",
    "shares",
    "write_samples",
]
