"""The same network beside other rows: one lane for each number of rows, their outputs compared bit by bit; then each product on
equal inputs."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
import pandas

from . import _declarations as d
from ._arrays import Array, copy_array, take_set
from ._errors import LimitError, UnsupportedError, UsageError
from ._library import Owner, Watch, call, decode, lib
from ._loaded import Samples
from ._model import Model
from ._numbers import Arithmetic, ArithmeticName, find_arithmetic
from ._progress import ProgressOption, make_progress

#: those at which cuBLAS's slices were recorded (src/kernels/cublas_split.def)
RECORDED = (1, 8, 9, 16, 17, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


@dataclass
class Rows:
    """How the results of a sample depend on the rows beside it."""

    arithmetic: str
    classes: list[list[int]]  #: numbers of rows beside which every output of every sample has the same bits
    outputs: Any  #: pandas: elements, nonfinite, differing, width_max_abs, width_relative, choices, flipped
    products: Any  #: pandas: those whose own result, on equal inputs, depends on the rows: name, op, elements, differing, width_max_ulp
    product_count: int  #: that were looked at

    def __str__(self) -> str:
        tried = sorted(n for class_ in self.classes for n in class_)
        if len(self.classes) == 1:
            rounded = f"; {len(self.products)} of {self.product_count} products do on equal inputs" if len(self.products) else ""
            return f"The result of a sample does not depend on the rows beside it: {tried[0]} to {tried[-1]} times its rows give the same bits{rounded}."
        lines = [f"The result of a sample depends on the rows beside it: {len(self.classes)} results over {tried[0]} to {tried[-1]} times its rows.",
                 f"It begins in {len(self.products)} of {self.product_count} products. What makes it invariant: split-k=1, or batches that share a line below."]  # fmt: skip
        return "\n".join(lines + [f"result {i + 1}: rows x {', '.join(map(str, class_))}" for i, class_ in enumerate(self.classes)])


def _first_choice(row: Array) -> Array:
    """The place of the largest of the last axis; NaN, also the first, is none where there is another."""
    return np.asarray(np.where(np.isnan(row), -np.inf, row).argmax(-1))


class _Output:
    """An output over all numbers of rows."""

    def __init__(self) -> None:
        self.elements = self.nonfinite = self.differing = self.choices = self.flipped = 0
        self.width_max_abs = self._width = self._value = 0.0

    def add(self, values: Sequence[Array]) -> None:
        wide = np.stack([value.astype(np.float64) for value in values])
        finite = np.isfinite(wide).all(0)
        width = np.where(finite, np.ptp(np.where(finite, wide, 0), 0), 0)
        self.elements += int(finite.sum())
        self.nonfinite += int((~finite).sum())
        self.differing += int(((np.stack(values) != values[0]).any(0) & finite).sum())
        self.width_max_abs = max(self.width_max_abs, float(width.max(initial=0)))
        self._width += float((width**2).sum())
        self._value += float((np.where(finite, wide[0], 0) ** 2).sum())
        if values[0].dtype.kind == "f" and wide.ndim > 1 and wide.shape[-1] > 1:
            choices = _first_choice(wide)
            self.choices += choices[0].size
            self.flipped += int((choices != choices[0]).any(0).sum())

    def row(self) -> dict[str, Any]:
        relative = (self._width / self._value) ** 0.5 if self._value > 0 else np.nan
        return {**{name: figure for name, figure in vars(self).items() if not name.startswith("_")}, "width_relative": relative}


class _Products:
    """Each product on equal inputs."""

    def __init__(self, storage: Any) -> None:
        self.seen: set[int] = set()
        self.found: dict[int, dict[str, Any]] = {}
        self._storage = storage

    def see(self, event: Any) -> None:
        tensors: list[Any] = [event.values[lane * event.output_count].entire for lane in range(event.lane_count)] if event.output_count else []
        if not tensors or not all(tensors) or ctypes.addressof(tensors[0].contents) == ctypes.addressof(tensors[1].contents):
            return
        values = np.stack([copy_array(tensor.contents).astype(np.float64) for tensor in tensors])
        self.seen.add(event.index)
        low, high = values.min(0), values.max(0)
        differs = np.isfinite(values).all(0) & (low != high)
        if not differs.any() and event.index not in self.found:
            return
        largest = np.maximum(np.abs(low), np.abs(high))[differs]
        ulps = [float(width) / lib.ulp_format_ulp(byref(self._storage), float(x)) for width, x in zip((high - low)[differs], largest)]
        row = self.found.setdefault(event.index, {"name": decode(event.name), "op": decode(event.op), "elements": 0, "differing": 0, "width_max_ulp": 0.0})
        row["elements"] += low.size
        row["differing"] += int(differs.sum())
        row["width_max_ulp"] = max(row["width_max_ulp"], *ulps)


def _run(model: Model, lanes: Sequence[Arithmetic], sample: Any, watch: Watch, threads: int, isolated: bool) -> list[dict[str, Array]]:
    """The outputs of every lane; isolated: nothing, each product on the first lane's inputs instead."""
    program = model._plan(lanes, sample, None, 0)
    options = d.ulp_run_options(thread_count=threads, isolated=isolated)
    sets = (d.ulp_tensor_set * len(lanes))()
    call("ulp_program_run", program.value, byref(sample.value), byref(options), byref(watch.observer), 1, None if isolated else sets, None)
    return [] if isolated else [take_set(outputs) for outputs in sets]


