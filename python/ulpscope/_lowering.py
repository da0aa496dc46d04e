"""Models in, models out: what the functions with other tools' signatures are made of. Each is one plan or one fix, in a folder that goes away."""

from __future__ import annotations

import ctypes
import logging
import os
import pathlib
import re
import tempfile
import warnings
from ctypes import byref
from typing import Any, Iterable, Sequence

import numpy as np

from . import _declarations as d
from ._arrays import copy_array
from ._errors import InputError, LimitError, UnsupportedError, UsageError
from ._library import Owner, call, decode, lib
from ._loaded import Keeps, Samples, sample_items
from ._model import Model
from ._numbers import Arithmetic
from ._progress import ProgressOption
from ._results import Audit, Fix, Search
from ._shared import elements

log = logging.getLogger("ulpscope")


def refuse(argument: str, why: str) -> None:
    """An argument of the function whose signature this is that cannot be obeyed here."""
    raise UsageError(f"{argument}: {why}")


def as_file(model: Any, folder: str) -> str:
    """A path that the model can be read from: its own, or a file in the folder."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    if not isinstance(model, bytes) and not hasattr(model, "SerializeToString"):
        raise UsageError(f"a model: expected a path, the bytes of a file or an onnx.ModelProto, not a {type(model).__name__}")
    path = pathlib.Path(folder, "model.onnx")
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return str(path)


def as_given(path: str | os.PathLike[str], model: Any) -> Any:
    """The file as an onnx.ModelProto; as bytes where the model was bytes, or onnx is not installed."""
    if not isinstance(model, bytes):
        try:
            from onnx import load  # a folder of that name is no package

            return load(os.fspath(path))
        except ImportError:
            pass
    if pathlib.Path(f"{os.fspath(path)}.data").exists():
        raise UnsupportedError("the model has weights in a file of their own, so it is no bytes: install onnx, or use Model(path).plan and fix, which write files")
    return pathlib.Path(path).read_bytes()


def _read(model: Model, path: str) -> list[dict[str, Any]]:
    """Samples of a file or folder, as --inputs takes them; a folder of .npz is a sample each."""
    archives = sorted(pathlib.Path(path).glob("*.npz")) if os.path.isdir(path) else []
    recordings = Owner(d.ulp_recording_list(), "ulp_recording_list_free")
    for file in archives or [pathlib.Path(path)]:
        call("ulp_recording_read", os.fsencode(file), model._model, None, byref(recordings.value))
    sets = [item.tensors for item in elements(recordings.value.items, recordings.value.count)]
    return [{decode(item.name): copy_array(item.tensor) for item in elements(tensors.items, tensors.count)} for tensors in sets]


def _divide(model: Model, sample: dict[str, Any]) -> list[dict[str, Any]]:
    """Samples that lie one behind the other along the first axis of every input, as ModelOpt's calibration data does."""
    parts = set()
    for value in model.inputs:
        given, first = np.shape(sample.get(value.name, ())), value.shape[0] if value.shape else None
        if not given or not isinstance(first, int) or first <= 0 or given[0] % first:
            return [sample]
        parts.add(given[0] // first)
    if len(parts) != 1 or parts == {1} or parts == {0}:
        return [sample]
    count = parts.pop()
    return [{name: np.split(np.asarray(array), count)[i] for name, array in sample.items()} for i in range(count)]


def take_samples(model: Model, given: Any, argument: str) -> Samples:
    """Arrays, a path, or None: random ones, which is said."""
    if given is None:
        warnings.warn(f"no {argument}: inputs are random, and what is kept in FP32 is proven for these alone", stacklevel=4)
        return model.random_inputs()
    samples = _read(model, os.fspath(given)) if isinstance(given, (str, os.PathLike)) else given
    one = [samples] if isinstance(samples, dict) and not any(isinstance(value, dict) for value in samples.values()) else samples
    return [part for sample in one for part in _divide(model, sample)] if isinstance(one, list) and all(isinstance(s, dict) for s in one) else samples


def find_nodes(model: Model, samples: Samples, *, ops: Iterable[str] | None = (), names: Iterable[str] | None = (), expressions: Iterable[str] | None = ()) -> list[str]:
    """Patterns of the nodes, those in bodies too, that are of one of the operators, have one of the names, or a name that an expression matches from its
    begin. What matches nothing is nothing, as in the tools whose lists these are."""
    for given in (ops, names, expressions):
        if isinstance(given, str):
            raise UsageError(f"a list of names is expected, not the text {given!r}")
    try:
        ops, names, compiled = set(ops or ()), set(names or ()), [re.compile(e) for e in expressions or ()]
    except re.error as error:
        raise UsageError(f"{error.pattern!r} is no regular expression: {error}") from None
    if not ops and not names and not compiled:
        return []
    sets = model._samples(samples)[1]
    program = model._plan([Arithmetic("fp32")], sets[0], None, 1)
    found = []
    for i in range(lib.ulp_program_node_count(program.value)):
        name = decode(lib.ulp_program_node_name(program.value, i))
        if decode(lib.ulp_program_node_op(program.value, i)) in ops or name in names or any(e.match(name) for e in compiled):
            found.append(f"#{i}")
    return found


def lower(
    model: Any,
    given: Any,
    argument: str,
    target: str,
    *,
    tolerance: str | Sequence[str] = (),
    always: dict[str, Iterable[str] | None] = {},
    never: dict[str, Iterable[str] | None] = {},
    lower_io: bool = False,
    opset: int | None = None,
    task: str | None = None,
    seconds: float = 0,
    threads: int = 0,
    progress: ProgressOption = None,
) -> Any:
    """The model with types and Casts for the target ("trt11:fp16"): where all outputs are fine for what they are for with the nodes of `always` in FP32 and no tolerance is asked for, these;
    else those of a plan. always, never: nodes, as find_nodes takes them."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = Model(as_file(model, folder))
        own = lib.ulp_model_opset(loaded._model, b"")
        if opset is not None and opset != own:
            refuse("opset", f"the model stays at its opset {own}: convert it to {opset} before, with onnx.version_converter")
        samples = take_samples(loaded, given, argument)
        kept, lowered = find_nodes(loaded, samples, **always), find_nodes(loaded, samples, **never)
        if not tolerance:
            keep = {node: "fp32" for node in kept if node not in lowered}
            # fused and node by node, as a plan is judged
            judged = loaded.audit(samples, [target, f"{target},fuse=none"], keep=keep, task=task, attribute=False, entire_only=True, threads=threads, progress=progress)
            if judged.fine:
                log.info("%s", said(judged))
                if len(keep) == len(judged.lanes[0].nodes) and not lower_io:
                    return as_given(loaded.path, model)
                return as_given(write_mixed(loaded, samples, target, keep, lower_io, folder, threads), model)
        found = loaded.plan(
            samples, tolerance, targets=[target], always=[node for node in kept if node not in lowered], never=lowered,
            out=folder, lower_io=lower_io, task=task, seconds=seconds, threads=threads, progress=progress,
        )  # fmt: skip
        log.info("%s", said(found))
        path = mixed_file(found, folder)
        if not found.met and found.mixed and not found.mixed.low_count:
            raise UnsupportedError(f"the plan keeps every node in FLOAT: {said(found)}")
        if not found.met or found.timed_out:
            warnings.warn(said(found), stacklevel=3)
        if found.tf32_forbidden_by:
            warnings.warn(f"this holds with TF32 forbidden alone: {found.tf32_forbidden_by}", stacklevel=3)
        return as_given(path, model)


def write_mixed(model: Model, samples: Samples, arithmetic: str, keep: dict[str, str], lower_io: bool, folder: str, threads: int) -> pathlib.Path:
    """mixed.onnx of nodes that are given."""
    names, sets = model._samples(samples)
    kept, done = Keeps(keep), Owner(d.ulp_mixed(), "ulp_mixed_free")
    options = d.ulp_mixed_options(arithmetic=Arithmetic(arithmetic).struct, keeps=kept.value, lower_io=lower_io, thread_count=threads)
    call("ulp_mixed_write", model._model, byref(options), sample_items(names, sets), len(sets), os.fsencode(folder), byref(done.value))
    if not done.value.path:
        raise UnsupportedError(decode(done.value.reason))
    return pathlib.Path(folder, "mixed.onnx")


def said(found: Search | Fix | Audit) -> str:
    """Its first sentence in one line, whose columns the program breaks."""
    return " ".join(found.summary().partition("\n  why ")[0].partition("\n\n")[0].split())


def mixed_file(found: Search, folder: str) -> pathlib.Path:
    """What the plan wrote; where it could not, why."""
    path = pathlib.Path(folder, "mixed.onnx")
    if found.refused or not path.exists():
        reason = found.refused or (found.mixed.reason if found.mixed else None)
        raise UnsupportedError(f"{reason}: {said(found)}" if reason else said(found))
    return path


def fix(
    model: Any,
    inputs: Any,
    target: str | None = None,
    *,
    arithmetic: str | None = None,
    tolerance: str | Sequence[str] = (),
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    allow_value_change: bool = False,
    best: bool = False,
    seconds: float = 0,
    task: str | None = None,
    threads: int = 0,
    progress: ProgressOption = None,
) -> Any:
    """A model that comes out right at the target ("trt11", "ort-cuda", ...): an onnx.ModelProto, or bytes of bytes. Arguments are those of Model.fix.

    model: a path, bytes or an onnx.ModelProto. inputs: arrays by name, several such, or a path. Where nothing is to be fixed it has the target's types alone; where nothing
    meets the tolerance LimitError is raised, unless `best` is given."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = Model(as_file(model, folder))
        path = pathlib.Path(folder, "fixed.onnx")
        found = loaded.fix(
            take_samples(loaded, inputs, "inputs"), target, path=path, arithmetic=arithmetic, tolerance=tolerance, only=only, without=without,
            allow_value_change=allow_value_change, best=best, seconds=seconds, task=task, threads=threads, progress=progress,
        )  # fmt: skip
        log.info("%s", said(found))
        if found.path is None and not found.met:
            raise LimitError(found.summary())
        return as_given(path if found.path is not None else loaded.path, model)


def check(a: Any, b: Any, inputs: Any, arithmetic: str = "model", *, task: str | None = None, threads: int = 0, progress: ProgressOption = None) -> Audit:
    """What the model b, made of a by conversion, simplification or quantisation, gives otherwise than a does exactly: an audit of b in an arithmetic ("model": as its types say), whose
    `fine` says whether outputs are still good for what they are for; one that b has no more is an InputError. Models and inputs as of `fix`."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        original, changed = Model(as_file(a, first)), Model(as_file(b, second))
        lost = {value.name for value in original.outputs} - {value.name for value in changed.outputs}
        if lost:
            raise InputError(f"the changed model lacks outputs of the first: {', '.join(sorted(lost))}")
        samples = take_samples(changed, inputs, "inputs")
        return changed.audit(samples, arithmetic, reference_model=original, task=task, threads=threads, progress=progress)
