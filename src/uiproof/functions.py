"""Functions of the user as methods: `uiproof.run(data, function)` and `--method module:name`."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Benchmark, Method
from uiproof.errors import InputError, MethodError, UiproofError, UsageError, suggestion
from uiproof.files import path_suggestion

if TYPE_CHECKING:
    from uiproof.engine.context import Context

# `my_module:function` and `path/to/file.py:function`
_NAME = re.compile(r"([A-Za-z_][\w.]*|.+\.py):([A-Za-z_]\w*)")


class FunctionMethod(Method[Any, Any]):
    """A method that calls a function, plain or async, with a question for its answer.

    With a parameter called `context`, it is given the `Context` of the case, too. Plain functions
    are called in threads; `concurrency`, an attribute of the function, says how many at once.
    """

    def __init__(
        self, benchmark: Benchmark, function: Callable[..., Any], name: str | None = None
    ) -> None:
        if not callable(function):
            raise UsageError(
                f"{function!r} is not a method.", remedy="Give a name, a function or a `Method`."
            )
        self._benchmark, self._function = benchmark, function
        self._name = name or _function_name(function)
        self.concurrency = int(getattr(function, "concurrency", 8))
        with suppress(TypeError, ValueError):  # of what is built in, nothing is known
            self._takes_context = "context" in inspect.signature(function).parameters

    _takes_context = False

    @property
    def name(self) -> str:
        """Return `my_module:function`."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return a digest of the source, where there is one: other code is another method."""
        try:
            source = inspect.getsource(inspect.unwrap(self._function))
        except (OSError, TypeError):
            return {"function": self._name}
        digest = hashlib.sha256(source.encode()).hexdigest()[:16]
        return {"function": self._name, "function_digest": digest}

    async def answer(self, case_id: str, question: Any, context: Context) -> Any:  # noqa: ARG002
        """Call the function; whatever it raises is a failed answer."""
        further = {"context": context} if self._takes_context else {}
        call = partial(self._function, question, **further)
        kind = type(self._function).__call__
        try:
            if inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(kind):
                returned = await call()
            else:
                returned = await asyncio.to_thread(call)
                if inspect.isawaitable(returned):
                    returned = await returned
            return self._benchmark.function_answer(returned)
        except UiproofError:
            raise
        except Exception as error:
            raise MethodError(
                f"{self._name} raised {type(error).__name__}: {error}",
                remedy="Call it with a question of this case to see where.",
            ) from error


def _function_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    module = getattr(function, "__module__", "__main__")
    return str(name) if module == "__main__" else f"{module}:{name}"


def imported(text: str) -> Callable[..., Any] | None:
    """Import what `my_module:function` or `path/to/file.py:function` names; None for other names.

    Modules are also found in the current folder.
    """
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    module, name = match.groups()
    if module.endswith(".py") and not Path(module).expanduser().is_file():
        raise InputError(f"There is no file {module}.", remedy=path_suggestion(module))
    try:
        found = _module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The module of the method {text} cannot be imported: {error}.",
            remedy="Run where it lies, or give its path: path/to/file.py:function.",
        ) from error
    except Exception as error:
        raise UsageError(
            f"Importing {module} failed with {type(error).__name__}: {error}.",
            remedy="Import it in Python to see where.",
        ) from error
    function = getattr(found, name, None)
    if not callable(function):
        names = [one for one, value in vars(found).items() if callable(value) and one[0] != "_"]
        raise UsageError(
            f"{module} has no function {name}.",
            remedy=suggestion(name, names) or f"It has: {', '.join(names) or 'none'}.",
        )
    return function  # type: ignore[no-any-return]


def _module(name: str) -> ModuleType:
    if name.endswith(".py"):
        path = Path(name).expanduser()
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        found = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
        return found
    if (here := str(Path.cwd())) not in sys.path:  # of a command, its own folder is there
        sys.path.insert(0, here)
    return importlib.import_module(name)
