"""A model: running it in an arithmetic, and everything that is concluded about it."""

from __future__ import annotations

import ctypes
import html
import os
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence, Union

import numpy as np

from . import _declarations as d
from ._arrays import Array, TensorSet, as_array, copy_array, dtype_of, take_set, type_name
from ._errors import InputError, UsageError
from ._library import Owner, Watch, call, decode, lib
from ._numbers import Arithmetic, ArithmeticName, find_arithmetic
from ._progress import Progress, ProgressOption, make_progress
from ._results import Audit, Comparison, Doctor, Fix, LintResult, Overflow, Proof, Scales, Search, Study, StudyRows, Tolerance
from ._shared import models, output

Inputs = Mapping[str, Any]
Samples = Union[Inputs, Sequence[Inputs], Mapping[str, Inputs]]
# nodes in another arithmetic: {"op:Softmax": "fp32"}, with the patterns of --keep; or what `plan` found
Keep = Union[Mapping[str, ArithmeticName], Search]


@dataclass(frozen=True)
class Value:
    """An input or an output of a model."""

    name: str
    type: str
    shape: tuple[int | str | None, ...] | None  #: names for symbolic dimensions, None for unknown ones


def _value(info: Any) -> Value:
    shape = None
    if info.rank >= 0:
        names = [info.dim_names[i] for i in range(info.rank)]
        shape = tuple(info.dims[i] if info.dims[i] >= 0 else decode(names[i]) or None for i in range(info.rank))
    return Value(decode(info.name), type_name(info.type), shape)


class _Keeps:
    """Kept nodes for the library, with what they point to."""

    def __init__(self, keep: Keep | None) -> None:
        keep = keep.keep if isinstance(keep, Search) else keep or {}
        if not isinstance(keep, Mapping):
            raise UsageError(f"keep: expected {{'op:Softmax': 'fp32'}}, or a result of plan or bits, not {keep!r}")
        entries = list(keep.items())
        self._patterns = [pattern.encode() for pattern, _ in entries]
        self.items = (d.ulp_keep * max(len(entries), 1))()
        for item, pattern, (_, arithmetic) in zip(self.items, self._patterns, entries):
            item.pattern = pattern
            item.arithmetic = find_arithmetic(arithmetic).struct
        self.value = d.ulp_keeps(len(entries), self.items, None)


def _strings(values: Iterable[str]) -> Any:
    encoded = [value.encode() for value in values]
    return (ctypes.c_char_p * max(len(encoded), 1))(*encoded)


