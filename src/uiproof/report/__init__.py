"""Runs for people to look at: tables and one self-contained HTML page."""

from __future__ import annotations

from uiproof.report.html import write_report

__all__ = ["write_report"]
