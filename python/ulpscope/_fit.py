"""Which unit and schedule gave the bits of a matrix product."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from . import _declarations as d
from ._arrays import Array, copy_array, to_tensor
from ._library import call, decode, lib, text as shown
from ._shared import fill


@dataclass(frozen=True)
class Candidate:
    """One way to compute the products."""

    name: str  #: of the arithmetic
    gpus: str  #: whose units are the same by definition: "h100, h200, b200"; "": a scalar chain
    also: str  #: parts with which it is the same for these lengths of k
    operands: str  #: the format that a and b were taken for
    result: str  #: that of c
    consistent: bool  #: every element has its bits
    equal: int  #: elements that have
    max_ulps: float  #: the largest difference, in ulps of the result's format


@dataclass(frozen=True)
class Probe:
    """Operands on which the consistent candidates differ, and which show the order of the sum: let the GPU multiply them, and give
    fit the product as one more."""

    a: Array
    b: Array
    classes: tuple[int, ...]  #: by consistent candidate: those of one class give the same bits on the probe, too


@dataclass(frozen=True)
class Fit:
    """What gave the bits: the arithmetics that are left, and the nearest of the others."""

    elements: int
    tried: int  #: candidates
    candidates: tuple[Candidate, ...]  #: consistent ones first, simplest names first; then the nearest
    order: str | None  #: what the masked sums of a probe say
    parts: str | None  #: two candidates that give all elements, each in a part
    probe: Probe | None
    summary: str

    @property
    def consistent(self) -> tuple[Candidate, ...]:
        return tuple(candidate for candidate in self.candidates if candidate.consistent)

    @property
    def name(self) -> str | None:
        """The simplest arithmetic that gives every bit; None: there is none."""
        return self.candidates[0].name if self.consistent else None

    def __str__(self) -> str:
        return self.summary


def _candidate(value: Any) -> Candidate:
    return fill(Candidate, value)


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


def _take(value: Any, probe: Probe | None) -> Fit:
    summary = shown("ulp_fit_text", ctypes.byref(value), None, None, 12)
    order, parts = (decode(part) if part else None for part in (value.order, value.parts))
    candidates = tuple(_candidate(value.candidates[i]) for i in range(value.count))
    return Fit(int(value.elements), int(value.tried), candidates, order, parts, probe, summary)


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
    call("ulp_fit_run", products, len(products), ctypes.byref(options), ctypes.byref(out))
    try:
        like = np.asarray(a), np.asarray(b)
        return _take(out, _make_probe(out, products[0], options, like) if probe else None)
    finally:
        lib.ulp_fit_free(ctypes.byref(out))
