"""An audit of grounding protocols as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.audit import Audited


def audit_table(rows: Sequence[Audited]) -> str:
    """One line per protocol and control, and what it amounts to."""
    lines = [f"{'Protocol':<24}{'Control':<10}{'n':>7}{'Rate':>9}  {'95 %':<15}{'Chance':>8}"]
    for row in rows:
        low, high = row.rate.low or 0.0, row.rate.high or 0.0
        bounds = f"{100 * low:.1f}-{100 * high:.1f} %"
        verdict = "" if not row.leaks else "LEAKS" if row.claims_blind else "leaks, as declared"
        lines.append(
            f"{row.protocol:<24}{row.control:<10}{row.rate.n:>7,}{100 * row.rate.mean:>7.1f} %"
            f"  {bounds:<15}{100 * row.chance:>6.2f} %  {verdict}".rstrip()
        )
    broken = sorted({row.protocol for row in rows if row.leaks and row.claims_blind})
    if broken:
        lines.append(f"Broken: {', '.join(broken)}. A control that never looks beats chance there.")
    else:
        lines.append("No control beats chance under a protocol that claims to be blind.")
    if any(row.leaks and not row.claims_blind for row in rows):
        lines.append("Assisted protocols know the target; their rates say little about finding it.")
    return "\n".join(lines)
