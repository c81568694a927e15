"""The verifier: does an interaction of a generated page work, and if not, how does it fail?"""

from uiproof.benchmarks.interaction2code.verifier.evidence import (
    Difference,
    GeneratedEvidence,
    Outcome,
    ReferenceEvidence,
    Verdict,
)
from uiproof.benchmarks.interaction2code.verifier.verdict import verify

__all__ = [
    "Difference",
    "GeneratedEvidence",
    "Outcome",
    "ReferenceEvidence",
    "Verdict",
    "verify",
]
