"""What is to be done about a model: which nodes stay in FP32, which format each product gets, which edits help."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import Any, Mapping, Sequence

from . import _declarations as d
from ._errors import UsageError
from ._library import Owner, Watch, call
from ._loaded import Inputs, Loaded, Samples, find_task, list_of, sample_items, strings
from ._numbers import ArithmeticName, find_arithmetic
from ._progress import ProgressOption, make_progress
from ._results import Doctor, Fix, LintResult, Scales, Search
from ._shared import output


def judged(watch: Watch, target: str | None, arithmetic: str | None, reference: ArithmeticName, allow_nonfinite_inputs: bool, threads: int) -> dict[str, Any]:
    """The members that options of doctor and fix have alike."""
    return {
        "target": target.encode() if target is not None else None,
        "arithmetic": str(arithmetic).encode() if arithmetic is not None else None,
        "reference": find_arithmetic(reference).struct,
        "allow_nonfinite_inputs": allow_nonfinite_inputs,
        "thread_count": threads,
        "progress": ctypes.pointer(watch.observer),
    }


class Mending(Loaded):
    """Commands that say what to do."""

    def plan(
        self,
        samples: Samples,
        tolerance: str | Sequence[str] = (),
        arithmetic: ArithmeticName = "fp16",
        *,
        keep_in: ArithmeticName | None = None,
        targets: Sequence[str] = (),
        confidence: float = 0.99,
        formats: Sequence[str] = (),
        cost: str | None = None,
        reference: ArithmeticName = "pair",
        held_out: Samples = (),
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        budget: float = 0,
        seconds: float = 0,
        task: str | None = None,
        out: str | os.PathLike[str] | None = None,
        lower_io: bool = False,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Search:
        """The cheapest set of nodes to keep in `keep_in` (none: FP32, at a target TF32 where that does) so that every output meets the tolerances ("sqnr_db=60"; none: 40), proven by
        runs. formats: instead, one of these for the factors of each MatMul, Gemm and Conv ("nvfp4"; all else is computed in the one
        without scales; doc/scales.md); budget: the mean of their bits that is allowed, for
        the least error. cost: what is to be least: "nodes" (the default of two arithmetics), "bits", "macs", "bytes" or "weights" (doc/plan.md).
        held_out: samples that are judged with the result and were not used to find it. seconds: the search ends then, with the
        best so far. targets: arithmetics in each of which it must hold, fused kernels and all ("trt:fp16"); none: `arithmetic`.
        confidence: the share of 50 draws that must hold, in which every rounding falls anew. task: what the outputs are for ("classify"; None: recognised). out: the folder, made when missing, that mixed.onnx is written into, and of formats
        with scales quantised.onnx; lower_io: float inputs and outputs of mixed.onnx get the lower type, too. LimitError: an input holds NaN or infinity (unless that is allowed), or an output cannot be judged: it is
        empty, or has no finite element."""
        if formats:
            what: dict[str, Any] = {"formats": formats, "expected": 1.0, "cost": cost}
        else:
            two = [None if keep_in is None else find_arithmetic(keep_in).name, find_arithmetic(arithmetic).name]
            what = {"formats": two, "by_node": True, "targets": targets, "confidence": confidence, "cost": "nodes" if cost is None else cost}
        if out is not None:
            os.makedirs(out, exist_ok=True)
        return self._search(
            samples, held_out, progress, tolerances=list_of(tolerance), reference=reference, always=always, never=never, budget=budget,
            seconds=seconds, task=find_task(task), mixed_folder=None if out is None else os.fsencode(out), lower_io=lower_io,
            allow_nonfinite_inputs=allow_nonfinite_inputs, thread_count=threads, **what,
        )  # fmt: skip

    def quantise(
        self,
        samples: Samples,
        target: str | None = None,
        *,
        formats: Sequence[str] = (),
        tolerance: str | Sequence[str] = (),
        share: float = 0,
        budget: float = 0,
        calibrator: str | None = None,
        cost: str | None = None,
        reference: ArithmeticName = "pair",
        held_out: Samples = (),
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        seconds: float = 0,
        task: str | None = None,
        out: str | os.PathLike[str] | None = None,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Search:
        """A format for the factors of each MatMul, Gemm and Conv ("uint8", "fp32"; none: what `target` takes, and FP32), with ranges of all samples, as `ulpscope quantise`
        finds it (doc/quantise.md): as many multiply-adds in the one of fewest bits as the tolerances allow, or the least error with `share` (0 to 1) of them in it; none of
        both: all. calibrator: "max" or "mse"; None: the best of these and percentiles. out: the folder, made when missing, for quantised.onnx. The rest is as of `plan`."""
        if out is not None:
            os.makedirs(out, exist_ok=True)
        calibrators = {None: 0, "max": d.ULP_CALIBRATOR_MAX, "mse": d.ULP_CALIBRATOR_MSE}
        if calibrator not in calibrators:
            raise UsageError(f"calibrator {calibrator!r}: expected 'max', 'mse' or None")
        return self._search(
            samples, held_out, progress, formats=formats, targets=() if target is None else [target], tolerances=list_of(tolerance), reference=reference,
            always=always, never=never, budget=budget, cost=cost, seconds=seconds, task=find_task(task),
            mixed_folder=None if out is None else os.fsencode(out), allow_nonfinite_inputs=allow_nonfinite_inputs, thread_count=threads,
            quantise={"calibrator": calibrators[calibrator], "best_calibrator": calibrator is None, "share": share},
        )  # fmt: skip

    def _search(self, samples: Samples, held_out: Samples, progress: ProgressOption, quantise: Mapping[str, Any] | None = None, **given: Any) -> Search:
        names, sets = self._samples(samples)
        held_names, held = self._samples(held_out) if held_out else ([], [])
        lists_of = {"formats": "format", "tolerances": "tolerance", "targets": "target", "always": "always", "never": "never"}
        for many, one in lists_of.items():
            items = given.pop(many, ())
            given |= {many: strings(items), one + "_count": len(items)}
        given["reference"] = find_arithmetic(given["reference"]).struct
        given["cost"] = None if given["cost"] is None else os.fsencode(given["cost"])
        found = Owner(d.ulp_search(), "ulp_search_free")
        with Watch(make_progress(progress)) as watch:
            options = d.ulp_search_options(progress=ctypes.pointer(watch.observer), **given)
            lists = (sample_items(names, sets), len(sets), sample_items(held_names, held), len(held))
            if quantise is None:
                call("ulp_search_run", self._model, byref(options), *lists, byref(found.value))
            else:
                wanted = d.ulp_quantise_options(search=options, **quantise)
                call("ulp_quantise_run", self._model, byref(wanted), *lists, byref(found.value))
        return Search.take(found)

    def lint(self) -> LintResult:
        """What in the graph is known to cost accuracy or to be ignored in a low-precision engine."""
        result = Owner(d.ulp_lint_result(), "ulp_lint_free")
        call("ulp_lint_run", self._model, byref(d.ulp_lint_options()), byref(result.value))
        return LintResult.take(result)

    def doctor(
        self,
        samples: Samples,
        target: str | None = None,
        *,
        arithmetic: str | None = None,
        recordings: Mapping[str, Inputs] | None = None,
        reference: ArithmeticName = "pair",
        task: str | None = None,
        tolerance: float = 0.0,
        plan: bool = True,
        seconds: float = 0.0,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Doctor:
        """Lint, audit, overflow, comparison and plan in one walk: whether the model is fine where it is to run ("trt"), else the most
        probable cause first. arithmetic: judged instead of the target's. recordings: what a runtime computed, by the graph's names.
        task: what the outputs are for ("classify"; None: recognised). tolerance: sqnr_db of the plan (0: the default, 40).
        seconds: after which the search for the plan ends, and the verdict is said without one (0: 60)."""
        names, sets = self._samples(samples)
        recorded = [self._set(arrays) for arrays in (recordings or {}).values()]
        items = (d.ulp_recording * max(len(recorded), 1))()
        for item, name, tensors in zip(items, recordings or {}, recorded):
            item.name, item.tensors = name.encode(), tensors.value
        result = Owner(d.ulp_doctor(), "ulp_doctor_free")
        with Watch(make_progress(progress)) as watch:
            options = d.ulp_doctor_options(
                **judged(watch, target, arithmetic, reference, allow_nonfinite_inputs, threads),
                recordings=items,
                recording_count=len(recorded),
                task=find_task(task),
                tolerance=tolerance,
                no_plan=not plan,
                seconds=seconds,
            )
            call("ulp_doctor_run", self._model, byref(options), sample_items(names, sets), len(sets), byref(result.value))
        return Doctor.take(result)

    def fix(
        self,
        samples: Samples,
        target: str | None = None,
        *,
        path: str | os.PathLike[str],
        arithmetic: str | None = None,
        tolerance: str | Sequence[str] = (),
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        allow_value_change: bool = False,
        best: bool = False,
        confidence: float = 0.99,
        seconds: float = 0,
        task: str | None = None,
        reference: ArithmeticName = "pair",
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Fix:
        """A model that comes out right where it is to run ("trt"), written to path: edits of the graph, each tried by a run, and what a plan keeps in
        FP32 where these are not enough. tolerance: what it must meet ("sqnr_db=60"; none: the verdict is fine). only, without: rules of the lint.
        allow_value_change: also edits that change more than 1e-6 of an output's rms. best: write what came nearest where nothing meets it.
        seconds: the search of the plan ends then, with the best so far. task: what the outputs are for ("classify"; None: recognised).
        Nothing to fix: the model with the target's types; result.path is None where it takes none."""
        names, sets = self._samples(samples)
        given: dict[str, Any] = {}
        for many, one, items in (("tolerances", "tolerance", list_of(tolerance)), ("only", "only", only), ("without", "without", without)):
            given |= {many: strings(items), one + "_count": len(items)}
        result = Owner(d.ulp_fix(), "ulp_fix_free")
        with Watch(make_progress(progress)) as watch:
            options = d.ulp_fix_options(
                **judged(watch, target, arithmetic, reference, allow_nonfinite_inputs, threads),
                path=output(path),
                allow_value_change=allow_value_change,
                best=best,
                confidence=confidence,
                seconds=seconds,
                task=find_task(task),
                **given,
            )
            call("ulp_fix_run", self._model, byref(options), sample_items(names, sets), len(sets), byref(result.value))
        return Fix.take(result)

    def scales(
        self,
        inputs: Inputs,
        arithmetic: ArithmeticName = "bf16,factor=nvfp4",
        *,
        choices: bool = True,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
    ) -> Scales:
        """What the arithmetic's formats with scales do to each factor of products, and what other choices gain, each by a run."""
        sample, result = self._set(inputs), Owner(d.ulp_scales(), "ulp_scales_free")
        options = d.ulp_scales_options(
            arithmetic=find_arithmetic(arithmetic).struct,
            no_choices=not choices,
            allow_nonfinite_inputs=allow_nonfinite_inputs,
            thread_count=threads,
        )
        call("ulp_scales_run", self._model, byref(sample.value), byref(options), byref(result.value))
        return Scales.take(result)
