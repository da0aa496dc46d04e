"""A model that is loaded: its values, its inputs, and what all that is asked of it is handed to the library with."""

from __future__ import annotations

import ctypes
import html
import os
import warnings
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Mapping, Sequence, Union

from . import _declarations as d
from ._arrays import Array, TensorSet, as_array, copy_array, dtype_of, take_set, type_name
from ._errors import InputError, UsageError
from ._library import Owner, Watch, call, decode, lib, text
from ._numbers import Arithmetic, ArithmeticName, find_arithmetic
from ._progress import Progress
from ._results import Search
from ._shared import models, output

Inputs = Union[Mapping[str, Any], Sequence[Any]]  # arrays by name, or in the model's order
Samples = Union[Inputs, Sequence[Inputs], Mapping[str, Inputs]]
Outputs = Callable[[int, "list[dict[str, Array]]"], None]  # of a sample, the reference's first
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


class RandomInputs(Dict[str, Array]):
    """Arrays that nobody gave: what a result says of them begins with that."""


class Keeps:
    """Kept nodes for the library, with what they point to."""

    def __init__(self, keep: Keep | None) -> None:
        keep = keep.keep if isinstance(keep, Search) else keep or {}
        if not isinstance(keep, Mapping):
            raise UsageError(f"keep: expected {{'op:Softmax': 'fp32'}}, or a result of plan, not {keep!r}")
        entries = list(keep.items())
        self._patterns = [pattern.encode() for pattern, _ in entries]
        self.items = (d.ulp_keep * max(len(entries), 1))()
        for item, pattern, (_, arithmetic) in zip(self.items, self._patterns, entries):
            item.pattern = pattern
            item.arithmetic = find_arithmetic(arithmetic).struct
        self.value = d.ulp_keeps(len(entries), self.items, None)


def strings(values: Iterable[str | None]) -> Any:
    encoded = [None if value is None else value.encode() for value in values]
    return (ctypes.c_char_p * max(len(encoded), 1))(*encoded)


