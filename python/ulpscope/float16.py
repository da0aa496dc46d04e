"""The functions of onnxruntime.transformers.float16 and of onnxconverter_common (float16, auto_mixed_precision) over a plan: one import changed.

    from ulpscope.float16 import convert_float_to_float16     # in place of: from onnxruntime.transformers.float16, or onnxconverter_common.float16
    half = convert_float_to_float16(model, keep_io_types=True, inputs="inputs.npz")
"""

from __future__ import annotations

import tempfile
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from ._errors import InputError
from ._lowering import as_file, as_given, lower, mixed_file, refuse
from ._model import Model
from ._progress import ProgressOption

#: What ONNX Runtime has no FP16 kernels for, as its converter lists it.
DEFAULT_OP_BLOCK_LIST = [
    "ArrayFeatureExtractor", "Binarizer", "CastMap", "CategoryMapper", "DictVectorizer", "FeatureVectorizer", "Imputer", "LabelEncoder", "LinearClassifier",
    "LinearRegressor", "Normalizer", "OneHotEncoder", "RandomUniformLike", "SVMClassifier", "SVMRegressor", "Scaler", "TreeEnsembleClassifier", "TreeEnsembleRegressor",
    "TreeEnsemble", "ZipMap", "NonMaxSuppression", "TopK", "RoiAlign", "Range", "CumSum", "Min", "Max", "Upsample",
]  # fmt: skip


def _lower_io(model: Any, keep_io_types: bool | Sequence[str]) -> bool:
    """Both ends are lowered together: a list must have all float inputs and outputs, or none."""
    if isinstance(keep_io_types, (bool, np.bool_)) or not keep_io_types:
        return not keep_io_types
    with tempfile.TemporaryDirectory() as folder:
        loaded = Model(as_file(model, folder))
        floats = {value.name for value in [*loaded.inputs, *loaded.outputs] if value.type == "FLOAT"}
    if not floats <= set(keep_io_types):
        refuse("keep_io_types", f"all float inputs and outputs keep their types, or none does: the list lacks {', '.join(sorted(floats - set(keep_io_types)))}")
    return False


def convert_float_to_float16(
    model: Any,
    min_positive_val: float | None = None,
    max_finite_val: float | None = None,
    keep_io_types: bool | Sequence[str] = False,
    disable_shape_infer: bool = False,
    op_block_list: Sequence[str] | None = None,
    node_block_list: Sequence[str] | None = None,
    force_fp16_initializers: bool = False,
    force_fp16_inputs: Mapping[str, Sequence[int]] | None = None,
    use_bfloat16_as_blocked_nodes_dtype: bool = False,
    check_fp16_ready: bool = False,
    *,
    inputs: Any = None,
    target: str = "ort-cuda",
    tolerance: str | Sequence[str] = (),
    task: str | None = None,
    seconds: float = 0,
    threads: int = 0,
    progress: ProgressOption = None,
) -> Any:
    """The model in FP16 but for the block lists and the fewest nodes that it needs in FP32 besides at the target: an onnx.ModelProto (of bytes, bytes).

    model: an onnx.ModelProto, a path, or bytes. inputs: what it is judged by, a path, arrays by name, or several such; none: random, with a warning. op_block_list: None is
    DEFAULT_OP_BLOCK_LIST. check_fp16_ready: a model with FLOAT16 inputs or outputs is refused. tolerance: as of Model.plan; none: what outputs are for (`task`; None: recognised; doc/verdicts.md) decides whether
    nodes are kept at all, and 40 dB which.

    Constants are rounded once, to nearest, and where a node in FP32 reads them they stay FP32. So limits of their values other than the originals' defaults, force_fp16_initializers,
    force_fp16_inputs and use_bfloat16_as_blocked_nodes_dtype are refused. disable_shape_infer changes nothing, for shapes are not inferred by onnx."""
    if min_positive_val not in (None, 1e-7, 5.96e-08) or max_finite_val not in (None, 1e4, 65504.0):
        refuse("min_positive_val, max_finite_val", "constants are rounded to nearest, and beyond FP16 as the target lowers them: leave them out")
    for argument, given in (("force_fp16_initializers", force_fp16_initializers), ("force_fp16_inputs", force_fp16_inputs)):
        if given:
            refuse(argument, "a node that stays in FP32 reads its constants and inputs in FP32 here")
    if use_bfloat16_as_blocked_nodes_dtype:
        refuse("use_bfloat16_as_blocked_nodes_dtype", "nodes stay in FP32; Model.plan(keep_in='bf16', out=...) keeps them in BF16")
    if check_fp16_ready:
        with tempfile.TemporaryDirectory() as folder:
            loaded = Model(as_file(model, folder))
            half = [value.name for value in [*loaded.inputs, *loaded.outputs] if value.type == "FLOAT16"]
        if half:
            raise InputError(f"the model is FP16 already: {half[0]} is FLOAT16; check_fp16_ready=False converts what is left")
    blocked = DEFAULT_OP_BLOCK_LIST if op_block_list is None else op_block_list
    return lower(
        model, inputs, "inputs", f"{target}:fp16", tolerance=tolerance, always={"ops": blocked, "names": node_block_list},
        lower_io=_lower_io(model, keep_io_types), task=task, seconds=seconds, threads=threads, progress=progress,
    )  # fmt: skip


def convert_float_to_float16_model_path(
    model_path: Any, min_positive_val: float | None = None, max_finite_val: float | None = None, keep_io_types: bool = False, **more: Any
) -> Any:
    """The same of a file; its external data is read."""
    return convert_float_to_float16(model_path, min_positive_val, max_finite_val, keep_io_types, **more)


_STEPS = range(40, 101, 10)  # dB: each step is an error of a third


def auto_convert_mixed_precision(
    model: Any,
    feed_dict: Mapping[str, Any],
    validate_fn: Callable[[list[Any], list[Any]], bool] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    keep_io_types: bool = False,
    *,
    target: str = "ort-cuda",
    threads: int = 0,
) -> Any:
    """The model in FP16 but for the fewest nodes with which validate_fn(exact outputs, outputs) holds and outputs are numpy.allclose: plans for 40, 50, ... 100 dB, until one passes,
    computed as the target does. InputError, a ValueError: none does."""
    if rtol is None and atol is None and validate_fn is None:
        raise InputError("auto_convert_mixed_precision: validate_fn, rtol or atol says what is good enough")
    relative, absolute = 1e-5 if rtol is None else rtol, 1e-8 if atol is None else atol

    def passes(exact: list[Any], made: list[Any]) -> bool:
        close = (rtol is None and atol is None) or all(np.allclose(a, b, relative, absolute) for a, b in zip(exact, made))
        return close and (validate_fn is None or bool(validate_fn(exact, made)))

    with tempfile.TemporaryDirectory() as folder:
        loaded = Model(as_file(model, folder))
        names = [value.name for value in loaded.outputs]
        exact = loaded.run(feed_dict, "pair", threads=threads)
        if not passes([exact[n] for n in names], [exact[n] for n in names]):
            raise InputError("auto_convert_mixed_precision: the exact outputs do not pass themselves")
        for step in _STEPS:
            plan = loaded.plan(feed_dict, f"sqnr_db={step}", targets=[f"{target}:fp16"], out=folder, lower_io=not keep_io_types, threads=threads)
            made = loaded.run(feed_dict, f"{target}:fp16", keep=plan, threads=threads)
            if passes([exact[n] for n in names], [made[n] for n in names]):
                return as_given(mixed_file(plan, folder), model)
    raise InputError(f"auto_convert_mixed_precision: no plan of up to {_STEPS[-1]} dB passes")
