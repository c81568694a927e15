"""Reports: one self-contained HTML page about runs, and their tables as text."""

from __future__ import annotations

from uiproof.report.html import write_report

__all__ = ["write_report"]
