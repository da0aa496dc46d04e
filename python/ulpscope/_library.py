"""The shared library: finding it, calling it, its errors as exceptions, Ctrl-C and progress.

ctypes releases the interpreter's lock during every call, so other threads go on while the library computes."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
import signal
import threading
from types import FrameType
from typing import Any, Callable

from . import _declarations as d
from ._checked import checked
from ._errors import CancelledError, Error, InputError, LimitError, OutOfMemoryError, UnsupportedError, UsageError
from ._progress import Progress

_ERRORS: dict[int, type[Error]] = {
    d.ULP_ERROR_LIMIT: LimitError,
    d.ULP_ERROR_USAGE: UsageError,
    d.ULP_ERROR_INPUT: InputError,
    d.ULP_ERROR_UNSUPPORTED: UnsupportedError,
    d.ULP_ERROR_MEMORY: OutOfMemoryError,
    d.ULP_ERROR_CANCELLED: CancelledError,
}


def _candidates() -> list[str]:
    """Where the library may be: named by ULPSCOPE_LIBRARY, inside the package (a wheel), installed."""
    named = os.environ.get("ULPSCOPE_LIBRARY")
    if named:
        return [named]
    inside = sorted(str(path) for path in (pathlib.Path(__file__).parent / "_lib").glob("libulpscope*.so*"))
    return [*inside, ctypes.util.find_library("ulpscope") or "libulpscope.so.0"]


class _Library:
    """Functions of the library by name, with the types that the headers give them."""

    def __init__(self) -> None:
        failures = []
        for candidate in _candidates():
            try:
                self._handle = ctypes.CDLL(candidate)
                self.path = candidate
                return
            except OSError as error:
                failures.append(str(error))
        raise ImportError(
            "the library libulpscope was not found: install a wheel that holds it (scripts/python-wheel), install ulpscope, "
            "or name the file in ULPSCOPE_LIBRARY. Tried: " + "; ".join(failures)
        )

    def __getattr__(self, name: str) -> Any:
        if name not in d.FUNCTIONS:
            raise AttributeError(name)
        result, arguments = d.FUNCTIONS[name]
        function = getattr(self._handle, name)
        function.restype, function.argtypes = result, arguments
        function = checked(function)
        setattr(self, name, function)
        return function


lib = _Library()


def call(name: str, *arguments: Any) -> None:
    """A function whose last argument is the error: raise what it reports."""
    error = d.ulp_error()
    status = getattr(lib, name)(*arguments, ctypes.byref(error))
    if status != d.ULP_OK:
        raise _ERRORS.get(status, Error)(error.message.decode(errors="replace"))


def text(function: str, *arguments: Any) -> str:
    """A function that makes a text, which is freed here."""
    out = ctypes.c_char_p()
    call(function, *arguments, ctypes.byref(out))
    try:
        return (out.value or b"").decode(errors="replace")
    finally:
        free(ctypes.cast(out, ctypes.c_void_p))


free = ctypes.CDLL(None).free
free.argtypes, free.restype = [ctypes.c_void_p], None


def decode(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")


class Owner:
    """An object of the library and the function that frees it, which runs when the owner is no longer used."""

    def __init__(self, value: Any, free: str) -> None:
        self.value = value
        self._free = free

    def __del__(self) -> None:
        value, self.value = self.value, None
        if value is not None:
            is_address = isinstance(value, ctypes.c_void_p)
            getattr(lib, self._free)(value if is_address else ctypes.byref(value))


NodeDone = Callable[[Any], None]


class Watch:
    """Around a call that computes for long: progress is shown, and Ctrl-C ends it at the next node.

    `observer` is for the call. SIGINT only sets a flag meanwhile, since an exception inside a callback from C would be
    lost; what Python would have done comes when the call has returned. An exception of the caller's functions ends the
    call and is raised from it."""

    def __init__(self, progress: Progress | None = None, node_done: NodeDone | None = None) -> None:
        self._progress, self._node_done = progress, node_done
        self._interrupted = False
        self._previous: Any = None
        self._failure: BaseException | None = None
        fields = {field[0]: field[1] for field in d.ulp_observer._fields_}
        see: Any = fields["node_done"]
        ask: Any = fields["cancelled"]
        self.observer = d.ulp_observer(node_done=see(self._see), cancelled=ask(self._ask), values_unused=node_done is None)

    def guard(self, function: Callable[..., None], *arguments: Any) -> int:
        """What a callback returns: an exception of the function's ends the call, and is raised from it."""
        try:
            function(*arguments)
        except BaseException as failure:  # noqa: B902  it is raised again from the call
            self._failure = failure
            return d.ULP_ERROR_CANCELLED
        return d.ULP_OK

    def _see(self, _context: Any, event: Any, _error: Any) -> int:
        return self.guard(self._show, event.contents)

    def _show(self, event: Any) -> None:
        if self._progress is not None:
            self._progress.update(event.progress, decode(event.name))
        if self._node_done is not None:
            self._node_done(event)

    def _ask(self, _context: Any) -> bool:
        return self._interrupted or self._failure is not None

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self._interrupted = True

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._previous = signal.signal(signal.SIGINT, self._interrupt)
        if self._progress is not None:
            self._progress.begin()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self._progress is not None:
            self._progress.end()
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure from None
        if self._interrupted and self._previous is not None:
            self._previous(signal.SIGINT, None)  # Python's own raises KeyboardInterrupt