class Model:
    """An ONNX model: a path, its bytes, or an onnx.ModelProto.

    Inputs are given by name as arrays (anything numpy makes arrays of); several samples as a list, or by name.
    Every method that computes takes threads (0: all processors), and those that run the graph take progress: True shows it,
    a function gets the share done and the node's name. Ctrl-C ends them at the next node.
    """

    def __init__(self, source: str | os.PathLike[str] | bytes | Any) -> None:
        model = ctypes.c_void_p()
        if not isinstance(source, (str, bytes, os.PathLike)) and not hasattr(source, "SerializeToString"):
            raise UsageError(f"a model: expected a path, the bytes of a file or an onnx.ModelProto, not a {type(source).__name__}")
        if hasattr(source, "SerializeToString"):
            source = source.SerializeToString()
        self._file = None if isinstance(source, bytes) else os.path.abspath(os.fsdecode(source))
        if isinstance(source, bytes):
            call("ulp_model_load_bytes", b"(bytes)", source, len(source), None, byref(model))
        else:
            call("ulp_model_load", os.fsencode(source), None, byref(model))
        self._owner = Owner(model, "ulp_model_free")
        models.add(self)

    def __reduce__(self) -> Any:
        """For pickle and joblib: read again where it is needed."""
        if self._file is None:
            raise UsageError("a Model of bytes is not pickled: pickle the bytes, and make the Model of them there")
        return Model, (self._file,)

    @property
    def _model(self) -> Any:
        return self._owner.value

    @property
    def path(self) -> str:
        return decode(lib.ulp_model_path(self._model))

    @property
    def inputs(self) -> list[Value]:
        return [_value(lib.ulp_model_input(self._model, i)) for i in range(lib.ulp_model_input_count(self._model))]

    @property
    def outputs(self) -> list[Value]:
        return [_value(lib.ulp_model_output(self._model, i)) for i in range(lib.ulp_model_output_count(self._model))]

    @property
    def nodes(self) -> list[tuple[str, str]]:
        """Names and operators of the main graph's nodes."""
        count = lib.ulp_model_node_count(self._model)
        name, op = lib.ulp_model_node_name, lib.ulp_model_node_op
        return [(decode(name(self._model, i)), decode(op(self._model, i))) for i in range(count)]

    def __repr__(self) -> str:
        return f"Model({self.path!r}, {len(self.nodes)} nodes)"

    def _repr_html_(self) -> str:
        lines = [repr(self), *(f"input {v}" for v in self.inputs), *(f"output {v}" for v in self.outputs)]
        return f"<pre>{html.escape(chr(10).join(lines))}</pre>"

    def random_inputs(
        self, seed: int = 0, *, dims: Mapping[str, int] | None = None, ranges: Mapping[str, tuple[float, float]] | None = None
    ) -> dict[str, Array]:
        """Random inputs, equal on every machine. dims: of symbolic dimensions; ranges: by input, "" for all others."""
        given = [d.ulp_dim_value(name.encode(), size) for name, size in (dims or {}).items()]
        sizes = (d.ulp_dim_value * max(len(given), 1))(*given)
        limits = self._ranges(ranges)
        options = d.ulp_random_options(seed=seed, dims=sizes, dim_count=len(given), ranges=limits, range_count=len(ranges or {}))
        out = d.ulp_tensor_set()
        call("ulp_model_random_inputs", self._model, byref(options), byref(out))
        return take_set(out)

    @staticmethod
    def _ranges(ranges: Mapping[str, tuple[float, float]] | None) -> Any:
        given = [d.ulp_input_range(name.encode() or None, low, high) for name, (low, high) in (ranges or {}).items()]
        return (d.ulp_input_range * max(len(given), 1))(*given)

    def _set(self, inputs: Inputs) -> TensorSet:
        """By name, in the types that _fitting gives."""
        types = {}
        for i in range(lib.ulp_model_input_count(self._model)):
            info = lib.ulp_model_input(self._model, i)
            types[decode(info.name)] = dtype_of(info.type)
        if not isinstance(inputs, Mapping):
            raise UsageError(f"inputs: expected arrays by name, as {{{', '.join(f'{name!r}: ...' for name in types)}}}, not a {type(inputs).__name__}")
        return TensorSet({name: _fitting(x, types.get(name)) for name, x in inputs.items()})

    def _samples(self, samples: Samples) -> tuple[list[str], list[TensorSet]]:
        if isinstance(samples, Mapping) and not all(isinstance(v, Mapping) for v in samples.values()):
            samples = [samples]
        if not isinstance(samples, (Mapping, Sequence)) or isinstance(samples, (str, bytes)):
            raise UsageError(f"samples: expected arrays by name, or several such, not a {type(samples).__name__}")
        if not samples and lib.ulp_model_input_count(self._model):
            raise InputError("there is no sample")
        named = samples if isinstance(samples, Mapping) else {str(i): s for i, s in enumerate(samples)}
        return list(named), [self._set(inputs) for inputs in named.values()]

    def _plan(self, lanes: Sequence[Arithmetic], sample: TensorSet, keep: Keep | None, first_kept: int) -> Owner:
        structs = (d.ulp_arithmetic * len(lanes))(*[lane.struct for lane in lanes])
        kept, none = _Keeps(keep), _Keeps(None)
        keeps = (d.ulp_keeps * len(lanes))(*[kept.value if i >= first_kept else none.value for i in range(len(lanes))])
        options = d.ulp_plan_options(inputs=ctypes.pointer(sample.value), keeps=keeps)
        plan = ctypes.c_void_p()
        call("ulp_plan_create", self._model, structs, len(lanes), byref(options), byref(plan))
        return Owner(plan, "ulp_plan_free")

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
            call("ulp_plan_run", plan.value, byref(sample.value), byref(options), byref(watch.observer), 1, byref(out), None)
        outputs = take_set(out)
        missing = [name for name in values if name != "*" and name not in inner and name not in outputs]
        if missing:
            raise InputError(f"the run computed no value {missing[0]!r}")
        return {**inner, **outputs}

    def audit(
        self,
        samples: Samples,
        arithmetics: ArithmeticName | Sequence[ArithmeticName] = ("fp16", "tf32"),
        *,
        reference: ArithmeticName | None = None,
        keep: Keep | None = None,
        plan: Search | None = None,
        attribute: bool = True,
        certify: bool = False,
        quick: bool = False,
        timings: bool = False,
        task: str | None = None,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Audit:
        """Every node in every arithmetic against the reference (mpfr:128 unless given): what it introduces, what it carries, its
        share in the error of the outputs (attribute), and how many digits of the reference are correct (certify). Samples may
        have any shapes that leave the same nodes to compute. plan: a result of `plan`, whose nodes are kept as it says.

        quick: an FP64 reference whose own error is looked at: whether it was enough (Audit.quick). timings: where the time goes (Audit.timings).
        task: what the outputs are for ("classify"; None: recognised)."""
        if quick and reference not in (None, "fp64"):
            raise UsageError("quick=True takes the FP64 reference: leave out reference")
        if plan is not None and keep is not None:
            raise UsageError("plan and keep both say which nodes are kept: give one")
        keep = plan if plan is not None else keep
        names, sets = self._samples(samples)
        lanes = [find_arithmetic("fp64" if quick else reference or "mpfr:128"), *map(find_arithmetic, _list(arithmetics))]
        structs = (d.ulp_arithmetic * len(lanes))(*[lane.struct for lane in lanes])
        kept, none = _Keeps(keep), _Keeps(None)
        keeps = (d.ulp_keeps * len(lanes))(none.value, *[kept.value] * (len(lanes) - 1))
        planning = d.ulp_plan_options(keeps=keeps)
        shown, timer, times = make_progress(progress), None, None
        if timings:
            address = ctypes.c_void_p()
            call("ulp_timer_create", byref(address))
            timer = Owner(address, "ulp_timer_free")
        audit = Owner(d.ulp_audit(), "ulp_audit_free")
        with Watch(shown) as watch:
            options = d.ulp_audit_options(
                plan=ctypes.pointer(planning),
                shares=attribute,
                certify=certify,
                quick=quick,
                thread_count=threads,
                timer=timer.value if timer is not None else None,
                progress=ctypes.pointer(watch.observer),
                begins=_begins(d.ulp_audit_options, shown),
                task=_find_task(task),
                allow_nonfinite_inputs=allow_nonfinite_inputs,
            )
            given = d.ulp_samples(len(sets), _sample_items(names, sets))
            call("ulp_audit_run", self._model, structs, len(lanes), byref(given), byref(options), byref(audit.value))
        if timer is not None:
            times = Owner(d.ulp_timings(), "ulp_timings_free")
            call("ulp_timings_read", timer.value, byref(times.value))
            audit.value.timings = ctypes.pointer(times.value)
        return Audit.take(audit, times)

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
        """What will overflow in the formats, from an exact run alone (in fp64, and once more in mpfr:128 where a value may be
        beyond fp64 itself); samples may have any shapes that leave the same nodes to compute. What it says nothing of is in
        Overflow.unjudged."""
        names, sets = self._samples(samples)
        lanes = [find_arithmetic(reference or "fp64"), *map(find_arithmetic, _list(formats))]
        plans: dict[Any, Owner] = {}

        def plan_of(sample: TensorSet) -> Owner:
            if sample.shapes not in plans:
                plans[sample.shapes] = self._plan(lanes, sample, keep, 1)
            return plans[sample.shapes]

        plan = plan_of(sets[0])
        meter = ctypes.c_void_p()
        call("ulp_overflow_meter_create", plan.value, threads, byref(meter))
        owner = Owner(meter, "ulp_overflow_meter_free")
        forecast = Owner(d.ulp_overflow_forecast(), "ulp_overflow_free")
        shown = make_progress(progress, len(sets))
        with Watch(shown) as watch:
            for i, (name, sample) in enumerate(zip(names, sets)):
                if shown is not None:
                    shown.run = i
                if plan_of(sample) is not plan:
                    plan = plan_of(sample)
                    call("ulp_overflow_meter_reshape", owner.value, plan.value)
                call("ulp_overflow_meter_sample", owner.value, name.encode(), byref(sample.value), byref(watch.observer))
            call("ulp_overflow_meter_finish", owner.value, byref(forecast.value))
            del owner  # before the plans
            if reference is None and forecast.value.beyond_reference:
                again = {"keep": keep, "remedies": remedies, "threads": threads, "progress": progress}
                return self.overflow(samples, formats, reference="mpfr:128", **again)  # type: ignore[arg-type]
            options = d.ulp_run_options(thread_count=threads)
            for lane in range(len(lanes) - 1):
                struct = forecast.value.lanes[lane]
                if not remedies or not struct.harmful_count:
                    continue
                sample = sets[lib.ulp_overflow_sample(byref(struct))]
                parts = (byref(sample.value), byref(options), byref(watch.observer))
                call("ulp_overflow_remedies", byref(forecast.value), plan_of(sample).value, lane, *parts)
        return Overflow.take(forecast)

    def plan(
        self,
        samples: Samples,
        tolerance: str | Sequence[str] = (),
        arithmetic: ArithmeticName = "fp16",
        *,
        keep_in: ArithmeticName = "fp32",
        targets: Sequence[str] = (),
        confidence: float = 0.99,
        cost: str | os.PathLike[str] = "nodes",
        reference: ArithmeticName = "mpfr:128",
        held_out: Samples = (),
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        budget: float = 0,
        frontier: bool = False,
        seconds: float = 0,
        task: str | None = None,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Search:
        """The cheapest set of nodes to keep in `keep_in` so that every output meets the tolerances ("sqnr_db=60"; none: 40), proven by
        runs. cost: what is to be least: "nodes", "bits", "macs", "bytes", "weights", or a file of measured costs (doc/plan.md).
        held_out: samples that are judged with the result and were not used to find it. seconds: the search ends then, with the
        best so far. targets: arithmetics in each of which it must hold, fused kernels and all ("trt:fp16"); none: `arithmetic`.
        confidence: the share of 50 draws that must hold, in which every rounding falls anew; 0: samples as they are decide
        alone. task: what the outputs are for ("classify"; None: recognised). LimitError: an input holds NaN or infinity (unless that is allowed), or an output cannot be judged: it is
        empty, or has no finite element."""
        formats = [find_arithmetic(keep_in).name, find_arithmetic(arithmetic).name]
        return self._search(
            samples, held_out, progress, formats=formats, by_node=True, targets=targets, confidence=confidence, tolerances=_list(tolerance), cost=cost, reference=reference, always=always,
            never=never, budget=budget, frontier=frontier, seconds=seconds, task=_find_task(task), allow_nonfinite_inputs=allow_nonfinite_inputs, thread_count=threads,
        )  # fmt: skip

    def bits(
        self,
        samples: Samples,
        tolerance: str | Sequence[str],
        *,
        formats: Sequence[str] = (),
        parts: str | None = None,
        cost: str | os.PathLike[str] = "bits",
        headroom: float = 1,
        expected: float = 1,
        reference: ArithmeticName = "mpfr:128",
        held_out: Samples = (),
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        budget: float = 0,
        seconds: float = 0,
        task: str | None = None,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Search:
        """The fewest bits for each layer, mantissa and exponent apart (or one of `formats` for each), so that every output meets
        the tolerances ("sqnr_db=40"), proven by emulation. cost: as of `plan`. held_out: samples that are judged with the result
        and were not used to find it. Formats with scales among `formats` ("nvfp4") are those of products' factors; budget: the mean
        of their bits that is allowed, for the least error, and the tolerance may be () (doc/scales.md). expected: the model's error is also at most so many times what is allowed (0: not limited).
        seconds: the search ends then, with the best so far. LimitError: as of `plan`."""
        return self._search(
            samples, held_out, progress, formats=formats, parts=None if parts is None else parts.encode(), tolerances=_list(tolerance), cost=cost,
            reference=reference, always=always, never=never, frontier=True, headroom=headroom, expected=expected, budget=budget, seconds=seconds, task=_find_task(task),
            allow_nonfinite_inputs=allow_nonfinite_inputs, thread_count=threads,
        )  # fmt: skip

    def _search(self, samples: Samples, held_out: Samples, progress: ProgressOption, **given: Any) -> Search:
        names, sets = self._samples(samples)
        held_names, held = self._samples(held_out) if held_out else ([], [])
        lists_of = {"formats": "format", "tolerances": "tolerance", "targets": "target", "always": "always", "never": "never"}
        for many, one in lists_of.items():
            items = given.pop(many, ())
            given |= {many: _strings(items), one + "_count": len(items)}
        given["reference"] = find_arithmetic(given["reference"]).struct
        given["cost"] = os.fsencode(given["cost"])
        found = Owner(d.ulp_search(), "ulp_search_free")
        with Watch(make_progress(progress)) as watch:
            options = d.ulp_search_options(progress=ctypes.pointer(watch.observer), **given)
            lists = (_sample_items(names, sets), len(sets), _sample_items(held_names, held), len(held))
            call("ulp_search_run", self._model, byref(options), *lists, byref(found.value))
        return Search.take(found)

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
        reference: ArithmeticName = "mpfr:128",
        task: str | None = None,
        tolerance: float = 0.0,
        plan: bool = True,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Doctor:
        """Lint, audit, overflow, comparison and plan in one walk: whether the model is fine where it is to run ("trt"), else the most
        probable cause first. arithmetic: judged instead of the target's. recordings: what a runtime computed, by the graph's names.
        task: what the outputs are for ("classify"; None: recognised). tolerance: sqnr_db of the plan (0: the default, 40)."""
        names, sets = self._samples(samples)
        recorded = [self._set(arrays) for arrays in (recordings or {}).values()]
        items = (d.ulp_recording * max(len(recorded), 1))()
        for item, name, tensors in zip(items, recordings or {}, recorded):
            item.name, item.tensors = name.encode(), tensors.value
        result = Owner(d.ulp_doctor(), "ulp_doctor_free")
        with Watch(make_progress(progress)) as watch:
            options = d.ulp_doctor_options(
                target=target.encode() if target is not None else None,
                arithmetic=str(arithmetic).encode() if arithmetic is not None else None,
                reference=find_arithmetic(reference).struct,
                recordings=items,
                recording_count=len(recorded),
                task=_find_task(task),
                tolerance=tolerance,
                no_plan=not plan,
                allow_nonfinite_inputs=allow_nonfinite_inputs,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
            )
            call("ulp_doctor_run", self._model, byref(options), _sample_items(names, sets), len(sets), byref(result.value))
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
        reference: ArithmeticName = "mpfr:128",
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Fix:
        """A model that comes out right where it is to run ("trt"), written to path: edits of the graph, each tried by a run, and what a plan keeps in
        FP32 where these are not enough. tolerance: what it must meet ("sqnr_db=60"; none: the verdict is fine). only, without: rules of the lint.
        allow_value_change: also edits that change more than 1e-6 of an output's rms. best: write what came nearest where nothing meets it.
        seconds: the search of the plan ends then, with the best so far.
        Nothing to fix: no file, and result.path is None."""
        names, sets = self._samples(samples)
        given: dict[str, Any] = {}
        for many, one, items in (("tolerances", "tolerance", _list(tolerance)), ("only", "only", only), ("without", "without", without)):
            given |= {many: _strings(items), one + "_count": len(items)}
        result = Owner(d.ulp_fix(), "ulp_fix_free")
        with Watch(make_progress(progress)) as watch:
            options = d.ulp_fix_options(
                path=output(path),
                target=target.encode() if target is not None else None,
                arithmetic=str(arithmetic).encode() if arithmetic is not None else None,
                reference=find_arithmetic(reference).struct,
                allow_value_change=allow_value_change,
                best=best,
                confidence=confidence,
                seconds=seconds,
                allow_nonfinite_inputs=allow_nonfinite_inputs,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
                **given,
            )
            call("ulp_fix_run", self._model, byref(options), _sample_items(names, sets), len(sets), byref(result.value))
        return Fix.take(result)

    def scales(
        self,
        inputs: Inputs,
        arithmetic: ArithmeticName = "bf16,factor=nvfp4",
        *,
        nodes: int = 0,
        choices: bool = True,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
    ) -> Scales:
        """What the arithmetic's formats with scales do to each factor of products, and what other choices gain, each by a run."""
        sample, result = self._set(inputs), Owner(d.ulp_scales(), "ulp_scales_free")
        options = d.ulp_scales_options(
            arithmetic=find_arithmetic(arithmetic).struct,
            nodes=nodes,
            no_choices=not choices,
            allow_nonfinite_inputs=allow_nonfinite_inputs,
            thread_count=threads,
        )
        call("ulp_scales_run", self._model, byref(sample.value), byref(options), byref(result.value))
        return Scales.take(result)

    def tolerance(
        self,
        samples: Samples,
        arithmetic: ArithmeticName = "fp16",
        *,
        reference: ArithmeticName = "mpfr:128",
        keep: Keep | None = None,
        trials: int = 0,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Tolerance:
        """What tolerance the arithmetic can meet at each output, measured and bounded; of several samples, of any shapes, what
        is enough for each: an output's figures are those of its worst sample."""
        (names, sets), kept = self._samples(samples), _Keeps(keep)
        results: list[Owner] = []
        shown = make_progress(progress, len(sets))
        with Watch(shown) as watch:
            options = d.ulp_tolerance_options(
                reference=find_arithmetic(reference).struct,
                arithmetic=find_arithmetic(arithmetic).struct,
                keeps=ctypes.pointer(kept.value) if keep else None,
                trials=trials,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
            )
            for i, (name, sample) in enumerate(zip(names, sets)):
                if shown is not None:
                    shown.run = i
                options.sample = name.encode()
                one = Owner(d.ulp_tolerance(), "ulp_tolerance_free")
                call("ulp_tolerance_run", self._model, byref(sample.value), byref(options), byref(one.value))
                if i:
                    call("ulp_tolerance_join", byref(results[0].value), byref(one.value))
                else:
                    results.append(one)
        return Tolerance.take(results[0])

    def study(
        self,
        samples: Samples,
        sweeps: str | Sequence[str],
        *,
        nodes: Sequence[str] = (),
        group: str | None = None,
        trials: int = 0,
        seed: int = 0,
        probability: float = 0.95,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        reference: ArithmeticName = "mpfr:128",
        checkpoint: str | os.PathLike[str] | None = None,
        task: str | None = None,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Study:
        """How the error follows what is swept ("e5m{4..12}", "fp16,round={rne,rz,sr}"), at the outputs, at nodes and in layer
        groups; the law that it follows, and trials of stochastic rounding. doc/study.md has the meanings.
        task: what the outputs are for ("classify"; None: recognised)."""
        names, sets = self._samples(samples)
        swept = _list(sweeps)
        shown = make_progress(progress)
        result = Owner(d.ulp_study(), "ulp_study_free")
        with Watch(shown) as watch:
            options = d.ulp_study_options(
                reference=find_arithmetic(reference).struct,
                sweeps=_strings(swept),
                sweep_count=len(swept),
                nodes=_strings(nodes),
                node_count=len(nodes),
                group=group.encode() if group else None,
                trials=trials,
                seed=seed,
                probability=probability,
                confidence=confidence,
                tolerance=tolerance,
                checkpoint=os.fsencode(checkpoint) if checkpoint is not None else None,
                task=_find_task(task),
                allow_nonfinite_inputs=allow_nonfinite_inputs,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
                begins=_begins(d.ulp_study_options, shown),
            )
            call("ulp_study_run", self._model, _sample_items(names, sets), len(sets), byref(options), byref(result.value))
        return Study.take(result)

    def study_rows(
        self, samples: Samples, rows: str | Sequence[int] = "1..512", arithmetic: ArithmeticName = "fp16@h100", *, threads: int = 0, progress: ProgressOption = None
    ) -> StudyRows:
        """Which outputs change with the number of rows beside them ("1..512", or each as a number), since the library of products
        cuts sums by the shape, and at which products that begins. doc/study.md has the meanings."""
        names, sets = self._samples(samples)
        numbers, count = (ctypes.c_size_t * d.ULP_STUDY_ROWS_MAX)(), ctypes.c_size_t()
        said = rows if isinstance(rows, str) else ",".join(str(int(row)) for row in rows)
        call("ulp_study_rows_read", said.encode(), numbers, byref(count))
        result = Owner(d.ulp_study_rows(), "ulp_study_rows_free")
        with Watch(make_progress(progress)) as watch:
            call("ulp_study_rows_run", self._model, _sample_items(names, sets), len(sets), byref(find_arithmetic(arithmetic).struct), numbers, count.value, threads,
                 ctypes.pointer(watch.observer), byref(result.value))
        return StudyRows.take(result)

    def compare(
        self,
        recordings: Mapping[str, Inputs],
        inputs: Inputs,
        arithmetics: ArithmeticName | Sequence[ArithmeticName] = ("fp16", "tf32"),
        *,
        reference: ArithmeticName = "mpfr:128",
        trials: int = 0,
        task: str | None = None,
        allow_nonfinite_inputs: bool = False,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Comparison:
        """Whether tensors that other frameworks recorded (by recording, then by the graph's names) differ from the reference as an
        arithmetic does, and if not, which is the first that does not, and why. task: what the outputs are for ("classify"; None: recognised)."""
        sample, sets = self._set(inputs), [self._set(arrays) for arrays in recordings.values()]
        names = [name.encode() for name in recordings]
        items = (d.ulp_recording * max(len(sets), 1))()
        for item, name, tensors in zip(items, names, sets):
            item.name, item.tensors = name, tensors.value
        lanes = [find_arithmetic(arithmetic).struct for arithmetic in _list(arithmetics)]
        result = Owner(d.ulp_comparison(), "ulp_comparison_free")
        with Watch(make_progress(progress)) as watch:
            options = d.ulp_compare_options(
                reference=find_arithmetic(reference).struct,
                arithmetics=(d.ulp_arithmetic * len(lanes))(*lanes),
                arithmetic_count=len(lanes),
                task=_find_task(task),
                allow_nonfinite_inputs=allow_nonfinite_inputs,
                trials=trials,
                thread_count=threads,
                progress=ctypes.pointer(watch.observer),
            )
            parts = (byref(sample.value), items, len(sets), byref(options), byref(result.value))
            call("ulp_comparison_run", self._model, *parts)
        return Comparison.take(result)


_SHORT = ("int8", "uint8", "int16", "uint16")


def _fitting(x: Any, declared: Any) -> Any:
    """Lists and numbers get the declared type, as do integers that every float of it holds; other arrays keep theirs."""
    if not hasattr(x, "dtype"):
        return as_array(x, declared)
    return as_array(x).astype(declared) if declared in (np.float32, np.float64) and str(x.dtype).rpartition(".")[2] in _SHORT else x


def _list(values: Any) -> list[Any]:
    if not isinstance(values, Iterable) and not isinstance(values, Arithmetic):
        raise UsageError(f"{values!r}: expected a text, as 'fp16' or 'sqnr_db=60', or several")
    return [values] if isinstance(values, (str, Arithmetic)) else list(values)


def _find_task(task: str | None) -> int:
    tasks = {decode(lib.ulp_task_name(t)): t for t in range(1, d.ULP_TASK_COUNT)}
    if task is not None and task not in tasks:
        raise UsageError(f"task {task!r}: expected one of {', '.join(tasks)}")
    return tasks[task] if task is not None else 0


def _begins(options: Any, shown: Progress | None) -> Any:
    """The callback `begins` of these options: its last two numbers are a run and their count."""

    def begin(*numbers: Any) -> None:
        if shown is not None:
            shown.run, shown.runs = numbers[-2], max(numbers[-1], 1)

    kind: Any = {f[0]: f[1] for f in options._fields_}["begins"]
    return kind(begin)


def _sample_items(names: Sequence[str], sets: Sequence[TensorSet]) -> Any:
    items = [d.ulp_sample(name.encode(), ctypes.pointer(s.value)) for name, s in zip(names, sets)]
    return (d.ulp_sample * max(len(items), 1))(*items)
