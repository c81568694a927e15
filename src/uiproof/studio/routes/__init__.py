"""The rooms of the studio, each with its addresses."""

from __future__ import annotations

from uiproof.studio.routes import annotate, data, exchange, frames, people, results, runs

ROUTERS = tuple(room.router for room in (runs, annotate, frames, people, results, exchange, data))

__all__ = ["ROUTERS"]
