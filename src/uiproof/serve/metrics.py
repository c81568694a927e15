"""What `/metrics` tells Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from uiproof.scoring.pool import WarmPool

_SECONDS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300)


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self, pool: WarmPool) -> None:
        self._pool = pool
        self._deaths_told = 0
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "uiproof_requests",
            "Pages answered; outcome: scored, failed, deadline, cancelled or error.",
            ["benchmark", "outcome"],
            registry=self._registry,
        )
        self.latency = Histogram(
            "uiproof_request_seconds",
            "Seconds from accepting a page to its score, waiting included.",
            ["benchmark"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.rejected = Counter(
            "uiproof_rejected",
            "Requests that were refused; reason: queue, draining, size, token, host, origin or "
            "invalid.",
            ["reason"],
            registry=self._registry,
        )
        self.references = Counter(
            "uiproof_reference_cache",
            "References that were known already (hit) or had to be made (miss).",
            ["result"],
            registry=self._registry,
        )
        self._deaths = Counter(
            "uiproof_worker_deaths",
            "Workers that died or hung and were replaced.",
            registry=self._registry,
        )
        self._gauge("uiproof_queue_length", "Pages that wait for a worker.", lambda: pool.waiting)
        self._gauge("uiproof_in_flight", "Pages that workers score now.", lambda: pool.running)
        self._gauge("uiproof_workers", "Workers of this service.", lambda: pool.workers)

    def text(self) -> bytes:
        """Everything in the text format of Prometheus."""
        self._deaths.inc(self._pool.deaths - self._deaths_told)
        self._deaths_told = self._pool.deaths
        return generate_latest(self._registry)

    def _gauge(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        Gauge(name, help_text, registry=self._registry).set_function(value)
