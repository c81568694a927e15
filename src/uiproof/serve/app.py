"""The service: its addresses, and a server that finishes what it has begun before it ends."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Mapping
from importlib.metadata import version
from types import FrameType
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from uiproof.benchmark import CaseError, Record
from uiproof.errors import UiproofError, UsageError
from uiproof.http_server import server_config
from uiproof.rewards.frameworks import openrlhf_answer
from uiproof.rewards.reward import reward_of
from uiproof.scoring.pool import MACHINE_ERRORS, WarmPool
from uiproof.serve.middleware import AsciiResponse, RequestFilter, problem, refusal
from uiproof.serve.queue import ScoreQueue
from uiproof.serve.schema import (
    Item,
    OpenRlhfRewards,
    Refusal,
    RefusedError,
    Requests,
    Result,
    Results,
    RewardItem,
    RewardResult,
    RewardResults,
    State,
)
from uiproof.sockets import HostNames

_ABOUT = """Scores generated pages: HTML in, scores out. The same pages always score the same.

A page that cannot be scored does not fail the request: its result has the status `failed`, the
reason and the scores of a failure. See `docs/serve.md` for training loops."""
_T = TypeVar("_T")
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])
_CLIENT_GONE = 499  # never read
_LAST_ANSWERS = 5  # seconds for answers that are made to reach their clients
_READ_AT_ONCE = 2  # requests; each takes several times its size in memory

_REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": Refusal, "description": "The token is missing or wrong."},
    403: {"model": Refusal, "description": "The request comes from a page of another web site."},
    413: {"model": Refusal, "description": "The request is too large."},
    415: {"model": Refusal, "description": "The request is compressed."},
    421: {"model": Refusal, "description": "Unknown host name."},
    422: {"model": Refusal, "description": "The request is invalid."},
    429: {"model": Refusal, "description": "The queue is full; `Retry-After` says how long."},
    503: {"model": Refusal, "description": "Shutting down, or a dependency is missing."},
    504: {"model": Result, "description": "No score within the deadline (single pages)."},
}


def make_app(
    queue: ScoreQueue, token: str | None = None, hosts: HostNames | None = None
) -> FastAPI:
    """Make the service. The caller warms the pool and sets `queue.warm`."""
    app = _Service(
        title="uiproof",
        version=version("uiproof"),
        description=_ABOUT,
        docs_url=None,  # FastAPI's pages load their scripts from another host
        redoc_url=None,
        default_response_class=AsciiResponse,
    )
    app.bodies = {"/score": queue.requests, "/reward": queue.reward_requests}
    app.add_middleware(
        RequestFilter,
        queue=queue,
        token=token,
        hosts=HostNames.of("127.0.0.1") if hosts is None else hosts,
    )
    _add_errors(app, queue)
    reading = asyncio.Semaphore(_READ_AT_ONCE)

    async def asked(request: Request, read: Callable[[bytes, int], _T]) -> _T:
        body = await _body(request)
        async with reading:
            return await asyncio.to_thread(read, body, queue.capacity)

    async def rewarded(request: Request, items: list[Item]) -> list[RewardResult]:
        results = await _answered(request, queue, items)
        return [_rewarded(item, one) for item, one in zip(items, results, strict=True)]

    def post(path: str, summary: str, model: Any) -> Callable[[_Endpoint], _Endpoint]:
        return app.post(path, summary=summary, response_model=model, responses=_REFUSALS)

    @post("/score", "Score one page, or several", Result | Results)
    async def score(request: Request) -> Response:
        """One item gives one result; `items` give `results` in their order.

        A single page without a score within its deadline is a 504; in a batch, its result has the
        error `deadline`.
        """
        items, batch = await asked(request, queue.requests.read)
        results = await _answered(request, queue, items)
        if batch:
            return AsciiResponse(Results(results=results).model_dump())
        return AsciiResponse(results[0].model_dump(), 504 if results[0].scores is None else 200)

    @post("/reward", "Reward one answer, or several", RewardResult | RewardResults)
    async def reward(request: Request) -> Response:
        """As `/score`, but one number in 0-1 for each; without a reference, pages are checked."""
        items, batch = await asked(request, queue.reward_requests.read)
        found = await rewarded(request, items)
        if batch:
            return AsciiResponse(RewardResults(results=found).model_dump())
        return AsciiResponse(found[0].model_dump(), 504 if found[0].reward is None else 200)

    @post("/reward/openrlhf", "Reward a batch of OpenRLHF", OpenRlhfRewards)
    async def openrlhf(request: Request) -> Response:
        """`{"query": […], "prompts": […], "labels": […]}`, as of `--reward.remote_url`."""
        items = await asked(request, queue.reward_requests.read_openrlhf)
        found = await rewarded(request, items)
        return AsciiResponse(openrlhf_answer([one.as_reward() for one in found]))

    @post("/reward/slime", "Reward a sample of slime", float)
    async def slime(request: Request) -> Response:
        """`{"prompt", "response", "label"}`, as of `--rm-url`; the answer is the reward itself."""
        items = await asked(request, queue.reward_requests.read_slime)
        (found,) = await rewarded(request, items)
        if found.reward is None:
            return AsciiResponse(found.model_dump(), 504)
        return AsciiResponse(found.reward)

    @app.get("/health", summary="Whether the service is alive", response_model=State)
    async def health() -> State:
        """Always 200 while the service is alive."""
        return State(status="ok")

    @app.get(
        "/ready",
        summary="Whether it takes requests",
        response_model=State,
        responses={503: {"model": State, "description": "Starting, or shutting down."}},
    )
    async def ready() -> Response:
        """200 when the browsers are warm and the service is not shutting down."""
        if queue.warm and not queue.draining:
            return AsciiResponse({"status": "ok"})
        return AsciiResponse({"status": "draining" if queue.draining else "starting"}, 503)

    @app.get("/metrics", summary="For Prometheus", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Pages by outcome, latency, queue, workers, references, refusals."""
        return Response(queue.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    @app.get("/docs", include_in_schema=False)
    def docs() -> Response:  # in a thread: the import takes a while
        from uiproof.serve.docs_page import POLICY, description_page

        page = description_page(app.openapi())
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})

    return app


