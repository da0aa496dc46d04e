"""Which unit and schedule gave the bits of a matrix product."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from . import _declarations as d
from ._arrays import Array, to_tensor
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
class Fit:
    """What gave the bits: the arithmetics that are left, and the nearest of the others."""

    elements: int
    tried: int  #: candidates
    candidates: tuple[Candidate, ...]  #: consistent ones first, simplest names first; then the nearest
    order: str | None  #: what the masked sums of a probe say
    parts: str | None  #: two candidates that give all elements, each in a part
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


def _take(value: Any) -> Fit:
    summary = shown("ulp_fit_summary", ctypes.byref(value), None, None, 12)
    order, parts = (decode(part) if part else None for part in (value.order, value.parts))
    candidates = tuple(_candidate(value.candidates[i]) for i in range(value.count))
    return Fit(int(value.elements), int(value.tried), candidates, order, parts, summary)


def fit(
    a: Any,
    b: Any,
    c: Any,
    *more: Sequence[Any],
    gpu: str | None = None,
    operands: str | None = None,
    result: str | None = None,
    threads: int = 0,
) -> Fit:
    """Which arithmetics give c = a b bit for bit: a [m, k], b [k, n], c [m, n].

    uint8 and uint16 arrays are patterns of FP8, FP16 or BF16. more: further products (a, b, c) of the same kernel.

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
    for name, text in (("gpu", gpu), ("operands", operands), ("result", result)):
        setattr(options, name, text.encode() if text else None)
    call("ulp_fit_find", products, len(products), ctypes.byref(options), ctypes.byref(out))
    try:
        return _take(out)
    finally:
        lib.ulp_fit_free(ctypes.byref(out))
