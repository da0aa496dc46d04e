"""What ctypes would cut in silence is refused: integers beyond their C type and texts beyond a NUL, as arguments of functions and
as fields of structs."""

from __future__ import annotations

import ctypes
import operator
from functools import lru_cache
from typing import Any

from ._errors import UsageError

_SIGNED = {ctypes.c_int, ctypes.c_int64, ctypes.c_ssize_t}
_UNSIGNED = {ctypes.c_uint, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_ubyte}


def _check_text(_kind: Any, value: Any) -> Any:
    if isinstance(value, bytes) and b"\0" in value:
        raise UsageError(f"{value.decode(errors='replace')!r}: a name or a path cannot hold a NUL")
    return value


def _limits(kind: Any) -> tuple[int, int]:
    bits = 8 * ctypes.sizeof(kind)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind in _SIGNED else (0, (1 << bits) - 1)


_LIMITS = {kind: _limits(kind) for kind in (*_SIGNED, *_UNSIGNED)}


def _check_integer(kind: Any, value: Any) -> int:
    try:
        number, (low, high) = operator.index(value), _LIMITS[kind]
    except TypeError:
        raise UsageError(f"{value!r}: expected an integer") from None
    if not low <= number <= high:
        raise UsageError(f"{number}: expected {low} to {high}")
    return number


_CHECKS: dict[Any, Any] = {ctypes.c_char_p: _check_text, **{kind: _check_integer for kind in (*_SIGNED, *_UNSIGNED)}}


def checked(function: Any) -> Any:
    """The function of the library, its arguments checked by its argtypes. (What from_param raises ctypes would make its own.)"""
    count = len(function.argtypes)
    # of texts no integer is within the limits
    checks = [(place, kind, *_LIMITS.get(kind, (1, 0)), _CHECKS[kind]) for place, kind in enumerate(function.argtypes) if kind in _CHECKS]

    def call(*given: Any) -> Any:
        if len(given) != count:
            raise TypeError(f"{len(given)} arguments for {count}")
        values = list(given)
        for place, kind, low, high, check in checks:
            value = values[place]
            if type(value) is not int or not low <= value <= high:
                values[place] = check(kind, value)
        return function(*values)

    return call


class Structure(ctypes.Structure):
    """A struct whose fields are checked when they are set, also by the arguments it is made with. Options know their size."""

    def __init_subclass__(cls) -> None:
        if cls.__name__.endswith("_options"):
            setattr(cls, "__init__", _begin_options)

    def __setattr__(self, name: str, value: Any) -> None:
        kind = _fields(type(self)).get(name)
        check = _CHECKS.get(kind)
        try:
            super().__setattr__(name, check(kind, value) if check else value)
        except (UsageError, TypeError) as error:  # ctypes' own of a text in a number's place
            raise UsageError(f"{name}: {error if isinstance(error, UsageError) else repr(value) + ': ' + str(error)}") from None


def _begin_options(self: Structure, *values: Any, **named: Any) -> None:
    ctypes.Structure.__init__(self, *values, size=ctypes.sizeof(self), **named)


@lru_cache(maxsize=None)
def _fields(struct: Any) -> dict[str, Any]:
    return {field[0]: field[1] for field in struct._fields_}