async def _body(request: Request) -> bytes:
    # Exactly this: what browsers send to other sites without asking may have `json` in it, too.
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(
            422,
            "request",
            "body: it is not said to be JSON",
            "Send JSON with the header `Content-Type: application/json`.",
        )
    return await request.body()


async def _answered(request: Request, queue: ScoreQueue, items: list[Item]) -> list[Result]:
    """Return the results of items; a client that leaves frees its places in the queue."""
    orders = await asyncio.to_thread(queue.look_up, items)
    work = asyncio.create_task(queue.answer(items, orders))
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    except asyncio.CancelledError:
        if not work.cancelled():
            raise
        raise RefusedError(503, "draining", "The service has ended.", "Ask another one.") from None
    finally:
        gone.cancel()
        work.cancel()


def _rewarded(item: Item, result: Result) -> RewardResult:
    """Return the reward of a result; refuse a profile or weights that do not exist."""
    assert isinstance(item, RewardItem)
    if result.scores is None:
        return RewardResult(id=result.id, reward=None, error=result.error)
    why = result.error
    error = None if why is None else CaseError(why.code, "score", why.message, why.remedy)
    record = Record(
        "", result.status, result.scores, error, flags=tuple(result.flags), seconds=result.seconds
    )
    try:
        found = reward_of(result.benchmark, record, profile=item.profile, weights=item.weights)
    except UsageError as wrong:
        raise RefusedError(422, "request", wrong.message, wrong.remedy) from None
    return RewardResult(
        id=result.id,
        reward=found.value,
        components=dict(found.components),
        flags=list(found.flags),
        seconds=found.seconds,
        reason=found.reason,
        error=why,
    )


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _add_errors(app: FastAPI, queue: ScoreQueue) -> None:
    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, __: ClientDisconnect) -> Response:
        return Response(status_code=_CLIENT_GONE)

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> Response:
        if error.status == 422:
            queue.metrics.rejected.labels("invalid").inc()
        return refusal(error)

    @app.exception_handler(UiproofError)
    async def machine(_: Request, error: UiproofError) -> Response:
        if isinstance(error, MACHINE_ERRORS):
            return refusal(RefusedError(503, error.code, error.message, error.remedy, after=10))
        # Retrying would fail again, so this is not a status that clients retry.
        return refusal(RefusedError(500, error.code, error.message, error.remedy))

    @app.exception_handler(HTTPException)
    async def plain(_: Request, error: HTTPException) -> Response:
        code = {404: "not_found", 405: "method"}.get(error.status_code, "request")
        why = problem(code, str(error.detail), "/docs shows what there is.")
        return AsciiResponse(Refusal(error=why).model_dump(), error.status_code, error.headers)


class _Service(FastAPI):
    """FastAPI with a description of the bodies that are not read by FastAPI."""

    bodies: Mapping[str, Requests]

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            made = get_openapi(
                title=self.title,
                version=self.version,
                description=self.description,
                routes=self.routes,
            )
            place = "#/components/schemas/{model}"
            for path, requests in self.bodies.items():
                schema = requests.json_schema(place)
                made["components"]["schemas"] |= schema.pop("$defs")
                made["paths"][path]["post"]["requestBody"] = {
                    "required": True,
                    "content": {
                        "application/json": {"schema": schema, "examples": requests.examples}
                    },
                }
            self.openapi_schema = made
        return self.openapi_schema


class Server(uvicorn.Server):
    """A uvicorn server that drains at the first signal and exits at the second."""

    def __init__(
        self, app: ASGIApp, queue: ScoreQueue, pool: WarmPool, drain: float, client_seconds: float
    ) -> None:
        super().__init__(
            server_config(
                app, client_seconds=client_seconds, timeout_graceful_shutdown=_LAST_ANSWERS
            )
        )
        self._queue, self._pool, self._drain_seconds = queue, pool, drain
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._signals = 0
        self._problem: UiproofError | None = None
        self._say_listening: Callable[[], None] = lambda: None

    async def serve_on(self, listener: socket.socket, say: Callable[[], None]) -> None:
        """Serve until a signal comes; `say` is called when requests are answered."""
        self._say_listening = say
        try:
            await self.serve(sockets=[listener])
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._problem is not None:
            raise self._problem

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; then warm up, so that probes are answered meanwhile."""
        await super().startup(sockets)
        self._begin(self._warm())
        self._say_listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's
        """Drain at the first signal, end everything at the second."""
        self._signals += 1
        if self._signals == 1:
            self._loop.call_soon_threadsafe(lambda: self._begin(self._drain()))
        else:
            self._pool.delete_folder()
            os._exit(128 + sig)  # workers end with the process that started them

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.add(self._loop.create_task(work))

    async def _warm(self) -> None:
        try:
            await self._pool.warm()
            self._queue.warm = True
        except UiproofError as error:
            self._problem = error
            self.should_exit = True

    async def _drain(self) -> None:
        await self._queue.drain(self._drain_seconds)
        self.should_exit = True
