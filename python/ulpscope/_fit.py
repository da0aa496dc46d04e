"""Which unit and schedule gave the bits of a matrix product."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

import numpy as np

from . import _declarations as d
from ._arrays import Array, copy_array, to_tensor
from ._library import Owner, call, lib
from ._results import Fit, Probe


def _patterns(tensor: Any, like: Array) -> Array:
    """Of the type that the caller's operand has."""
    array = copy_array(tensor)
    return array if array.dtype == like.dtype else array.astype(like.dtype)


def _make_probe(value: Any, product: Any, options: Any, like: tuple[Array, Array]) -> Probe:
    out = d.ulp_fit_probe()
    call("ulp_fit_probe_make", *map(ctypes.byref, (value, product, options, out)))
    try:
        a, b = (_patterns(tensor, array) for tensor, array in zip((out.a, out.b), like))
        return Probe(a, b, tuple(out.classes[i] for i in range(out.count)))
    finally:
        lib.ulp_fit_probe_free(ctypes.byref(out))


def fit(
    a: Any,
    b: Any,
    c: Any,
    *more: Sequence[Any],
    gpu: str | None = None,
    operands: str | None = None,
    result: str | None = None,
    probe: bool | tuple[int, int, int] = False,
    threads: int = 0,
) -> Fit:
    """Which arithmetics give c = a b bit for bit: a [m, k], b [k, n], c [m, n].

    uint8 and uint16 arrays are patterns of FP8, FP16 or BF16. more: further products (a, b, c) of the same kernel. probe: make
    operands that tell the candidates apart (Fit.probe), of the first product's shape or with (m, n, k) of that.

    >>> from ulpscope import matmul
    >>> numbers = np.random.default_rng(1).standard_normal((2, 24, 256)).astype(np.float32)
    >>> a, b = numbers[0], np.ascontiguousarray(numbers[1].T)
    >>> fit(a, b, matmul(a, b, "tf32@h200,split-k=4"), gpu="h200", operands="tf32").name
    'tf32,split-k=4'
    """
    kept: list[tuple[Any, Array]] = []
    products = (d.ulp_fit_product * (1 + len(more)))()
    for product, arrays in zip(products, ((a, b, c), *more)):
        for name, array in zip("abc", arrays):
            kept.append(to_tensor(array))
            setattr(product, name, ctypes.pointer(kept[-1][0]))
    options, out = d.ulp_fit_options(), d.ulp_fit()
    options.thread_count = threads
    if not isinstance(probe, bool):
        options.probe_m, options.probe_n, options.probe_k = probe
    for name, text in (("gpu", gpu), ("operands", operands), ("result", result)):
        setattr(options, name, text.encode() if text else None)
    owner = Owner(out, "ulp_fit_free")
    call("ulp_fit_run", products, len(products), ctypes.byref(options), ctypes.byref(out))
    found = Fit.take(owner)
    if probe:
        vars(found)["probe"] = _make_probe(out, products[0], options, (np.asarray(a), np.asarray(b)))
    return found
