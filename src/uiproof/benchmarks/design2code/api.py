"""The Python functions behind `uiproof diff`."""

from __future__ import annotations

import atexit
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.errors import UsageError

if TYPE_CHECKING:
    from uiproof.benchmarks.design2code.page_diff import PageDiff
    from uiproof.web import FrozenWeb

_lock = threading.Lock()
_shared: dict[tuple[int, str], Differ] = {}  # by process and options


class Differ:
    """A warm browser that says how pages differ from references.

    ```python
    with Differ(viewport="390x844") as differ:
        found = differ.diff(Path("design.png"), Path("page.html"))
    ```

    Calls may come from any thread, one is answered after the other. `dark` and `scale` are those
    of `uiproof score`; `web` answers what pages load from other hosts.
    """

    def __init__(
        self,
        *,
        viewport: Any = None,
        dark: bool = False,
        scale: int = 1,
        web: FrozenWeb | None = None,
    ) -> None:
        from uiproof.benchmarks.design2code.screens import Design2CodeOptions
        from uiproof.benchmarks.design2code.serving import PageJudge
        from uiproof.web import FrozenWeb

        options = Design2CodeOptions.of(viewport, dark=dark, scale=scale)
        web = FrozenWeb.installed(options.web) if web is None else web
        self._judge = PageJudge(options=options, web=web)
        self._lock = threading.Lock()

    def __enter__(self) -> Differ:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def diff(self, reference: Any, generated: Any) -> PageDiff:
        """Return how a page differs from its reference, worst first."""
        from uiproof.benchmarks.design2code.cases import Truth
        from uiproof.benchmarks.design2code.serving import answer, reference_case

        case = reference_case(reference, "page")
        if case is None or isinstance(case.truth, Truth):
            raise UsageError(
                "The reference is neither a page nor a screenshot.",
                remedy="Give HTML, a pathlib.Path to a page or a PNG, or the bytes of a PNG.",
            )
        with self._lock:
            return self._judge.diff(case.truth, answer(generated))

    def close(self) -> None:
        """End the browser."""
        with self._lock:
            self._judge.close()


def diff(
    reference: Any,
    generated: Any,
    *,
    viewport: Any = None,
    dark: bool = False,
    scale: int = 1,
    web: FrozenWeb | None = None,
) -> PageDiff:
    """Return how a generated page differs from a reference page or screenshot, worst first.

        for one in uiproof.diff(Path("design.png"), Path("page.html")).differences:
            print(one.kind, one.selector, one.says)

    A `str` is HTML, a `Path` is a file; a reference may be a screenshot (`bytes`, or a `Path` to a
    PNG or JPEG). The browser stays warm for the next call and ends with Python.
    """
    key = os.getpid(), repr((viewport, dark, scale, None if web is None else web.digest))
    with _lock:
        if key not in _shared:
            if not _shared:
                atexit.register(_close)
            _shared[key] = Differ(viewport=viewport, dark=dark, scale=scale, web=web)
        differ = _shared[key]
    return differ.diff(_checked(reference), _checked(generated))


def _checked(given: Any) -> Any:
    """Return what was given; the name of a file that was meant as a path is an error."""
    if isinstance(given, str) and 0 < len(given) < 1_000 and "<" not in given:
        try:
            is_file = Path(given).is_file()
        except (OSError, ValueError):
            is_file = False
        if is_file:
            raise UsageError(
                f"{given!r} names a file, but a str is taken for its content.",
                remedy="Give a pathlib.Path to compare a file.",
            )
    return given


def _close() -> None:
    for (process, _), differ in _shared.items():
        if process == os.getpid():
            differ.close()