class Loaded:
    """The model, and how its inputs are given."""

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
        return type(self), (self._file,)

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
        """Random inputs, equal on every machine. dims: of open dimensions, by symbol or as "x[2]" (others: such as the model takes); ranges: by input, "" for all others."""
        given = [d.ulp_dim_value(name.encode(), size) for name, size in (dims or {}).items()]
        sizes = (d.ulp_dim_value * max(len(given), 1))(*given)
        limits = self._ranges(ranges)
        options = d.ulp_random_options(seed=seed, dims=sizes, dim_count=len(given), ranges=limits, range_count=len(ranges or {}))
        out = d.ulp_tensor_set()
        call("ulp_model_random_inputs", self._model, byref(options), byref(out))
        return RandomInputs(take_set(out))

    @staticmethod
    def _ranges(ranges: Mapping[str, tuple[float, float]] | None) -> Any:
        given = [d.ulp_input_range(name.encode() or None, low, high) for name, (low, high) in (ranges or {}).items()]
        return (d.ulp_input_range * max(len(given), 1))(*given)

    def _set(self, inputs: Inputs) -> TensorSet:
        """By name, or in the model's order: a list, or names that are numbers alone, as numpy.savez gives them (arr_0, arr_1, ...)."""
        declared = {value.name: dtype_of(lib.ulp_model_input(self._model, i).type) for i, value in enumerate(self.inputs)}
        if isinstance(inputs, (list, tuple)) and len(inputs) == len(declared):
            inputs = dict(zip(declared, inputs))
        taken = self._arrays(inputs, declared)
        taken.value.drawn = isinstance(inputs, RandomInputs)
        taken.keep(self._owner)  # whose budget what is converted is charged to
        notes = text("ulp_model_take_inputs", self._model, byref(taken.value))
        if not declared.keys() >= set(inputs):
            for note in notes.splitlines():
                warnings.warn(note, stacklevel=3)
        return taken

    @staticmethod
    def _arrays(arrays: Any, declared: Mapping[str, Any]) -> TensorSet:
        """By name; lists and numbers get the declared type."""
        if not isinstance(arrays, Mapping):
            raise UsageError(f"inputs: expected arrays by name, as {{{', '.join(f'{name!r}: ...' for name in declared)}}}, not a {type(arrays).__name__}")
        return TensorSet({name: x if hasattr(x, "dtype") else as_array(x, declared.get(name)) for name, x in arrays.items()})

    def _samples(self, samples: Samples) -> tuple[list[str], list[TensorSet]]:
        if isinstance(samples, Mapping) and not all(isinstance(v, Mapping) for v in samples.values()):
            samples = [samples]
        if isinstance(samples, (list, tuple)) and samples and all(hasattr(x, "dtype") for x in samples):
            samples = [samples]
        if not isinstance(samples, (Mapping, Sequence)) or isinstance(samples, (str, bytes)):
            raise UsageError(f"samples: expected arrays by name, or several such, not a {type(samples).__name__}")
        if not samples and lib.ulp_model_input_count(self._model):
            raise InputError("there is no sample")
        named = samples if isinstance(samples, Mapping) else {str(i): s for i, s in enumerate(samples)}
        return list(named), [self._set(inputs) for inputs in named.values()]

    def _plan(self, lanes: Sequence[Arithmetic], sample: TensorSet, keep: Keep | None, first_kept: int) -> Owner:
        structs = (d.ulp_arithmetic * len(lanes))(*[lane.struct for lane in lanes])
        kept, none = Keeps(keep), Keeps(None)
        keeps = (d.ulp_keeps * len(lanes))(*[kept.value if i >= first_kept else none.value for i in range(len(lanes))])
        options = d.ulp_program_options(inputs=ctypes.pointer(sample.value), keeps=keeps)
        plan = ctypes.c_void_p()
        call("ulp_program_create", self._model, structs, len(lanes), byref(options), byref(plan))
        return Owner(plan, "ulp_program_free")


def list_of(values: Any) -> list[Any]:
    if not isinstance(values, Iterable) and not isinstance(values, Arithmetic):
        raise UsageError(f"{values!r}: expected a text, as 'fp16' or 'sqnr_db=60', or several")
    return [values] if isinstance(values, (str, Arithmetic)) else list(values)


def find_task(task: str | None) -> int:
    tasks = {decode(lib.ulp_task_name(t)): t for t in range(1, d.ULP_TASK_COUNT)}
    if task is not None and task not in tasks:
        raise UsageError(f"task {task!r}: expected one of {', '.join(tasks)}")
    return tasks[task] if task is not None else 0


def begins(options: Any, shown: Progress | None) -> Any:
    """The callback `begins` of these options: its last two numbers are a run and their count."""

    def begin(*numbers: Any) -> None:
        if shown is not None:
            shown.run, shown.runs = numbers[-2], max(numbers[-1], 1)

    kind: Any = {f[0]: f[1] for f in options._fields_}["begins"]
    return kind(begin)


def shows(function: Outputs, lanes: int, watch: Watch) -> Any:
    """The callback `outputs` of an audit's options."""

    def show(_context: Any, sample: int, sets: Any, _error: Any) -> int:
        def arrays(set_: Any) -> dict[str, Array]:
            return {decode(item.name): copy_array(item.tensor) for item in set_.items[: set_.count]}

        return watch.guard(lambda: function(sample, [arrays(sets[lane]) for lane in range(lanes)]))

    kind: Any = {f[0]: f[1] for f in d.ulp_audit_options._fields_}["outputs"]
    return kind(show)


def sample_items(names: Sequence[str], sets: Sequence[TensorSet]) -> Any:
    items = [d.ulp_sample(name.encode(), ctypes.pointer(s.value)) for name, s in zip(names, sets)]
    return (d.ulp_sample * max(len(items), 1))(*items)
