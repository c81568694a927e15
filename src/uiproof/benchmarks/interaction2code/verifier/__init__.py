"""The verifier: does an interaction of a generated page work, and if not, how does it fail?"""

from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Outcome,
    ReferenceEvidence,
    Verdict,
)

__all__ = ["GeneratedEvidence", "Outcome", "ReferenceEvidence", "Verdict", "verify"]


def verify(reference: ReferenceEvidence, generated: GeneratedEvidence) -> Verdict:
    """Decide whether an interaction of a generated page works, and if not, how it fails."""
    from uiproof.benchmarks.interaction2code.verifier.rules import verify

    return verify(reference, generated)
