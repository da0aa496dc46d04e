"""A model: running it in an arithmetic, and everything that is concluded about it."""

from __future__ import annotations

from ctypes import byref
from typing import Any, Sequence

from . import _declarations as d
from ._arrays import Array, copy_array, take_set
from ._errors import InputError
from ._judging import Judging
from ._library import Watch, call, decode
from ._loaded import Inputs, Keep
from ._mending import Mending
from ._numbers import ArithmeticName, find_arithmetic
from ._progress import ProgressOption, make_progress


class Model(Judging, Mending):
    """An ONNX model: a path, its bytes, or an onnx.ModelProto.

    Inputs are given by name as arrays (anything numpy makes arrays of); several samples as a list, or by name.
    Every method that computes takes threads (0: all processors), and those that run the graph take progress: True shows it,
    a function gets the share done and the node's name. Ctrl-C ends them at the next node.
    """

    def run(
        self,
        inputs: Inputs,
        arithmetic: ArithmeticName = "model",
        *,
        values: Sequence[str] = (),
        keep: Keep | None = None,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> dict[str, Array]:
        """The outputs in the arithmetic, by name; with `values`, inner values of these names too ("*": all of them).

        Arrays are float32 where the arithmetic's storage fits (float16 for values that the model declares so), float64 where
        it does not; of mpfr:P the nearest doubles."""
        sample = self._set(inputs)
        plan = self._plan([find_arithmetic(arithmetic)], sample, keep, 0)
        inner: dict[str, Array] = {}

        def see(event: Any) -> None:
            for i in range(event.output_count):
                name, value = decode(event.output_names[i]), event.values[i].entire
                if value and ("*" in values or name in values):
                    inner[name] = copy_array(value.contents)

        options, out = d.ulp_run_options(thread_count=threads), d.ulp_tensor_set()
        with Watch(make_progress(progress), see if values else None) as watch:
            call("ulp_program_run", plan.value, byref(sample.value), byref(options), byref(watch.observer), 1, byref(out), None)
        outputs = take_set(out)
        missing = [name for name in values if name != "*" and name not in inner and name not in outputs]
        if missing:
            raise InputError(f"the run computed no value {missing[0]!r}")
        return {**inner, **outputs}