def rows(
    model: Model | str | os.PathLike[str] | bytes, samples: Samples, rows: Sequence[int] = RECORDED, arithmetic: ArithmeticName = "fp16@h100", *, threads: int = 0, progress: ProgressOption = None
) -> Rows:
    """Whether the result of a sample is the same whichever batch it is computed in: the library of products cuts long sums into
    slices by the shape of the product, which has as many times the sample's rows as the batch has samples. Kernels other than
    products are taken to be the same for any number of rows."""
    model = model if isinstance(model, Model) else Model(model)
    base, tried = find_arithmetic(arithmetic), list(rows)
    if len(tried) < 2 or tried != sorted(set(tried)) or not 1 <= tried[0] <= tried[-1] <= 1_000_000:
        raise UsageError(f"rows {tried}: expected ascending numbers, as [1, 8, 64]")
    if base.struct.schedule.split_k:
        raise UsageError(f"{base.name}: rows say how k is cut; leave out split-k=")
    lanes = [base.change("split-k=cublas").change(f"rows={n}") for n in tried]
    outputs: dict[str, _Output] = {}
    products, same = _Products(base.struct.storage), np.ones((len(tried), len(tried)), bool)
    given = model._samples(samples)[1]
    shown = make_progress(progress, 2 * len(given))
    for i, sample in enumerate(given):
        if shown is not None:
            shown.run = 2 * i
        with Watch(shown) as watch:
            sets = _run(model, lanes, sample, watch, threads, False)
        for name in (name for name, value in sets[0].items() if value.dtype.kind in "fiub"):
            values = [set_[name] for set_ in sets]
            if any(value.shape != values[0].shape for value in values):
                raise UnsupportedError(f"output {name}: its size follows from a value that differs between numbers of rows")
            outputs.setdefault(name, _Output()).add(values)
            same &= np.array([[a.tobytes() == b.tobytes() for a in values] for b in values])
        if shown is not None:
            shown.run += 1
        with Watch(shown, products.see) as watch:
            _run(model, lanes, sample, watch, threads, True)
    if not products.seen or not any(output.elements for output in outputs.values()):
        raise LimitError("cannot be judged: " + ("no output has a finite element to compare" if products.seen else "the model has no product whose sums a library could cut"))
    classes: dict[int, list[int]] = {}
    for place, n in enumerate(tried):
        classes.setdefault(int(same[place].argmax()), []).append(n)
    columns = ["name", "op", "elements", "differing", "width_max_ulp"]
    found = pandas.DataFrame([products.found[index] for index in sorted(products.found)], columns=columns)
    return Rows(lanes[0].name, list(classes.values()), pandas.DataFrame.from_dict({name: output.row() for name, output in outputs.items()}, orient="index"), found, len(products.seen))
