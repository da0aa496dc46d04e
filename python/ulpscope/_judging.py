"""What is concluded about a model: where its errors come from, what overflows, what a recording or a runtime makes of it."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import Any, Mapping, Sequence

from . import _declarations as d
from ._arrays import TensorSet
from ._errors import UsageError
from ._library import Owner, Watch, call, lib, text
from ._loaded import Inputs, Keep, Keeps, Loaded, Outputs, Samples, begins, find_task, list_of, sample_items, shows, strings
from ._numbers import ArithmeticName, find_arithmetic
from ._progress import ProgressOption, make_progress
from ._results import Audit, Comparison, Overflow, Proof, Search, Tolerance
from ._shared import output


class Judging(Loaded):
    """Commands that say how a model does."""

    def audit(
        self,
        samples: Samples,
        arithmetics: ArithmeticName | Sequence[ArithmeticName] = ("fp16", "tf32"),
        *,
        reference: ArithmeticName | None = None,
        keep: Keep | None = None,
        plan: Search | None = None,
        attribute: bool = True,
        every_output: bool = False,
        certify: bool = False,
        task: str | None = None,
        allow_nonfinite_inputs: bool = False,
        entire_only: bool = False,
        outputs: Outputs | None = None,
        reference_model: Loaded | None = None,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Audit:
        """Every node in every arithmetic against the reference (pair unless given): what it introduces, what it carries, its
        share in the error of the outputs (attribute), and how many digits of the reference are correct (certify). Shares are of the
        worst output and of those with half of its relative error and more, or of every_output. Samples may
        have any shapes that leave the same nodes to compute. plan: a result of `plan`, whose nodes are kept as it says.

        task: what the outputs are for ("classify"; None: recognised).

        entire_only (with attribute=False): nodes introduce and carry nothing that is told, in a third to a half of the time.
        outputs: called after each sample with its index and the outputs by name, of the reference (nearest doubles) and of each
        arithmetic, one after the other. reference_model: what this one was made of, whose exact values are the truth."""
        if plan is not None and keep is not None:
            raise UsageError("plan and keep both say which nodes are kept: give one")
        keep = plan if plan is not None else keep
        names, sets = self._samples(samples)
        lanes = [find_arithmetic(reference or "pair"), *map(find_arithmetic, list_of(arithmetics))]
        structs = (d.ulp_arithmetic * len(lanes))(*[lane.struct for lane in lanes])
        kept, none = Keeps(keep), Keeps(None)
        keeps = (d.ulp_keeps * len(lanes))(none.value, *[kept.value] * (len(lanes) - 1))
        planning = d.ulp_program_options(keeps=keeps)
        shown = make_progress(progress)
        audit = Owner(d.ulp_audit(), "ulp_audit_free")
        with Watch(shown) as watch:
            options = d.ulp_audit_options(
                plan=ctypes.pointer(planning),
                shares=attribute,
                every_output=every_output,
                certify=certify,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
                begins=begins(d.ulp_audit_options, shown),
                task=find_task(task),
                allow_nonfinite_inputs=allow_nonfinite_inputs,
                entire_only=entire_only,
                original=None if reference_model is None else reference_model._model,
                **({"outputs": shows(outputs, len(lanes), watch)} if outputs else {}),
            )
            given = d.ulp_samples(len(sets), sample_items(names, sets))
            call("ulp_audit_run", self._model, structs, len(lanes), byref(given), byref(options), byref(audit.value))
        return Audit.take(audit)

    def overflow(
        self,
        samples: Samples,
        formats: ArithmeticName | Sequence[ArithmeticName] = "fp16",
        *,
        reference: ArithmeticName | None = None,
        keep: Keep | None = None,
        remedies: bool = True,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Overflow:
        """What will overflow in the formats, from an exact run alone (in fp64, and once more in pair where a value may be
        beyond fp64 itself); samples may have any shapes that leave the same nodes to compute. What it says nothing of is in
        Overflow.unjudged."""
        names, sets = self._samples(samples)
        lanes = [find_arithmetic(reference or "fp64"), *map(find_arithmetic, list_of(formats))]
        structs = (d.ulp_arithmetic * len(lanes))(*[lane.struct for lane in lanes])
        kept, none = Keeps(keep), Keeps(None)
        keeps = (d.ulp_keeps * len(lanes))(none.value, *[kept.value] * (len(lanes) - 1))
        planning = d.ulp_program_options(keeps=keeps)
        wider = None if reference else ctypes.pointer(find_arithmetic("pair").struct)
        shown = make_progress(progress, len(sets))
        forecast = Owner(d.ulp_overflow_forecast(), "ulp_overflow_free")
        with Watch(shown) as watch:
            options = d.ulp_overflow_options(
                plan=ctypes.pointer(planning),
                wider=wider,
                no_remedies=not remedies,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
                begins=begins(d.ulp_overflow_options, shown),
            )
            given = d.ulp_samples(len(sets), sample_items(names, sets))
            call("ulp_overflow_run", self._model, structs, len(lanes), byref(given), byref(options), byref(forecast.value))
        return Overflow.take(forecast)

    def prove(
        self,
        arithmetic: ArithmeticName = "fp16",
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        inputs: Inputs | None = None,
        widen: float = 2.0,
        dims: Mapping[str, int] | None = None,
        threads: int = 0,
    ) -> Proof:
        """That nothing overflows, for every input whose elements lie in the ranges (by input; indexes: any valid one). An input
        without one gets the range of its values in `inputs`, each end moved outward by the factor `widen` but never across 0;
        without `inputs` [0, 1] is assumed. Shapes are those of `inputs`, else the model's with `dims`."""
        sample = self._set(inputs if inputs is not None else self.random_inputs(dims=dims))
        plan = self._plan([find_arithmetic(arithmetic)], sample, None, 0)
        proof = Owner(d.ulp_proof(), "ulp_proof_free")
        box = d.ulp_prove_box(ranges=self._ranges(ranges), range_count=len(ranges or {}), widen=widen)
        if inputs is not None:
            box.samples, box.sample_count = ctypes.pointer(sample.value), 1
        call("ulp_proof_run", self._model, plan.value, byref(box), threads, byref(proof.value))
        return Proof.take(proof)

    def tolerance(
        self,
        samples: Samples,
        arithmetic: ArithmeticName = "fp16",
        *,
        reference: ArithmeticName = "pair",
        keep: Keep | None = None,
        trials: int = 0,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Tolerance:
        """What tolerance the arithmetic can meet at each output, measured and bounded; of several samples, of any shapes, what
        is enough for each: an output's figures are those of its worst sample."""
        (names, sets), kept = self._samples(samples), Keeps(keep)
        tolerance = Owner(d.ulp_tolerance(), "ulp_tolerance_free")
        shown = make_progress(progress)
        with Watch(shown) as watch:
            options = d.ulp_tolerance_options(
                reference=find_arithmetic(reference).struct,
                arithmetic=find_arithmetic(arithmetic).struct,
                keeps=ctypes.pointer(kept.value) if keep else None,
                trials=trials,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
                begins=begins(d.ulp_tolerance_options, shown),
            )
            call("ulp_tolerance_run", self._model, sample_items(names, sets), len(sets), byref(options), byref(tolerance.value))
        return Tolerance.take(tolerance)

    def compare(
        self,
        recordings: Mapping[str, Inputs],
        inputs: Inputs,
        arithmetics: ArithmeticName | Sequence[ArithmeticName] = ("fp16", "tf32"),
        *,
        reference: ArithmeticName = "pair",
        trials: int = 0,
        task: str | None = None,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Comparison:
        """Whether tensors that other frameworks recorded (by recording, then by the graph's names) differ from the reference as an
        arithmetic does, and if not, which is the first that does not, and why. task: what the outputs are for ("classify"; None: recognised)."""
        sample, sets = self._set(inputs), [self._arrays(arrays, {}) for arrays in recordings.values()]
        for tensors in sets:
            text("ulp_model_take_outputs", self._model, byref(tensors.value))
        names = [name.encode() for name in recordings]
        items = (d.ulp_recording * max(len(sets), 1))()
        for item, name, tensors in zip(items, names, sets):
            item.name, item.tensors = name, tensors.value
        lanes = [find_arithmetic(arithmetic).struct for arithmetic in list_of(arithmetics)]
        result = Owner(d.ulp_comparison(), "ulp_comparison_free")
        with Watch(make_progress(progress)) as watch:
            options = d.ulp_compare_options(
                reference=find_arithmetic(reference).struct,
                arithmetics=(d.ulp_arithmetic * len(lanes))(*lanes),
                arithmetic_count=len(lanes),
                task=find_task(task),
                allow_nonfinite_inputs=allow_nonfinite_inputs,
                trials=trials,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
            )
            parts = (byref(sample.value), items, len(sets), byref(options), byref(result.value))
            call("ulp_comparison_run", self._model, *parts)
        return Comparison.take(result)
