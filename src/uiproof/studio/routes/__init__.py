"""The addresses of the studio."""

from uiproof.studio.routes import data, results, runs, tasks

ROUTERS = tuple(module.router for module in (runs, tasks, results, data))

__all__ = ["ROUTERS"]
